#include "checks.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "item.hpp"
#include "units.hpp"

namespace weir::config {
namespace {

constexpr std::string_view token_marks = "!#$%&'*+-.^_`|~";
constexpr std::size_t longest_path = 8192;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_visible(char c) noexcept { return c > 0x20 && c < 0x7f; }
bool is_token_char(char c) noexcept { return is_digit(c) || is_letter(c) || token_marks.find(c) != std::string_view::npos; }
bool is_token(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 256 && std::all_of(text.begin(), text.end(), is_token_char);
}
bool made_of(std::string_view text, std::string_view marks) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_digit(c) || is_letter(c) || marks.find(c) != std::string_view::npos; });
}
void to_lower(std::string& text) noexcept {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
}

bool is_v4(std::string const& text) noexcept {
  in_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}
bool is_v6(std::string const& text) noexcept {
  in6_addr address{};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}
bool is_bracketed_v6(std::string const& text) noexcept {
  return text.size() > 2 && text.front() == '[' && text.back() == ']' && is_v6(text.substr(1, text.size() - 2));
}

// Labels of letters, digits, `-` and `_` (real sites have it), dots between them.
bool is_name(std::string_view text) noexcept {
  if (text.empty() || text.size() > 253 || !made_of(text, "-_.")) return false;
  std::size_t label = 0;
  for (char c : text) {
    if (c == '.' && label == 0) return false;
    label = c == '.' ? 0 : label + 1;
    if (label > 63) return false;
  }
  return label > 0;
}

bool is_host(std::string const& text) noexcept { return is_name(text) || is_bracketed_v6(text); }

struct HostPort {
  std::string host, port;
};
HostPort split_port(std::string const& text) {
  std::size_t const colon = text.rfind(':');
  bool const inside_brackets = colon != std::string::npos && text.find(']', colon) != std::string::npos;
  if (colon == std::string::npos || inside_brackets) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool is_port(std::string_view text, std::uint64_t least) noexcept {
  auto const port = parse_number(text);
  return port && *port >= least && *port <= 65535;
}

// sockaddr_un holds 107 bytes and the NUL.
std::string check_unix(std::string_view path) {
  if (path.empty() || path.front() != '/') return "a unix socket is named by an absolute path, as in unix:/run/weir.sock";
  return path.size() <= 107 ? "" : "a unix socket's path is at most 107 bytes";
}

constexpr std::string_view unix_scheme = "unix:";

}  // namespace

std::string check_any(std::string& value) {
  if (value.empty()) return "empty";
  return value.size() <= 4096 ? "" : "longer than 4096 bytes";
}

std::string check_listen(std::string& value) {
  if (value.starts_with(unix_scheme)) return check_unix(std::string_view(value).substr(unix_scheme.size()));
  auto const [host, port] = split_port(value);
  if ((is_v4(host) || is_bracketed_v6(host)) && is_port(port, 0)) return "";
  return "not an IP address with a port, as in 0.0.0.0:8080 or [::]:8080, nor unix:/path";
}

std::string check_admin_listen(std::string& value) {
  if (value == "false") value = "off";
  return value == "off" ? "" : check_listen(value);
}

std::string check_origin_url(std::string& value) {
  if (value.starts_with(unix_scheme)) return check_unix(std::string_view(value).substr(unix_scheme.size()));
  std::size_t const slashes = value.find("://");
  std::string scheme = value.substr(0, slashes == std::string::npos ? 0 : slashes);
  to_lower(scheme);
  if (scheme != "http" && scheme != "https") return "an origin's address starts with http://, https:// or unix:/";
  std::string rest = value.substr(slashes + 3);
  if (!rest.empty() && rest.back() == '/') rest.pop_back();
  if (rest.find_first_of("/?#") != std::string::npos) return "an origin has no path; the client's path is passed on";
  if (rest.find('@') != std::string::npos) return "an origin's address has no user name";
  to_lower(rest);
  auto const [host, port] = split_port(rest);
  if (!is_host(host)) return ticked(host) + " is not a host";
  if (host.size() != rest.size() && !is_port(port, 1)) return ticked(port) + " is not a port";
  value = scheme + "://" + rest;
  return "";
}

std::string check_store_address(std::string& value) {
  if (value.starts_with(unix_scheme)) return check_unix(std::string_view(value).substr(unix_scheme.size()));
  auto const [host, port] = split_port(value);
  return is_host(host) && is_port(port, 1) ? "" : "not a host with a port, as in 127.0.0.1:6379, nor unix:/path";
}

std::string check_host(std::string& value) {
  to_lower(value);
  auto const [host, port] = split_port(value);
  bool const port_is_right = host.size() == value.size() || is_port(port, 1);
  return is_host(host) && port_is_right ? "" : "not a host";
}

std::string check_site_host(std::string& value) {
  to_lower(value);
  if (value.size() > 1 && value.back() == '.') value.pop_back();
  if (value == "*" || is_host(value)) return "";
  std::string_view const text = value;
  if (text.starts_with("*.") && is_name(text.substr(2))) return "";
  if (split_port(value).port != "" && is_host(split_port(value).host)) return "a site's host has no port";
  if (text.find('*') != std::string_view::npos) return "a `*` stands at the front alone, as in *.shop.example";
  if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return "not a host; write an international name in its xn-- form";
  return "not a host";
}

std::string check_server_name(std::string& value) {
  to_lower(value);
  return is_name(value) ? "" : "not a host name";
}

std::string check_route_path(std::string& value) {
  if (value.empty() || value.front() != '/') return "a path starts with `/`";
  if (value.size() > longest_path) return "longer than 8192 bytes";
  if (std::size_t const star = value.find('*'); star != std::string::npos && star + 1 != value.size())
    return "a `*` stands at the end alone, as in /account/*";
  if (value.find_first_of("?#") != std::string::npos) return "a path has no query or fragment";
  return std::all_of(value.begin(), value.end(), is_visible) ? "" : "spaces and bytes beyond ASCII are written as %XX";
}

std::string check_path(std::string& value) {
  if (value.empty() || value.front() != '/') return "a path starts with `/`";
  bool const good = value.size() <= longest_path && std::all_of(value.begin(), value.end(), is_visible) &&
                    value.find('#') == std::string::npos;
  return good ? "" : "not a path";
}

std::string check_method(std::string& value) {
  static constexpr std::array known{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "QUERY"};
  if (!is_token(value)) return "not a method";
  std::string upper = value;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  if (upper != value && std::find(known.begin(), known.end(), upper) != known.end())
    return "methods are case-sensitive; write " + ticked(upper);
  if (value == "CONNECT" || value == "TRACE") return ticked(value) + " is never forwarded";
  return "";
}

std::string check_field_name(std::string& value) { return is_token(value) ? "" : "not a field name"; }

std::string check_lower_field_name(std::string& value) {
  to_lower(value);
  return check_field_name(value);
}

std::string check_edited_field_name(std::string& value) {
  static constexpr std::array own{"connection", "content-length",    "host",   "keep-alive", "proxy-connection", "te",
                                  "trailer",    "transfer-encoding", "upgrade"};
  std::string lower = value;
  to_lower(lower);
  if (std::find(own.begin(), own.end(), lower) != own.end())
    return ticked(value) + " is set by Weir alone" + (lower == "host" ? "; see the origin's `host_header`" : "");
  return check_field_name(value);
}

std::string check_field_value(std::string& value) {
  if (value.size() > 4096) return "longer than 4096 bytes";
  bool const spaced = !value.empty() && (value.front() == ' ' || value.back() == ' ');
  return spaced ? "a field's value neither starts nor ends with a space" : "";
}

std::string check_cookie_name(std::string& value) { return is_token(value) ? "" : "not a cookie's name"; }

std::string check_query_name(std::string& value) {
  bool const good = !value.empty() && value.size() <= 256 && std::all_of(value.begin(), value.end(), is_visible) &&
                    value.find_first_of("&=#") == std::string::npos;
  return good ? "" : "not the name of a query parameter";
}

std::string check_accept_coding(std::string& value) {
  to_lower(value);
  if (value == "identity" || value == "*") return ticked(value) + " is no coding to choose";
  return is_token(value) ? "" : "not a content coding";
}

std::string check_language(std::string& value) {
  bool const good = !value.empty() && value.size() <= 64 && is_letter(value.front()) && made_of(value, "-");
  return good ? "" : "not a language tag";
}

std::string check_vary_name(std::string& value) {
  to_lower(value);
  return value == "cookie" || value == "authorization" ? "" : "expected cookie or authorization";
}

std::string check_instance(std::string& value) {
  return !value.empty() && value.size() <= 64 && made_of(value, "-._") ? "" : "expected letters, digits, `-`, `.` or `_`";
}

std::string check_origin_name(std::string& value) {
  return !value.empty() && value.size() <= 64 && value.front() != '-' && made_of(value, "-_")
             ? ""
             : "an origin's name is made of letters, digits, `-` and `_`";
}

std::string check_log_file(std::string& value) {
  if (value == "off" || value == "false") return "no file; the log is switched off by `log.level: off`";
  if (value == "stdout") return "no file; the log goes to one, or to standard error: `stderr`";
  return check_any(value);
}

std::string check_ca_file(std::string& value) {
  if (value == "off" || value == "false") return "no file; write `system`, or `verify: off` to trust anybody";
  return check_any(value);
}

std::string check_prefix(std::string& value) {
  bool const good = value.size() <= 64 && std::all_of(value.begin(), value.end(), is_visible);
  return good ? "" : "expected at most 64 visible ASCII characters";
}

bool is_local(std::string const& listen) {
  if (listen.starts_with(unix_scheme)) return true;
  std::string const host = split_port(listen).host;
  return host == "[::1]" || (host.starts_with("127.") && is_v4(host));
}

}  // namespace weir::config
