#include "weir/wire/write.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "weir/base/assert.hpp"

namespace weir::wire {

namespace {

bool is_target_part(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F && c != '#'; });
}

}  // namespace

bool append_status_line(std::string& out, int status, std::string_view reason) {
  WEIR_ASSERT(status >= 100 && status <= 999);
  bool const sound = http::is_field_value(reason);
  out.append("HTTP/1.1 ");
  out.push_back(static_cast<char>('0' + status / 100));
  out.push_back(static_cast<char>('0' + status / 10 % 10));
  out.push_back(static_cast<char>('0' + status % 10));
  out.push_back(' ');  // stands even before an absent reason (RFC 9112 4)
  if (sound) out.append(reason);
  out.append("\r\n");
  return sound;
}

bool append_request_line(std::string& out, std::string_view method, std::string_view path, std::string_view query,
                         bool has_query) {
  if (!http::is_token(method) || path.empty() || path.find('?') != std::string_view::npos) return false;
  if (!is_target_part(path) || !is_target_part(query)) return false;
  out.append(method).append(" ").append(path);
  if (has_query) out.append("?").append(query);
  out.append(" HTTP/1.1\r\n");
  return true;
}

bool append_field(std::string& out, std::string_view name, std::string_view value) {
  if (!http::is_token(name) || !http::is_field_value(value)) return false;
  out.append(name).append(": ").append(value).append("\r\n");
  return true;
}

bool append_field(std::string& out, std::string_view name, std::uint64_t value) {
  std::array<char, 20> digits;
  auto const [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  WEIR_ASSERT(error == std::errc());
  return append_field(out, name, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

}  // namespace weir::wire
