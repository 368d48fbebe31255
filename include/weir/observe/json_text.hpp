// Text of unknown content as a JSON string (RFC 8259 7). Threads: pure.
#pragma once

#include <string>
#include <string_view>

namespace weir::observe {

// `text` with each byte that is no part of well-formed UTF-8 replaced by U+FFFD, for writers that do not check.
std::string valid_utf8(std::string_view text);

// Appends `text` in quotes. Control characters are escaped; a byte that is no part of well-formed UTF-8 becomes U+FFFD, so
// the result is valid whatever a client sent.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weir::observe
