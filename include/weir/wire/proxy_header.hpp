// What a proxy sends before everything else on a connection, to say whose connection it is: the PROXY protocol, version 1
// (a line of text) and 2 (binary). Threads: pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::wire {

// A header of version 1 has at most 107 bytes, one of version 2 as many as it says; of more than this none is taken.
inline constexpr std::size_t max_proxy_header = 4096;

enum class ProxyStep : std::uint8_t { malformed, need_more, ready };

struct ProxyHeader {
  ProxyStep step = ProxyStep::malformed;
  std::size_t size = 0;  // ready: of the header; what follows is the connection's own
  // Ready: the client's address as text, IPv4 where it is IPv4 in IPv6's clothes. Empty: the proxy speaks for itself, or
  // for somebody whom it does not name (UNKNOWN, no family, a unix socket).
  std::string address{};
  bool own = false;  // ready: LOCAL, the proxy's own connection, such as a health check
};

// `bytes`: all that came on the connection so far. Says `malformed` as soon as it is certain.
ProxyHeader read_proxy_header(std::string_view bytes);

}  // namespace weir::wire
