// Accept-Encoding and Accept-Language as values for keys (KEY-5; RFC 9110 12.4, 12.5). Threads: pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weir/http/field.hpp"

namespace weir::http {

struct CodingChoice {
  std::string_view coding;          // one of `supported`, or "identity"
  bool identity_forbidden = false;  // identity;q=0 (or *;q=0) and nothing of ours matched: not cached
};

// The coding of `supported` that the client prefers: highest q, ties by `supported`'s order. Absent field: identity.
// `*` stands for the first of `supported` that is not named. The first mention of a coding decides; one with a malformed
// weight is no mention.
CodingChoice choose_coding(Fields request, std::span<std::string const> supported) noexcept;

// Accept-Language in a form in which equal preferences have equal bytes: tags lower case, ordered by q, those of one q by
// their letters, as their order means nothing (RFC 9110 12.5.4); parameters dropped, joined by ','. A q is written only
// where it is 0, or where the letters do not tell the order, one thousandth less each time. What is malformed is kept as it
// is. Appended to `out`; an Accept-Language itself, and its own normal form.
void append_normalized_languages(std::string_view combined, std::string& out);
// The best of `available` by RFC 4647 look-up over the preferences; empty if none fits.
std::string_view choose_language(std::string_view combined, std::span<std::string const> available) noexcept;

}  // namespace weir::http
