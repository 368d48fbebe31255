#include "weir/origin/address.hpp"

#include "weir/http/field.hpp"
#include "weir/http/target.hpp"

namespace weir::origin {

std::optional<Address> parse_address(std::string_view url) {
  Address address;
  if (url.starts_with("unix:/")) {
    address.unix_path = url.substr(5);
    address.authority = "localhost";
    return address;
  }
  auto const colon = url.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  auto const scheme = url.substr(0, colon);
  if (http::equal_ignoring_case(scheme, "https"))
    address.tls = true;
  else if (!http::equal_ignoring_case(scheme, "http"))
    return std::nullopt;

  auto authority = url.substr(colon + 3);
  if (authority.ends_with('/')) authority.remove_suffix(1);
  if (!http::is_host(authority)) return std::nullopt;
  address.authority = authority;
  auto const bracket = authority.rfind(']');
  auto const separator = authority.rfind(':');
  bool const has_port = separator != std::string_view::npos && (bracket == std::string_view::npos || separator > bracket);
  auto host = has_port ? authority.substr(0, separator) : authority;
  auto const port = has_port ? authority.substr(separator + 1) : std::string_view();
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  if (host.empty()) return std::nullopt;
  address.host = host;
  address.port = !port.empty() ? std::string(port) : address.tls ? "443" : "80";
  return address;
}

}  // namespace weir::origin
