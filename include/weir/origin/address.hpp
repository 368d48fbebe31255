// Where an origin's server is, out of its configured URL. Threads: pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::origin {

struct Address {
  bool tls = false;
  std::string host;  // name or IP literal without brackets; empty for a unix socket
  std::string port;  // decimal
  std::string unix_path;
  std::string authority;  // for a Host field where one must be made: host[:port], "localhost" for a unix socket
};

// "http://host[:port][/]", "https://...", "unix:/path". Nothing for anything else (a path behind the host is refused).
std::optional<Address> parse_address(std::string_view url);

}  // namespace weir::origin
