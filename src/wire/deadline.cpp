#include "weir/wire/deadline.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include "progress.hpp"

namespace weir::wire {

namespace {

// What the peer has taken, to be subtracted from a later count. A unix socket counts nothing; what it holds changes only
// when the peer takes some and more is written, so that any difference there, either way, is as good.
std::uint64_t taken_by(Stream& stream) noexcept {
  return bytes_acknowledged(stream.socket().native_handle()).value_or(stream.unsent());
}

}  // namespace

struct Deadline::State : std::enable_shared_from_this<State> {
  State(std::shared_ptr<Stream> const& s, WhenLate late) : stream(s), timer(s->executor()), when_late(late) {}

  void wait_until(base::SteadyTime when) {
    timer.expires_at(when);
    waiting = false;
    timer.async_wait([self = shared_from_this()](error_code error) {
      if (error) return;  // moved to an earlier time, or gone
      self->waiting = false;
      self->look();
    });
    waiting = true;
  }

  void look() {
    if (!armed) return;
    if (auto const now = base::Clock::now(); now < due || has_moved(now)) return try_wait_until(due);
    end(when_late);
  }

  // Whether the peer took something of what the socket holds; then its time begins anew.
  bool has_moved(base::SteadyTime now) noexcept {
    auto const alive = stream.lock();
    if (patience == base::Duration::zero() || !alive) return false;
    auto const seen = taken_by(*alive);
    if (seen - taken < least_progress) return false;
    taken = seen;
    due = now + patience;
    return true;
  }

  // Without memory for it the limit has passed at once: no operation is ever without one.
  void try_wait_until(base::SteadyTime when) noexcept {
    try {
      wait_until(when);
    } catch (std::exception const&) { end(WhenLate::close); }
  }

  void end(WhenLate how) noexcept {
    armed = false;
    expired = true;
    auto const alive = stream.lock();
    if (!alive) return;
    if (how == WhenLate::cancel)
      alive->cancel();
    else
      alive->close();
  }

  std::weak_ptr<Stream> stream;
  boost::asio::basic_waitable_timer<base::Clock> timer;
  base::SteadyTime due{};
  base::Duration patience{};  // of a write's peer; zero: no matter what it took
  std::uint64_t taken = 0;    // then, when its time began
  WhenLate when_late;
  bool armed = false, waiting = false, expired = false;
};

Deadline::Deadline(std::shared_ptr<Stream> const& stream, WhenLate when_late)
    : state_(std::make_shared<State>(stream, when_late)) {}

Deadline::~Deadline() {
  state_->armed = false;
  state_->timer.cancel();
}

void Deadline::expires_without_progress(base::Duration limit) {
  expires_after(limit);
  state_->patience = limit;
  if (auto const alive = state_->stream.lock()) state_->taken = taken_by(*alive);
}

void Deadline::expires_at(base::SteadyTime due) {
  state_->patience = base::Duration::zero();
  state_->due = due;
  state_->armed = true;
  state_->expired = false;
  if (!state_->waiting || state_->timer.expiry() > due) state_->try_wait_until(due);
}

void Deadline::clear() noexcept { state_->armed = false; }

bool Deadline::expired() const noexcept { return state_->expired; }

}  // namespace weir::wire
