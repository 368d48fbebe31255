// A time limit on a stream's pending operation: when it passes, the stream is closed, or only what is pending on it is
// cancelled, and the operation ends with operation_aborted; `expired` says why. Set before each step, cleared after it.
// Setting and clearing is cheap: one timer wait stays pending and is moved only when the new limit is earlier. Threads: the
// stream's worker.
#pragma once

#include <cstdint>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "weir/base/clock.hpp"
#include "weir/wire/stream.hpp"

namespace weir::wire {

// `cancel` leaves a plain stream good for an answer to the peer that was too slow (REQ-3).
enum class WhenLate : std::uint8_t { close, cancel };

class Deadline {
 public:
  explicit Deadline(std::shared_ptr<Stream> const& stream, WhenLate when_late = WhenLate::close);
  ~Deadline();
  Deadline(Deadline const&) = delete;
  Deadline& operator=(Deadline const&) = delete;

  void expires_at(base::SteadyTime due);
  void expires_after(base::Duration limit) { expires_at(base::Clock::now() + limit); }
  // For a write: expires only where the peer took less than `least_progress` within `limit`, and begins anew where it took
  // more. A socket that is full can be written to again only when much of it has gone, which says nothing of a slow peer.
  void expires_without_progress(base::Duration limit);
  static constexpr std::size_t least_progress = 4096;  // bytes
  void clear() noexcept;
  bool expired() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::wire
