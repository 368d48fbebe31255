#include <algorithm>
#include <utility>

#include "slot.hpp"
#include "weir/base/assert.hpp"

namespace weir::shield {

// What a fetch says, once.
struct LeaderTicket::News {
  Told told = Told::failed;
  Failure failure{};
  cache::Entry entry{};
  bool validated = false;
  bool error = false;                     // ends the wait of those only who have no other fetch to wait for
  bool for_leader = false;                // everybody else re-enters
  PlaceState after = PlaceState::silent;  // open, closed; silent: the places are given back
};

namespace {

// What else in the slot has not spoken yet.
struct Others {
  bool any = false;
  std::uint64_t highest_number = 0;
  bool may_answer(SlotWaiter const& waiter) const noexcept { return any && highest_number >= waiter.must_see; }
};

Others others_of(Place const& speaker) noexcept {
  Others others;
  for (auto const& place : speaker.slot->places) {
    if (&place == &speaker || !place.silent()) continue;
    others.any = true;
    others.highest_number = std::max(others.highest_number, place.flight->purge_number());
  }
  return others;
}

bool leads_another(SlotWaiter const& waiter, Place const& speaker) noexcept {
  if (waiter.leads == 0) return false;
  return std::any_of(speaker.slot->places.begin(), speaker.slot->places.end(), [&](Place const& place) {
    return &place != &speaker && place.silent() && place.flight->began() == waiter.leads;
  });
}

}  // namespace

LeaderTicket::LeaderTicket() noexcept = default;

LeaderTicket::LeaderTicket(LeaderTicket&& other) noexcept { *this = std::move(other); }

LeaderTicket& LeaderTicket::operator=(LeaderTicket&& other) noexcept {
  if (this == &other) return *this;
  end();
  table_ = std::exchange(other.table_, nullptr);
  flight_ = std::move(other.flight_);
  interest_ = std::move(other.interest_);
  hash_ = other.hash_;
  published_ = std::exchange(other.published_, false);
  counted_ = std::exchange(other.counted_, false);
  places_ = std::move(other.places_);
  return *this;
}

LeaderTicket::~LeaderTicket() { end(); }

void LeaderTicket::end() noexcept {
  if (!flight_) return;
  leave();
  if (flight_->body_state() == BodyState::growing) flight_->finish(false);
  flight_->clear_on_interest();
  flight_.reset();
  published_ = false;
}

void LeaderTicket::also_answers(std::string_view selector) {
  if (!places_[0] || places_[1]) return;
  auto& shard = table_->impl_->shard(hash_);
  auto place = std::make_unique<Place>();
  std::lock_guard const lock(shard.mutex);
  auto const& first = *places_[0];
  if (!first.slot->found || first.state == PlaceState::closed || first.state == PlaceState::silent_closed) return;
  FlightKey const key{.primary = first.slot->primary, .hash = hash_, .selector = selector};
  auto* slot = shard.find(key);
  if (slot && !slot->places.empty()) return;
  if (!slot) slot = &shard.add(key, true);
  slot->overruled_below = std::max(slot->overruled_below, first.slot->overruled_below);
  slot->last_start = first.slot->last_start;
  place->slot = slot;
  place->flight = flight_.get();
  place->state = first.state;
  slot->places.push_front(*place);
  places_[1] = std::move(place);
}

std::uint64_t LeaderTicket::begins_again(std::uint64_t number) noexcept {
  auto& impl = *table_->impl_;
  std::lock_guard const lock(impl.shard(hash_).mutex);
  std::uint64_t overruled_below = 0;
  for (auto const& place : places_)
    if (place) overruled_below = std::max(overruled_below, place->slot->overruled_below);
  flight_->purge_number_ = number;
  flight_->overruled_.store(overruled_below > number, std::memory_order_release);
  return impl.began.fetch_add(1, std::memory_order_relaxed) + 1;
}

void LeaderTicket::started(base::SteadyTime now) noexcept {
  std::lock_guard const lock(table_->impl_->shard(hash_).mutex);
  flight_->started_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  for (auto const& place : places_)
    if (place) place->slot->last_start = std::max(place->slot->last_start, now);
}

void LeaderTicket::tell(News const& news) noexcept {
  WEIR_ASSERT(flight_ && !published_);
  published_ = true;
  auto& impl = *table_->impl_;
  WaiterList chosen;
  {
    auto& shard = impl.shard(hash_);
    std::lock_guard const lock(shard.mutex);
    for (auto& place : places_) {
      if (!place) continue;
      tell_slot(*place, news, chosen);
      auto const closed_before = place->state == PlaceState::silent_closed;
      place->state = closed_before ? PlaceState::closed : news.after;
      if (news.after == PlaceState::silent) shard.remove(place);
    }
    if (!places_[0] && !places_[1]) uncount();
  }
  if (!chosen.empty()) impl.waker.wake(chosen);
  interest_.reset();
}

void LeaderTicket::tell_slot(Place& place, News const& news, WaiterList& chosen) noexcept {
  auto& slot = *place.slot;
  auto const others = others_of(place);
  for (auto next = slot.waiters.begin(); next != slot.waiters.end();) {
    auto& waiter = static_cast<SlotWaiter&>(*next++);
    auto const too_old = flight_->purge_number() < waiter.must_see;
    auto const other = others.may_answer(waiter);
    if (other && (too_old || news.error)) continue;
    WEIR_ASSERT(!too_old);
    auto const leader = waiter.leads == flight_->began();
    if (news.for_leader && !leader && leads_another(waiter, place)) continue;
    waiter.leader = leader;
    waiter.told = news.for_leader && !leader ? Told::reenter : news.told;
    waiter.failure = news.failure;
    waiter.validated = news.validated;
    if (waiter.told == Told::entry) waiter.entry = news.entry;
    if (waiter.told == Told::head) waiter.flight = Interest(flight_);
    choose(slot.waiters, waiter, chosen);
    --slot.waiting;
    table_->waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void LeaderTicket::publish_head() noexcept {
  auto const* head = flight_->head();
  WEIR_ASSERT(head != nullptr);
  News news{.told = Told::head};
  news.error = head->origin_error;
  news.for_leader = !head->shareable && !head->origin_error;
  if (head->stored)
    news.after = head->shareable && head->joinable && !head->origin_error ? PlaceState::open : PlaceState::closed;
  tell(news);
}

void LeaderTicket::publish_entry(cache::Entry entry, bool validated) noexcept {
  tell({.told = Told::entry, .entry = std::move(entry), .validated = validated});
}

void LeaderTicket::publish_by_variant() noexcept { tell({.told = Told::by_variant}); }

void LeaderTicket::publish_failure(Failure failure) noexcept {
  tell({.told = Told::failed, .failure = failure, .error = true});
}

bool LeaderTicket::wanted() const noexcept {
  std::lock_guard const lock(table_->impl_->shard(hash_).mutex);
  for (auto const& place : places_)
    if (place && !place->slot->waiters.empty()) return true;
  return flight_->interest() > (interest_ ? 1U : 0U);
}

void LeaderTicket::close_to_newcomers() noexcept {
  std::lock_guard const lock(table_->impl_->shard(hash_).mutex);
  for (auto const& place : places_)
    if (place) place->state = place->silent() ? PlaceState::silent_closed : PlaceState::closed;
}

void LeaderTicket::leave() noexcept {
  if (!flight_) return;
  if (!published_) publish_failure({FailureKind::internal});
  auto& shard = table_->impl_->shard(hash_);
  std::lock_guard const lock(shard.mutex);
  for (auto& place : places_)
    if (place) shard.remove(place);
  uncount();
}

void LeaderTicket::uncount() noexcept {
  if (std::exchange(counted_, false)) table_->count_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace weir::shield
