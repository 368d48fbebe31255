// Text of unknown content as a JSON string (RFC 8259 7). Threads: pure.
#pragma once

#include <string>
#include <string_view>

namespace weir::observe {

// Appends `text` in quotes. Control characters are escaped; a byte that is no part of well-formed UTF-8 becomes U+FFFD, so
// the result is valid whatever a client sent.
void append_json_string(std::string& out, std::string_view text);

}  // namespace weir::observe
