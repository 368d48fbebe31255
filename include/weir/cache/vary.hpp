// Vary: which request values selected a response, and whether another request has the same (RFC 9111 4.1, KEY-5, KEY-6).
// A selector is the encoded list of (name, present?, normalised value), names lower case and sorted, each tagged and
// length-prefixed: equal selections have equal bytes. "The request" is the request as it is forwarded. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/cache/key.hpp"
#include "weir/cache/rules.hpp"
#include "weir/http/field.hpp"

namespace weir::cache {

using SelectorBytes = boost::container::small_vector<char, 256>;
inline std::string_view view(SelectorBytes const& bytes) noexcept { return {bytes.data(), bytes.size()}; }

enum class VaryVerdict : std::uint8_t { star, too_many, forbidden_field, malformed, usable };  // the safe one first

// Names of the response's Vary, lower case, sorted, unique; `accept-encoding` is added when the response has a
// Content-Encoding (KEY-5). Keyed headers stay in (harmless).
struct VaryNames {
  VaryVerdict verdict = VaryVerdict::usable;
  std::vector<std::string> names;
};
VaryNames vary_names(http::Fields response, KeyRules const& rules);

// Appends the selector of `request` for `names`.
void append_selector(http::Fields request, std::vector<std::string> const& names, KeyRules const& rules, SelectorBytes& out);
// Whether `request` selects what `selector` was made for: RFC 9111 4.1. Does not allocate for values up to 256 bytes.
bool selects(http::Fields request, std::string_view selector, KeyRules const& rules);
// What a selector says, for people: names in order, and the value, or nothing where the request had no such field.
std::vector<std::pair<std::string, std::optional<std::string>>> selecting_values(std::string_view selector);
// The names in a selector, in order.
std::vector<std::string> selector_names(std::string_view selector);

// The variant key for a vary spec: primary key, then the selector of the spec's names.
void append_variant_key(std::string_view primary_key, http::Fields request, std::vector<std::string> const& spec,
                        KeyRules const& rules, KeyBytes& out);

}  // namespace weir::cache
