// A time limit on a stream's pending operation: when it passes, the stream is closed and the operation ends with
// operation_aborted; `expired` says why. Set before each step, cleared after it. Setting and clearing is cheap: one timer
// wait stays pending and is moved only when the new limit is earlier. Threads: the stream's worker.
#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "weir/base/clock.hpp"
#include "weir/wire/stream.hpp"

namespace weir::wire {

class Deadline {
 public:
  explicit Deadline(std::shared_ptr<Stream> const& stream);
  ~Deadline();
  Deadline(Deadline const&) = delete;
  Deadline& operator=(Deadline const&) = delete;

  void expires_at(base::SteadyTime due);
  void expires_after(base::Duration limit) { expires_at(base::Clock::now() + limit); }
  void clear() noexcept;
  bool expired() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::wire
