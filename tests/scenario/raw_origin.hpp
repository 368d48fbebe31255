// An origin whose every byte a test says itself. Threads: the test's own.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "support/client.hpp"
#include "support/socket.hpp"

namespace weir::test {

class RawOrigin {
 public:
  RawOrigin() : listener_(listen_on()) {}
  std::string url() const { return "http://127.0.0.1:" + std::to_string(local_port(listener_)); }
  // Until somebody connects; false after `bound` without.
  bool waits(Milliseconds bound = patience) const {
    pollfd polled{listener_.fd(), POLLIN, 0};
    return ::poll(&polled, 1, static_cast<int>(bound.count())) == 1;
  }
  Socket accept() { return Socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  Socket listener_;
};

// What comes until `end` is in it; all of it, or up to the end of the connection.
inline std::string read_until(Socket& socket, std::string_view end) {
  std::string all;
  while (all.find(end) == std::string::npos && socket.receive(all, 1) == Socket::Got::bytes) {}
  return all;
}

// The client's next request comes on a connection of its own, as the one before owes bytes or may hold a stray request.
inline void expect_on_another(RawOrigin& origin, Client& client, std::string const& target) {
  client.send_request("GET", target);
  auto connection = origin.accept();
  EXPECT_TRUE(read_until(connection, "\r\n\r\n").starts_with("GET " + target + " "));
  connection.send_all("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(client.read().status, 204);
}

}  // namespace weir::test
