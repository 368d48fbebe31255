// Many clients at once, driven by one epoll loop: all connect, then all send, then all answers are collected. A thousand
// are cheap, ten thousand work. Threads: one at a time for each burst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/client.hpp"
#include "support/message.hpp"
#include "support/socket.hpp"

namespace weir::test {

class Burst {
 public:
  // Connects `count` clients; fails the test if one of them cannot.
  Burst(std::uint16_t port, std::size_t count, ConnectOptions const& options = {});

  // Every client sends the same bytes, or what `bytes_of(client)` says. Answers are read as those to `method`.
  void send(std::string_view bytes, std::string_view method = "GET");
  void send_each(std::function<std::string(std::size_t)> const& bytes_of, std::string_view method = "GET");
  void get(std::string_view target, Fields const& fields = {}) { send(write_request("GET", target, fields)); }

  // Reads until `enough` clients (all, unless said) have a whole answer or lost their connection; fails the test if
  // nothing arrives for `bound`. Clients that were closed count as done.
  void collect(std::size_t enough = std::numeric_limits<std::size_t>::max(), Milliseconds bound = patience);

  // One response for each client, as far as it came, after `collect`.
  std::vector<Response> responses() const;
  // The clients in the order in which their first bytes came.
  std::vector<std::size_t> const& first_byte_order() const noexcept { return first_byte_order_; }
  std::size_t size() const noexcept { return clients_.size(); }
  std::size_t done() const noexcept { return done_; }

  void close(std::size_t client);
  void reset(std::size_t client);

 private:
  struct One {
    Socket socket;
    std::string buffer;
    ResponseReader reader;
    End end = End::silence;
    bool done = false;
    bool has_bytes = false;
  };
  void receive(std::size_t client);
  void finish(One& one, End end);

  std::vector<One> clients_;
  std::vector<std::size_t> first_byte_order_;
  std::size_t done_ = 0;
  Socket epoll_;
};

// How often each status occurs; 0 stands for answers without a head, and incomplete answers count as -1.
std::map<int, std::size_t> statuses(std::vector<Response> const& responses);

}  // namespace weir::test
