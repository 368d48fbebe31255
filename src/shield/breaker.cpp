#include "weir/shield/breaker.hpp"

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::shield {

std::string_view label(BreakerState state) noexcept {
  static constexpr std::array<std::string_view, 3> labels{"closed", "half-open", "open"};
  return labels[static_cast<std::size_t>(state)];
}

Probe::Probe(Probe&& other) noexcept
    : breaker_(std::exchange(other.breaker_, nullptr)), asked_(other.asked_), random_(other.random_) {}

Probe& Probe::operator=(Probe&& other) noexcept {
  if (this == &other) return *this;
  if (breaker_) breaker_->probe_unjudged(asked_, random_);
  breaker_ = std::exchange(other.breaker_, nullptr);
  asked_ = other.asked_;
  random_ = other.random_;
  return *this;
}

Probe::~Probe() {
  if (breaker_) breaker_->probe_unjudged(asked_, random_);
}

void Probe::succeeded() noexcept {
  WEIR_ASSERT(breaker_);
  std::exchange(breaker_, nullptr)->probe_succeeded();
}

void Probe::failed(base::SteadyTime now, std::uint64_t random) noexcept {
  WEIR_ASSERT(breaker_);
  std::exchange(breaker_, nullptr)->probe_failed(now, random);
}

bool Breaker::refuses(base::SteadyTime now, bool bodiless) noexcept {
  std::lock_guard const lock(mutex_);
  if (!rules_.enabled || state_ == BreakerState::closed) return false;
  return state_ == BreakerState::half_open || is_open_at(now, bodiless);
}

Asked Breaker::ask(base::SteadyTime now, bool bodiless, std::uint64_t random) noexcept {
  std::lock_guard const lock(mutex_);
  Asked asked;
  if (!rules_.enabled || state_ == BreakerState::closed) {
    asked.answer = Ask::closed;
  } else if (state_ == BreakerState::open && !is_open_at(now, bodiless)) {
    become(BreakerState::half_open);
    asked.answer = Ask::probe;
    asked.probe.breaker_ = this;
    asked.probe.asked_ = now;
    asked.probe.random_ = random;
  }
  return asked;
}

void Breaker::succeeded(base::SteadyTime now) noexcept {
  std::lock_guard const lock(mutex_);
  if (rules_.enabled && state_ == BreakerState::closed) ++bucket(now).successes;
}

bool Breaker::failed(base::SteadyTime now, std::uint64_t random) noexcept {
  std::lock_guard const lock(mutex_);
  if (!rules_.enabled || state_ != BreakerState::closed) return false;
  ++bucket(now).failures;
  if (!too_many_failures(now)) return false;
  open_for(std::min(rules_.open, rules_.open_max), random);
  opened_ = now;
  return true;
}

BreakerState Breaker::state() const noexcept {
  std::lock_guard const lock(mutex_);
  return state_;
}

std::uint64_t Breaker::transitions(BreakerState to) const noexcept {
  std::lock_guard const lock(mutex_);
  return transitions_[static_cast<std::size_t>(to)];
}

void Breaker::set_rules(BreakerRules const& rules) noexcept {
  std::lock_guard const lock(mutex_);
  if (rules.window != rules_.window) buckets_ = {};
  rules_ = rules;
  if (!rules_.enabled && state_ == BreakerState::open) close();
}

void Breaker::probe_succeeded() noexcept {
  std::lock_guard const lock(mutex_);
  close();
}

void Breaker::probe_failed(base::SteadyTime now, std::uint64_t random) noexcept {
  std::lock_guard const lock(mutex_);
  if (!rules_.enabled) return close();
  open_for(std::min(last_open_ * 2, rules_.open_max), random);
  opened_ = now;
}

void Breaker::probe_unjudged(base::SteadyTime asked, std::uint64_t random) noexcept {
  std::lock_guard const lock(mutex_);
  if (!rules_.enabled) return close();
  open_for(last_open_, random);
  opened_ = asked;
}

void Breaker::close() noexcept {
  become(BreakerState::closed);
  buckets_ = {};
  last_open_ = {};
}

base::Duration Breaker::bucket_width() const noexcept {
  return std::max<base::Duration>(rules_.window / static_cast<std::int64_t>(bucket_count), base::Duration(1));
}

Breaker::Bucket& Breaker::bucket(base::SteadyTime now) noexcept {
  auto const index = now.time_since_epoch() / bucket_width();
  auto& bucket = buckets_[static_cast<std::size_t>(index) % bucket_count];
  // A worker whose `now` is a bucket behind counts in the newer one that took its place.
  if (bucket.index < index) bucket = {.index = index};
  return bucket;
}

bool Breaker::too_many_failures(base::SteadyTime now) const noexcept {
  auto const newest = now.time_since_epoch() / bucket_width();
  std::uint64_t failures = 0, all = 0;
  for (auto const& bucket : buckets_) {
    if (bucket.index <= newest - static_cast<std::int64_t>(bucket_count)) continue;
    failures += bucket.failures;
    all += bucket.failures + bucket.successes;
  }
  return all >= rules_.min_requests && failures * 100 >= std::uint64_t{rules_.failure_percent} * all;
}

bool Breaker::is_open_at(base::SteadyTime now, bool bodiless) const noexcept {
  return now - opened_ < (bodiless ? jittered_ : 2 * jittered_);
}

void Breaker::become(BreakerState to) noexcept {
  state_ = to;
  ++transitions_[static_cast<std::size_t>(to)];
}

void Breaker::open_for(base::Duration duration, std::uint64_t random) noexcept {
  last_open_ = duration;
  auto const thousandths = static_cast<std::int64_t>(random % (breaker_jitter_percent * 10 + 1));
  jittered_ = duration + duration / 1000 * thousandths;
  become(BreakerState::open);
}

}  // namespace weir::shield
