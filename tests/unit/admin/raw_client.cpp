#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "raw_client.hpp"
#include "weir/http/field.hpp"

namespace weir::admin {
namespace {

template <class Address>
int connect_to(int family, Address const& address) {
  int const socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval const limit{10, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

}  // namespace

RawClient RawClient::tcp(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return RawClient(connect_to(AF_INET, address));
}

RawClient RawClient::unix_socket(std::string const& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return RawClient(connect_to(AF_UNIX, address));
}

RawClient::~RawClient() {
  if (socket_ >= 0) ::close(socket_);
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t const sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the peer is gone: what it said before is still to be read
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool RawClient::fill() {
  std::array<char, 16384> part;
  ssize_t const got = ::recv(socket_, part.data(), part.size(), 0);
  if (got > 0) buffer_.append(part.data(), static_cast<std::size_t>(got));
  return got > 0;
}

std::optional<RawResponse> RawClient::receive(bool head_only) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!fill()) return std::nullopt;
  }
  RawResponse response;
  std::string const head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  response.status = std::atoi(head.c_str() + head.find(' '));
  for (std::size_t line = head.find("\r\n") + 2; line < head.size();) {
    std::size_t const stop = head.find("\r\n", line);
    std::size_t const colon = head.find(':', line);
    response.fields[http::lower(head.substr(line, colon - line))] = http::trim(head.substr(colon + 1, stop - colon - 1));
    line = stop + 2;
  }
  if (head_only || response.status < 200) return response;
  std::size_t const length = std::strtoul(response.fields["content-length"].c_str(), nullptr, 10);
  while (buffer_.size() < length) {
    if (!fill()) return std::nullopt;
  }
  response.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return response;
}

bool RawClient::ends() {
  char byte = 0;
  ssize_t const got = ::recv(socket_, &byte, 1, 0);
  return buffer_.empty() && (got == 0 || (got < 0 && errno == ECONNRESET));
}

}  // namespace weir::admin
