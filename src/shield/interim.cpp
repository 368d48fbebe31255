// Interim responses on their way from a fetch to those who wait for its head (SRV-7). They are kept by the flight; a waiter
// is told through a node of its own, so it stays linked in its slot and misses no other news.
#include "slot.hpp"

namespace weir::shield {
namespace {

void tell_interims(SlotWaiter& waiter, Flight& flight, WaiterList* chosen) noexcept {
  if (waiter.interim_of.get() != &flight) {
    waiter.interim_of = base::Ref<Flight>(&flight);
    waiter.interims_had = 0;
  }
  waiter.has_interims.store(true, std::memory_order_release);
  bool const asleep = waiter.interim.state.load(std::memory_order_acquire) == WaiterState::free;
  if (chosen == nullptr || waiter.interim.resume == nullptr || !asleep) return;
  chosen->push_back(waiter.interim);
  waiter.interim.state.store(WaiterState::chosen, std::memory_order_release);
}

}  // namespace

void offer_interims(Slot const& slot, SlotWaiter& waiter) noexcept {
  for (auto const& place : slot.places) {
    auto& flight = *place.flight;
    if (!place.silent() || flight.interims_.empty() || flight.purge_number() < waiter.must_see) continue;
    return tell_interims(waiter, flight, nullptr);
  }
}

void LeaderTicket::publish_interim(std::string head) {
  WaiterList chosen;
  {
    std::lock_guard const lock(table_->impl_->shard(hash_).mutex);
    auto& kept = flight_->interims_;
    std::size_t bytes = head.size();
    for (auto const& interim : kept) bytes += interim.size();
    if (published_ || kept.size() >= Flight::max_interims || bytes > Flight::max_interim_bytes) return;
    kept.push_back(std::move(head));
    for (auto const& place : places_) {
      if (!place) continue;
      for (auto& linked : place->slot->waiters) {
        auto& waiter = static_cast<SlotWaiter&>(linked);
        if (flight_->purge_number() >= waiter.must_see) tell_interims(waiter, *flight_, &chosen);
      }
    }
  }
  if (!chosen.empty()) table_->impl_->waker.wake(chosen);
}

std::string FlightTable::interims(SlotWaiter& waiter) {
  std::string out;
  if (!waiter.has_interims.exchange(false, std::memory_order_acq_rel)) return out;
  std::lock_guard const lock(impl_->shard(waiter.hash).mutex);
  auto const& kept = waiter.interim_of->interims_;
  for (; waiter.interims_had < kept.size(); ++waiter.interims_had) out += kept[waiter.interims_had];
  return out;
}

}  // namespace weir::shield
