// Work that goes on whatever it meets.
#include <gtest/gtest.h>

#include <new>
#include <vector>

#include "weir/base/turned_clock.hpp"
#include "weir/wire/lasting.hpp"

namespace weir::wire {
namespace {

// The loop looks at its timers again, as they are turned by hand.
void turn_and_poll(asio::io_context& io) {
  base::turn_clock(lasting_pause);
  asio::basic_waitable_timer<base::Clock> due(io, base::SteadyTime::min());
  due.async_wait([](boost::system::error_code) {});
  io.restart();
  while (io.poll() > 0) {}
}

asio::awaitable<void> fail_twice(int& runs) {
  if (++runs < 3) throw std::bad_alloc();
  co_return;
}

// COA-6
TEST(Lasting, IsBegunAgainAfterAPauseUntilItReturns) {
  asio::io_context io;
  int runs = 0;
  std::vector<bool> told;
  Lasting::begin(
      io, [&runs] { return fail_twice(runs); }, [&told](std::exception_ptr const& failure) { told.push_back(!!failure); });
  io.poll();
  for (int run = 1; run <= 3; ++run) {
    EXPECT_EQ(runs, run);
    turn_and_poll(io);
  }
  io.run();  // there is nothing left to wait for
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(told, (std::vector<bool>{true, true}));
}

// PITFALLS: what cannot even be made is begun again all the same.
TEST(Lasting, ThatCannotBeMadeIsTriedAgain) {
  asio::io_context io;
  int tries = 0, runs = 2;
  Lasting::begin(
      io,
      [&]() -> asio::awaitable<void> {
        if (++tries == 1) throw std::bad_alloc();
        return fail_twice(runs);
      },
      [](std::exception_ptr const&) {});
  turn_and_poll(io);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace weir::wire
