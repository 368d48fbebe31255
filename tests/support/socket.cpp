#include "support/socket.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weir::test {

namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  int family() const { return storage.ss_family; }
  sockaddr const* data() const { return reinterpret_cast<sockaddr const*>(&storage); }
};

Address unix_address(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.data(), path.size());
  Address result;
  std::memcpy(&result.storage, &address, sizeof address);
  result.size = sizeof address;
  return result;
}

// Size 0 if `text` is no address.
Address parse_address(std::string const& text, std::uint16_t port) {
  if (text.starts_with("unix:")) return unix_address(std::string_view(text).substr(5));
  Address result;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&result.storage, &v4, sizeof v4);
    result.size = sizeof v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&result.storage, &v6, sizeof v6);
    result.size = sizeof v6;
  }
  return result;
}

void set_option(Socket const& socket, int level, int name, int value) {
  ::setsockopt(socket.fd(), level, name, &value, sizeof value);
}

bool wait_for(int fd, short events, Deadline const& deadline) {
  for (;;) {
    pollfd poll_fd{fd, events, 0};
    int const ready = ::poll(&poll_fd, 1, deadline.poll_timeout());
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

void Socket::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Socket::reset() noexcept {
  if (fd_ < 0) return;
  // A reset drops what the peer's window has not taken yet, so wait for that first: "cut after n bytes" means n bytes.
  Deadline const deadline(Milliseconds(5'000));
  for (int unsent = 0; ::ioctl(fd_, SIOCOUTQ, &unsent) == 0 && unsent > 0 && !deadline.passed();) give_way();
  linger const hard{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

void Socket::finish_sending() noexcept { ::shutdown(fd_, SHUT_WR); }

void Socket::shut_down() noexcept { ::shutdown(fd_, SHUT_RDWR); }

bool Socket::send_all(std::string_view bytes, Milliseconds bound) {
  Deadline const deadline(bound);
  while (!bytes.empty()) {
    std::optional<std::size_t> const sent = send_some(bytes);
    if (!sent || (*sent == 0 && !wait_for(fd_, POLLOUT, deadline))) return false;
    bytes.remove_prefix(*sent);
  }
  return true;
}

std::optional<std::size_t> Socket::send_some(std::string_view bytes) {
  for (;;) {
    ssize_t const sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return std::nullopt;
  }
}

Socket::Got Socket::receive(std::string& out, std::size_t most, Milliseconds bound) {
  Deadline const deadline(bound);
  std::array<char, 16 * 1024> block;
  for (;;) {
    if (!wait_for(fd_, POLLIN, deadline)) return Got::nothing;
    ssize_t const got = ::recv(fd_, block.data(), std::min(most, block.size()), MSG_DONTWAIT);
    if (got > 0) {
      out.append(block.data(), static_cast<std::size_t>(got));
      return Got::bytes;
    }
    if (got == 0) return Got::end;
    if (errno != EAGAIN && errno != EINTR) return Got::reset;
  }
}

bool Socket::peer_is_gone() const noexcept {
  char byte = 0;
  ssize_t const got = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

Socket connect_to(std::uint16_t port, ConnectOptions const& options) {
  Address const peer = parse_address(options.address, port);
  Socket socket(::socket(peer.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return socket;
  if (options.receive_buffer > 0) set_option(socket, SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
  if (!options.source.empty()) {
    Address const source = parse_address(options.source, 0);
    if (::bind(socket.fd(), source.data(), source.size) != 0) return {};
  }
  if (::connect(socket.fd(), peer.data(), peer.size) != 0) return {};
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

Socket reserve_port() {
  Address const local = parse_address("127.0.0.1", 0);
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (!socket || ::bind(socket.fd(), local.data(), local.size) != 0) {
    ADD_FAILURE() << "cannot reserve a port: " << std::strerror(errno);
    return {};
  }
  return socket;
}

Socket listen_on(std::uint16_t port, std::string const& address, int backlog) {
  Address const local = parse_address(address, port);
  Socket socket(::socket(local.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);  // what it accepts inherits this
  if (!socket || ::bind(socket.fd(), local.data(), local.size) != 0 || ::listen(socket.fd(), backlog) != 0) {
    ADD_FAILURE() << "cannot listen on " << address << " port " << port << ": " << std::strerror(errno);
    return {};
  }
  return socket;
}

std::uint16_t local_port(Socket const& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  // The port stands at the same place for IPv4 and IPv6.
  sockaddr_in v4{};
  std::memcpy(&v4, &storage, sizeof v4);
  return ntohs(v4.sin_port);
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  // More than the hard limit is root's privilege; where that is refused the limit stays as it is.
  rlim_t const wished = 65'536;
  rlimit more{wished, wished};
  if (limit.rlim_max < wished && ::setrlimit(RLIMIT_NOFILE, &more) == 0) return wished;
  return limit.rlim_cur;
}

}  // namespace weir::test
