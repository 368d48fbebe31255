#include "weir/http/target.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "weir/http/field.hpp"

namespace weir::http {
namespace {

constexpr std::size_t max_host_name = 255;  // RFC 3986 3.2.2, the DNS bound

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) noexcept { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; }
bool is_hex(char c) noexcept { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f'); }

constexpr std::array<bool, 256> host_chars = [] {
  std::array<bool, 256> table{};
  for (int c = 0; c < 128; ++c) {
    auto const byte = static_cast<char>(c);
    table[static_cast<std::size_t>(c)] =
        is_alpha(byte) || is_digit(byte) || byte == '-' || byte == '.' || byte == '_' || byte == '~';
  }
  return table;
}();

constexpr std::array<bool, 256> normalized_host_chars = [] {
  auto table = host_chars;
  for (std::size_t c = 'A'; c <= 'Z'; ++c) table[c] = false;
  return table;
}();

bool has_target_bytes(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x21 && c <= 0x7E && c != '#'; });
}

// %00 would end the path early in whatever behind us works with C strings.
bool has_good_escapes(std::string_view path) noexcept {
  for (std::size_t i = path.find('%'); i != std::string_view::npos; i = path.find('%', i + 3)) {
    if (i + 2 >= path.size() || !is_hex(path[i + 1]) || !is_hex(path[i + 2])) return false;
    if (path[i + 1] == '0' && path[i + 2] == '0') return false;
  }
  return true;
}

bool set_path_and_query(std::string_view text, Target& out) noexcept {
  std::size_t const mark = std::min(text.find('?'), text.size());
  out.path = text.substr(0, mark);
  out.has_query = mark < text.size();
  if (out.has_query) out.query = text.substr(mark + 1);
  return has_good_escapes(out.path);
}

std::optional<Target> parse_absolute(std::string_view target, std::size_t scheme_size) noexcept {
  Target out;
  out.form = TargetForm::absolute;
  out.scheme = target.substr(0, scheme_size);
  auto const rest = target.substr(scheme_size + 3);
  std::size_t const end = std::min(rest.find_first_of("/?"), rest.size());
  out.authority = rest.substr(0, end);
  if (!is_host(out.authority) || !set_path_and_query(rest.substr(end), out)) return std::nullopt;
  if (out.path.empty()) out.path = "/";
  return out;
}

bool is_port(std::string_view port) noexcept {
  if (port.size() > 5 || !std::all_of(port.begin(), port.end(), is_digit)) return false;
  int value = 0;
  for (char const c : port) value = value * 10 + (c - '0');
  return value <= 65535;
}

bool is_ipv6(std::string_view address) noexcept {
  char text[INET6_ADDRSTRLEN];
  if (address.size() >= sizeof text || address.find('\0') != std::string_view::npos) return false;
  text[address.copy(text, address.size())] = '\0';
  in6_addr parsed;
  return inet_pton(AF_INET6, text, &parsed) == 1;
}

// Labels of letters, digits, '-', '_' and '~'; one final dot. The rest of RFC 3986's reg-name stands in no name that
// resolves, and ',', ';' and '=' are separators where a host is quoted in other fields.
bool is_registered_name(std::string_view name) noexcept {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > max_host_name || name.back() == '.') return false;
  char before = '.';
  for (char const c : name) {
    if (!host_chars[static_cast<unsigned char>(c)] || (c == '.' && before == '.')) return false;
    before = c;
  }
  return true;
}

}  // namespace

std::optional<Target> parse_target(std::string_view target) noexcept {
  if (target.empty() || !has_target_bytes(target)) return std::nullopt;
  Target out;
  if (target == "*") {
    out.form = TargetForm::asterisk;
    out.path = target;
    return out;
  }
  if (target.front() == '/') { return set_path_and_query(target, out) ? std::optional(out) : std::nullopt; }
  std::size_t const scheme_size = target.find("://");
  if (scheme_size != std::string_view::npos) {
    auto const scheme = target.substr(0, scheme_size);
    if (equal_ignoring_case(scheme, "http") || equal_ignoring_case(scheme, "https"))
      return parse_absolute(target, scheme_size);
    return std::nullopt;
  }
  // RFC 9112 3.2.3: of CONNECT, with the port always written.
  std::size_t const colon = target.rfind(':');
  bool const has_port = colon != std::string_view::npos && colon + 1 < target.size() && is_digit(target.back());
  if (!has_port || !is_host(target)) return std::nullopt;
  out.form = TargetForm::authority;
  out.authority = target;
  return out;
}

bool is_host(std::string_view authority) noexcept {
  std::size_t const name_end = authority.starts_with('[') ? authority.find(']') : 0;
  if (name_end == std::string_view::npos) return false;
  std::size_t const colon = std::min(authority.find(':', name_end), authority.size());
  auto const name = authority.substr(0, colon);
  if (colon < authority.size() && !is_port(authority.substr(colon + 1))) return false;
  if (name.starts_with('['))
    return name.ends_with(']') && name_end + 1 == name.size() && is_ipv6(name.substr(1, name.size() - 2));
  return is_registered_name(name);
}

// A port that might be a default one, and literals in brackets, are left to the long way.
bool is_normalized_host(std::string_view authority) noexcept {
  std::size_t at = 0;
  while (at < authority.size() && normalized_host_chars[static_cast<unsigned char>(authority[at])]) ++at;
  if (at == 0 || authority[at - 1] == '.') return false;
  auto const port = authority.substr(at);
  if (port.empty()) return true;
  return port.size() > 1 && port[0] == ':' && port[1] != '0' && port != ":80" && port != ":443";
}

}  // namespace weir::http
