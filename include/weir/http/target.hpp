// Request targets and hosts (RFC 9112 3.2, RFC 3986 with REQ-1's leniency). Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/http/field.hpp"

namespace weir::http {

enum class TargetForm : std::uint8_t { origin, absolute, authority, asterisk };

struct Target {
  TargetForm form = TargetForm::origin;
  std::string_view scheme;     // absolute form only: "http" or "https" in any case
  std::string_view authority;  // absolute and authority form
  std::string_view path;       // "/" when an absolute form has none; "*" for asterisk
  std::string_view query;
  bool has_query = false;
};

// REQ-1: bytes 0x21 to 0x7E except '#'; in the path every '%' begins a good escape and none is %00; the query may hold bad
// escapes. User information in an authority is refused. Nothing for anything else.
std::optional<Target> parse_target(std::string_view target) noexcept;

// Registered name, IPv4, or an IPv6 literal in brackets; optional port 0 to 65535 (an empty one is allowed). A name is of
// letters, digits, '-', '.', '_' and '~', at most 255 bytes, no label empty, one final dot allowed; no percent-escapes.
bool is_host(std::string_view authority) noexcept;
// KEY-2: lower case, without the scheme's default port, an empty port and the trailing dot. `authority` passed `is_host`.
// Appends to `out`.
template <class Out>
void append_normalized_host(std::string_view authority, std::string_view scheme, Out& out);
// Whether that would append `authority` as it is: what clients send, as a rule.
bool is_normalized_host(std::string_view authority) noexcept;

template <class Out>
void append_normalized_host(std::string_view authority, std::string_view scheme, Out& out) {
  if (is_normalized_host(authority)) {
    out.insert(out.end(), authority.begin(), authority.end());
    return;
  }
  std::size_t const bracket = authority.rfind(']');
  std::size_t const colon = authority.rfind(':');
  bool const has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  std::string_view name = has_port ? authority.substr(0, colon) : authority;
  std::string_view port = has_port ? authority.substr(colon + 1) : std::string_view();
  while (port.size() > 1 && port.front() == '0') port.remove_prefix(1);
  if (!name.empty() && name.back() == '.') name.remove_suffix(1);
  for (char const c : name) out.push_back(to_lower(c));
  std::string_view const default_port = scheme == "https" ? "443" : "80";
  if (!port.empty() && port != default_port) {
    out.push_back(':');
    for (char const c : port) out.push_back(c);
  }
}

}  // namespace weir::http
