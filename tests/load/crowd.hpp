// Clients of a load test: so many keep-alive connections, each of which asks, waits for its whole answer, has it judged, and
// asks again, all on one thread. Threads: `next` and `judge` run on the crowd's own; the owner begins and stops it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "load/origin.hpp"
#include "support/message.hpp"
#include "support/socket.hpp"

namespace weir::load {

using Random = std::mt19937_64;
using test::Response;

struct Ask {
  std::string target;
  std::string method = "GET";
  Fields fields{};
  std::string body{};
  SteadyTime not_before{};  // an answer made earlier was purged before this was asked
};

struct Answered {
  Ask const& ask;
  Response const& response;
  SteadyTime sent;  // before its first byte
};

// Microseconds in steps of at most one part in 32.
class Latencies {
 public:
  void add(base::Duration taken);
  double milliseconds(double quantile) const;

 private:
  std::array<std::uint64_t, 64 * 24> counts_{};
  std::uint64_t total_ = 0;
};

struct Tally {
  std::uint64_t answers = 0;
  std::map<int, std::uint64_t> statuses;
  std::uint64_t wrong = 0;              // answers that the judge found wrong
  std::uint64_t lost = 0;               // connections that ended, or fell silent, with an answer owed
  std::uint64_t closed = 0;             // that ended without one owed
  std::vector<std::string> complaints;  // the first few of both, a sentence each
  Latencies latencies;
};

class Crowd {
 public:
  struct Plan {
    std::size_t clients = 8;
    Milliseconds pause{0};  // between an answer and the next question of a client
    std::function<Ask(Random&)> next;
    std::function<std::string(Answered const&)> judge;  // what is wrong with it; empty: nothing
    test::ConnectOptions options{};
    std::uint64_t seed = 1;
  };

  Crowd(std::uint16_t port, Plan plan);  // begins
  ~Crowd();
  Crowd(Crowd const&) = delete;
  Crowd& operator=(Crowd const&) = delete;

  std::uint64_t answers() const noexcept { return answers_; }
  // Asks no more, waits for the answers that are owed. The tally is whole from then on.
  Tally const& stop();

 private:
  struct Client {
    Socket socket;
    Ask ask;
    std::string buffer;
    test::ResponseReader reader;
    SteadyTime sent{};
    bool waits = false;
  };

  void run();
  void open(std::size_t index);
  void ask(std::size_t index);
  void receive(std::size_t index);
  void judge(std::size_t index, Response const& response);
  void lose(std::size_t index, std::string const& why);
  void lose_the_silent();
  int wake_asked();
  void complain(std::string const& what);

  std::uint16_t port_;
  Plan plan_;
  Random random_;
  std::vector<Client> clients_;
  std::deque<std::pair<SteadyTime, std::size_t>> resting_;  // until when, and who; in order, as all rest as long
  std::size_t owed_ = 0;
  Socket epoll_;
  Tally tally_;
  std::atomic<std::uint64_t> answers_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;  // last: it uses all of the above
};

// A judge's first sentence: status 200 and a whole body of that target, made no longer ago than `oldest` when it was asked
// for (so an answer may be as old as its lifetime and what a stale window adds, however slow the machine). Empty: so it is.
std::string judge_body(Answered const& answered, base::Duration oldest);

}  // namespace weir::load
