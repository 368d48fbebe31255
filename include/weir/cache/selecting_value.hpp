// The one form in which a request field's value is keyed and selects (KEY-5; RFC 9111 4.1): equal preferences have equal
// bytes. Keys, selectors and the forwarded request use it alike. Threads: pure.
#pragma once

#include <string_view>

#include <boost/container/small_vector.hpp>

#include "weir/cache/rules.hpp"
#include "weir/http/field.hpp"

namespace weir::cache {

// Key and selector bytes of any inline size.
using Bytes = boost::container::small_vector_base<char>;

// Appends the value of `name` and returns whether the request has the field at all.
// Accept-Encoding: the one coding of `rules.accept_encoding`, "identity" where the field is absent; always present.
// Accept-Language: the best of `rules.languages` if that is set (none fits: absent), else the tags by preference.
// Cookie: the cookies of all lines, joined with "; ".
// Any other: the lines combined, without the white space around commas that stand outside of quoted strings.
bool append_selecting_value(http::Fields request, std::string_view name, KeyRules const& rules, Bytes& out);

}  // namespace weir::cache
