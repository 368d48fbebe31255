// A drain that goes on while the test does something else.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include <boost/asio/post.hpp>

#include "scenario/weir.hpp"

namespace weir::test {

// A drain in a thread of its own; `hurry` ends it at once.
class Drain {
 public:
  explicit Drain(Weir& weir)
      : ended_(std::async(std::launch::async, [this, &weir] {
          return weir.daemon().drain([this](base::Duration) {
            give_way();
            return hurried_.load();
          });
        })) {}
  ~Drain() { hurried_.store(true); }
  void hurry() { hurried_.store(true); }
  daemon::Ended ended() { return ended_.get(); }

 private:
  std::atomic<bool> hurried_{false};
  std::future<daemon::Ended> ended_;
};

// Every worker stands still until the gate opens.
inline void hold(Weir& weir, Gate const& gate) {
  std::size_t const before = static_cast<std::size_t>(gate.arrived());
  for (auto& worker : weir.daemon().workers()) boost::asio::post(worker->io(), [gate] { gate.wait(); });
  ASSERT_TRUE(
      eventually([&] { return static_cast<std::size_t>(gate.arrived()) == before + weir.daemon().workers().size(); }));
}

inline bool refuses_connections(Weir const& weir) {
  return eventually([&] { return !connect_to(weir.port()); });
}

}  // namespace weir::test
