#include "progress.hpp"

// Not the C library's <netinet/tcp.h>, which ends before the count; the two cannot be had in one source.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace weir::wire {

std::optional<std::uint64_t> bytes_acknowledged(int descriptor) noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  constexpr auto needed = offsetof(tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < needed) return std::nullopt;
  return info.tcpi_bytes_acked;
}

}  // namespace weir::wire
