// Time limits of connections that wait for their peer to speak: one queue for each kind of limit, in order of their end (as
// all of a kind last equally long, that of arrival), one timer for all. Watching costs a list splice. Owner: the worker.
// Threads: its worker.
#pragma once

#include <array>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>

#include "weir/base/clock.hpp"
#include "weir/base/intrusive.hpp"
#include "weir/wire/operation_memory.hpp"

namespace weir::server {

enum class Limit : std::uint8_t { idle, head, linger, last };  // last: idle, and no further request is wanted

struct Timed {
  boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> timed_hook;
  base::SteadyTime due{};
  void (*on_due)(Timed&) noexcept = nullptr;
};

class Timekeeper {
 public:
  explicit Timekeeper(boost::asio::io_context& io) : timer_(io) {}
  void watch(Timed& timed, Limit kind, base::SteadyTime due) noexcept;  // replaces an earlier watch
  // A shorter limit of a kind holds for those that are watched already.
  void cap(Limit kind, base::SteadyTime due) noexcept;
  static void unwatch(Timed& timed) noexcept { timed.timed_hook.unlink(); }
  // Each second: goes on where there was no room for a timer.
  void tend() noexcept {
    if (!waiting_) look();
  }
  void stop() noexcept {
    stopped_ = true;
    timer_.cancel();
  }

 private:
  void arm(base::SteadyTime due) noexcept;
  void look() noexcept;

  using Queue =
      boost::intrusive::list<Timed, boost::intrusive::member_hook<Timed, decltype(Timed::timed_hook), &Timed::timed_hook>,
                             boost::intrusive::constant_time_size<false>>;

  boost::asio::basic_waitable_timer<base::Clock> timer_;
  wire::OperationMemory memory_;  // of the one wait
  base::SteadyTime next_{};       // what is waited for
  std::array<Queue, 4> queues_;
  bool waiting_ = false, stopped_ = false;
};

}  // namespace weir::server
