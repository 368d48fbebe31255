// Entity tags (RFC 9110 8.8.3). Threads: pure.
#pragma once

#include <string_view>

namespace weir::http {

bool is_strong_etag(std::string_view tag) noexcept;  // well formed and without W/
bool weak_match(std::string_view a, std::string_view b) noexcept;
bool strong_match(std::string_view a, std::string_view b) noexcept;
// RFC 9110 13.1.2. `list` is If-None-Match or If-Match as combined; "*" matches any. Tolerates unquoted tags by exact text.
bool any_weak_match(std::string_view list, std::string_view tag) noexcept;
bool any_strong_match(std::string_view list, std::string_view tag) noexcept;  // 13.1.1

}  // namespace weir::http
