// The origin of a load test: one thread that answers what its handler says, and counts. Every body tells its URL and the
// moment it was made, and is checkable to its last byte, so that a client sees what is wrong, cut off, mixed up or too old.
// Threads: the handler runs on the origin's own; anybody may ask the counters.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "support/message.hpp"
#include "support/socket.hpp"
#include "weir/base/clock.hpp"

namespace weir::load {

using base::Clock;
using base::SteadyTime;
using test::Fields;
using test::Milliseconds;
using test::Request;
using test::Socket;

// `size` bytes (at least a line of a hundred or so): the URL, `made`, the size, and a letter repeated to the end.
std::string stamped_body(std::string_view target, SteadyTime made, std::size_t size);
// When `body` was made, if it is a whole one for `target`.
std::optional<SteadyTime> read_stamp(std::string_view body, std::string_view target);

struct Reply {
  enum class Ends { whole, broken, never };  // `broken`: half of the body, then a reset; `never`: not a byte

  int status = 200;
  Fields fields{};  // beside Content-Length
  std::size_t size = 1024;
  Milliseconds delay{0};
  Ends ends = Ends::whole;
  bool constant = false;  // made at the beginning of time, with an ETag, and 304 for who has it
};

class Origin {
 public:
  using Handler = std::function<Reply(Request const&)>;

  explicit Origin(Handler handler);
  ~Origin();
  Origin(Origin const&) = delete;
  Origin& operator=(Origin const&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  // Off: nobody listens, and all connections end.
  void listen(bool on);

  std::uint64_t calls() const;
  std::uint64_t calls(std::string_view part) const;  // of targets whose first segment is `part`
  std::size_t most_at_once() const;                  // requests whose answer had not been sent
  std::size_t most_at_once_of_one() const;           // of one target
  std::vector<std::string> problems() const;         // requests that were no HTTP, a sentence each
  void forget();                                     // counts anew from here on

 private:
  struct Connection {
    Socket socket;
    std::uint64_t number = 0;
    std::string in, out;
    test::RequestReader reader;
    bool has_head = false, answering = false, reset_when_sent = false;
    std::string target, body_of;
    Reply reply;
  };

  void run();
  void wake();
  void accept_one();
  void switch_over();
  void receive(Connection& connection);
  void take_requests(Connection& connection);
  void begin(Connection& connection);
  void answer(Connection& connection);
  void send(Connection& connection);
  void finish(Connection& connection);
  void drop(int fd);
  void watch(Connection const& connection, bool for_writing);

  Handler handler_;
  std::uint16_t port_ = 0;
  Socket listener_, epoll_, event_;
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
  std::multimap<SteadyTime, std::pair<int, std::uint64_t>> due_;  // the connection's descriptor and number
  std::uint64_t accepted_ = 0;
  std::atomic<bool> stopping_{false}, wants_to_listen_{true}, listens_{true};

  mutable std::mutex mutex_;  // guards the counters
  std::map<std::string, std::uint64_t, std::less<>> by_part_;
  std::unordered_map<std::string, std::size_t> at_once_of_;
  std::size_t at_once_ = 0, most_at_once_ = 0, most_of_one_ = 0;
  std::vector<std::string> problems_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace weir::load
