#include "weir/server/worker.hpp"

#include <linux/filter.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <boost/asio/ip/tcp.hpp>

namespace weir::server {
namespace {

constexpr int backlog = 4096;
constexpr std::string_view unix_scheme = "unix:";
// What the kernel takes for a client beyond what is on its way; accepted sockets inherit it. Without it a client that does
// not read costs up to four MiB.
constexpr int most_unsent = 256 * 1024;

[[noreturn]] void fail(std::string const& address, char const* what, int error) {
  throw std::system_error(error, std::generic_category(), "cannot listen on " + address + ": " + what);
}

// A socket's file whose listener is gone. Anything else at the path is left alone, and so is a socket whose queue is full.
bool is_abandoned(sockaddr_un const& where) noexcept {
  struct stat file {};
  if (lstat(where.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  int const probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  bool const refused =
      probe >= 0 && connect(probe, reinterpret_cast<sockaddr const*>(&where), sizeof where) != 0 && errno == ECONNREFUSED;
  if (probe >= 0) close(probe);
  return refused;
}

int listen_unix(std::string const& address, std::string const& path, std::uint32_t mode) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.size() >= sizeof where.sun_path) fail(address, "path too long", ENAMETOOLONG);
  std::memcpy(where.sun_path, path.data(), path.size());
  int const descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail(address, "socket", errno);
  auto const give_up = [&](char const* what, int error) {
    close(descriptor);
    fail(address, what, error);
  };
  // Linux gives the file the mode of the socket, less the umask: it is never open to more. What the umask took comes after.
  if (fchmod(descriptor, mode) != 0) give_up("mode", errno);
  auto const* const at = reinterpret_cast<sockaddr const*>(&where);
  int bound = bind(descriptor, at, sizeof where);
  if (bound != 0 && errno == EADDRINUSE && is_abandoned(where)) {
    unlink(where.sun_path);  // if that fails, so does the next line, with the same word
    bound = bind(descriptor, at, sizeof where);
  }
  if (bound != 0) give_up("bind", errno);
  if (chmod(where.sun_path, mode) != 0) give_up("mode", errno);
  if (::listen(descriptor, backlog) != 0) give_up("listen", errno);
  return descriptor;
}

}  // namespace

int open_listener(std::string const& address, bool first, std::uint32_t mode) {
  if (address.starts_with(unix_scheme)) return listen_unix(address, address.substr(unix_scheme.size()), mode);
  auto const colon = address.rfind(':');
  if (colon == std::string::npos) fail(address, "no port", EINVAL);
  auto host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (int const error = getaddrinfo(host.empty() || host == "*" ? nullptr : host.c_str(), address.substr(colon + 1).c_str(),
                                    &hints, &found);
      error != 0)
    fail(address, gai_strerror(error), EINVAL);
  int const one = 1;
  int error = 0;
  auto const open_bound = [&](bool shared) {
    int const opened = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (opened >= 0) setsockopt(opened, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (opened >= 0 && shared) setsockopt(opened, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    if (opened >= 0) setsockopt(opened, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most_unsent, sizeof most_unsent);
    error = opened >= 0 && bind(opened, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
    return opened;
  };
  // SO_REUSEPORT alone would let a second Weir share the address without a word: the first socket tries it alone.
  if (first) close(open_bound(false));
  int const descriptor = error == 0 ? open_bound(true) : -1;
  if (error == 0 && ::listen(descriptor, backlog) != 0) error = errno;
  freeaddrinfo(found);
  if (error != 0) {
    if (descriptor >= 0) close(descriptor);
    fail(address, "bind", error);
  }
  return descriptor;
}

void refuse_handshakes(int descriptor) noexcept {
  // The filter sees TCP's header, with the flags in byte 13; only a first segment has SYN.
  constexpr std::uint32_t syn = 0x02, all = 0xffffffff;
  std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, syn, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, all)}};
  sock_fprog const program{static_cast<unsigned short>(code.size()), code.data()};
  // A kernel that forbids it leaves the moment between the last accept and the close.
  setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

boost::system::error_code set_listener_mode(std::string const& address, std::uint32_t mode) noexcept {
  if (!address.starts_with(unix_scheme) || chmod(address.c_str() + unix_scheme.size(), mode) == 0) return {};
  return {errno, boost::system::system_category()};
}

void forget_listener(std::string const& address) noexcept {
  if (address.starts_with(unix_scheme)) unlink(address.c_str() + unix_scheme.size());
}

std::string bound_address(int descriptor) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return {};
  if (bound.ss_family == AF_UNIX) return std::string("unix:") + reinterpret_cast<sockaddr_un*>(&bound)->sun_path;
  boost::asio::ip::tcp::endpoint endpoint;
  endpoint.resize(size);
  std::memcpy(endpoint.data(), &bound, size);
  auto const text = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + text + "]" : text) + ":" + std::to_string(endpoint.port());
}

}  // namespace weir::server
