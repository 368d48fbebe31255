#include "weir/shield/flight_table.hpp"

#include <algorithm>
#include <utility>

#include "slot.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/hash.hpp"

namespace weir::shield {
namespace {

std::uint64_t slot_hash(FlightKey const& key) noexcept {
  if (key.selector.empty()) return key.hash;
  return key.hash ^ (base::hash_bytes(key.selector) * 0x9E3779B97F4A7C15U);
}

bool unlink_slot_waiter(Waiter& waiter) noexcept {
  return static_cast<FlightTable*>(waiter.where)->cancel(static_cast<SlotWaiter&>(waiter));
}

void begin_waiting(SlotWaiter& waiter, FlightKey const& key) noexcept {
  waiter.told = Told::nothing;
  waiter.leader = waiter.validated = false;
  waiter.failure = {};
  waiter.entry.reset();
  waiter.flight.reset();
  waiter.slot = nullptr;
  waiter.hash = key.hash;
  waiter.leads = 0;
  waiter.may_lead = key.may_lead;
  waiter.has_interims.store(false, std::memory_order_relaxed);
  waiter.interim_of.reset();
}

void lead_by(SlotWaiter& waiter, LeaderTicket const& ticket) noexcept {
  waiter.leader = true;
  waiter.leads = ticket.flight().began();
}

// COA-3. A body that is complete keeps nobody waiting.
bool overdue(Place const& place, base::Duration age, base::SteadyTime now) noexcept {
  if (place.silent()) {
    auto const started = place.flight->started();
    return started && now - *started >= age;
  }
  auto const progressed = place.flight->progressed();
  return place.flight->body_state() == BodyState::growing && progressed && now - *progressed >= age;
}

// What a slot has for somebody who must see every purge up to a number.
struct Offer {
  Place const* newest = nullptr;  // null: nothing; whoever comes leads
  Flight* readable = nullptr;     // with a head, and bytes are coming (or all there)
  Flight* stalled = nullptr;      // with a head, but its body is overdue
  bool head_awaited = false;      // a fetch that has not spoken yet
  std::uint32_t under_way = 0;
};

Offer look(Slot const& slot, std::uint64_t must_see, base::Duration age, base::SteadyTime now) noexcept {
  Offer offer;
  for (auto const& place : slot.places) {
    auto& flight = *place.flight;
    if (flight.purge_number() < must_see) continue;
    if (place.state == PlaceState::closed || place.state == PlaceState::silent_closed) continue;
    if (place.state == PlaceState::open && flight.body_state() == BodyState::broken) continue;
    if (!offer.newest) offer.newest = &place;
    ++offer.under_way;
    if (place.state == PlaceState::silent)
      offer.head_awaited = true;
    else if (overdue(place, age, now))
      offer.stalled = offer.stalled ? offer.stalled : &flight;
    else if (!offer.readable)
      offer.readable = &flight;
  }
  return offer;
}

// COA-3: one start in each period, so many under way.
bool may_replace(Slot const& slot, Offer const& offer, CoalesceRules const& rules, base::SteadyTime now) noexcept {
  return overdue(*offer.newest, rules.leader_max_age, now) && now - slot.last_start >= rules.leader_max_age &&
         offer.under_way < rules.max_fetches_per_slot;
}

// The rule of `join`, apart from the bound on all flights.
Joined decide(Slot const* slot, Offer const& offer, FlightKey const& key, CoalesceRules const& rules, bool may_add,
              base::SteadyTime now) noexcept {
  if (offer.readable) return Joined::read_now;
  bool const crowded = (slot ? slot->waiting : 0) >= rules.max_waiters;
  if (may_add && !crowded && key.may_lead && (!offer.newest || may_replace(*slot, offer, rules, now)))
    return Joined::leading;
  if (offer.head_awaited && !crowded) return Joined::waiting;
  // No other may be started yet, and its head has been told: there is nothing to wait for but its bytes.
  if (offer.stalled) return Joined::read_now;
  return !key.may_lead && !offer.head_awaited ? Joined::may_not_lead : Joined::overflow;
}

// One more flight, exact over all shards; given back unless kept.
class Reservation {
 public:
  Reservation(std::atomic<std::size_t>& count, std::size_t most) noexcept
      : count_(count), granted_(count.fetch_add(1, std::memory_order_relaxed) < most) {}
  ~Reservation() {
    if (!kept_) count_.fetch_sub(1, std::memory_order_relaxed);
  }
  Reservation(Reservation const&) = delete;
  Reservation& operator=(Reservation const&) = delete;
  bool granted() const noexcept { return granted_; }
  void keep() noexcept { kept_ = true; }

 private:
  std::atomic<std::size_t>& count_;
  bool granted_;
  bool kept_ = false;
};

}  // namespace

Slot* Shard::find(FlightKey const& key) const noexcept {
  auto const [begin, end] = slots.equal_range(slot_hash(key));
  for (auto it = begin; it != end; ++it) {
    auto& slot = *it->second;
    if (slot.found && slot.primary == key.primary && slot.selector == key.selector) return &slot;
  }
  return nullptr;
}

Slot& Shard::add(FlightKey const& key, bool found) {
  auto slot = std::make_unique<Slot>();
  slot->primary = key.primary;
  slot->selector = key.selector;
  slot->hash = slot_hash(key);
  slot->found = found;
  return *slots.emplace(slot->hash, std::move(slot))->second;
}

void Shard::drop_if_empty(Slot& slot) noexcept {
  if (!slot.places.empty() || !slot.waiters.empty()) return;
  auto const [begin, end] = slots.equal_range(slot.hash);
  slots.erase(std::find_if(begin, end, [&](auto const& item) { return item.second.get() == &slot; }));
}

void Shard::remove(std::unique_ptr<Place>& place) noexcept {
  auto& slot = *place->slot;
  slot.places.erase(slot.places.iterator_to(*place));
  place.reset();
  drop_if_empty(slot);
}

base::Ref<Flight> FlightTable::Impl::make_flight(std::uint16_t worker, std::uint64_t must_see) {
  auto const number = std::max(purges.current(), must_see);
  return base::Ref<Flight>(new Flight(waker, account, worker, number, began.fetch_add(1, std::memory_order_relaxed) + 1));
}

FlightTable::FlightTable(Waker& waker, cache::MemoryAccount& account, cache::PurgeNumber& purges)
    : impl_(new Impl{.waker = waker, .account = account, .purges = purges}) {}

FlightTable::~FlightTable() {
  for (auto const& shard : impl_->shards) WEIR_ASSERT(shard.slots.empty());
}

// Nothing in here throws: all memory is there.
LeaderTicket FlightTable::lead(Slot& slot, base::Ref<Flight> flight, std::unique_ptr<Place> place,
                               std::uint64_t hash) noexcept {
  place->slot = &slot;
  place->flight = flight.get();
  slot.places.push_front(*place);
  LeaderTicket ticket;
  ticket.table_ = this;
  ticket.flight_ = std::move(flight);
  ticket.interest_ = Interest(ticket.flight_);
  ticket.hash_ = hash;
  ticket.places_[0] = std::move(place);
  return ticket;
}

void FlightTable::wait_on(Slot& slot, SlotWaiter& waiter, std::uint64_t must_see) noexcept {
  waiter.slot = &slot;
  waiter.must_see = must_see;
  offer_interims(slot, waiter);
  link(slot.waiters, waiter, &unlink_slot_waiter, this);
  ++slot.waiting;
  waiting_.fetch_add(1, std::memory_order_relaxed);
}

JoinResult FlightTable::join(FlightKey const& key, SlotWaiter& waiter, std::uint16_t worker, CoalesceRules const& rules,
                             base::SteadyTime now) {
  begin_waiting(waiter, key);
  base::Ref<Flight> in_background;
  auto result = join_slot(key, waiter, worker, rules, now, in_background);
  if (in_background) in_background->tell_interest();  // it is for somebody now (FWD-7)
  return result;
}

JoinResult FlightTable::join_slot(FlightKey const& key, SlotWaiter& waiter, std::uint16_t worker, CoalesceRules const& rules,
                                  base::SteadyTime now, base::Ref<Flight>& in_background) {
  auto& shard = impl_->shard(key.hash);
  std::lock_guard const lock(shard.mutex);
  waiter.waits_since_number = impl_->purges.current();
  waiter.came_after = impl_->began.load(std::memory_order_relaxed);

  auto* slot = shard.find(key);
  auto const must_see = std::max(key.must_see, slot ? slot->overruled_below : 0);
  auto const offer = slot ? look(*slot, must_see, rules.leader_max_age, now) : Offer{};
  JoinResult result;
  if (offer.newest && offer.newest->flight->take_from_background()) in_background = base::Ref<Flight>(offer.newest->flight);
  result.joined = decide(slot, offer, key, rules, true, now);
  result.replaces = result.joined == Joined::leading && offer.newest;
  if (result.joined == Joined::leading) {
    Reservation reserved(count_, rules.max_flights);
    if (reserved.granted()) {
      auto flight = impl_->make_flight(worker, must_see);
      auto place = std::make_unique<Place>();
      if (!slot) slot = &shard.add(key, true);
      reserved.keep();
      result.ticket = lead(*slot, std::move(flight), std::move(place), key.hash);
      result.ticket.counted_ = true;
      lead_by(waiter, result.ticket);
      slot->last_start = now;
      wait_on(*slot, waiter, must_see);
      return result;
    }
    result.joined = decide(slot, offer, key, rules, false, now);
  }
  if (result.joined == Joined::waiting) wait_on(*slot, waiter, must_see);
  if (result.joined == Joined::read_now) result.flight = Interest(offer.readable ? offer.readable : offer.stalled);
  return result;
}

Foreseen FlightTable::foresee(FlightKey const& key, CoalesceRules const& rules, base::SteadyTime now) const {
  auto const& shard = std::as_const(*impl_).shard(key.hash);
  std::lock_guard const lock(shard.mutex);
  auto const* slot = shard.find(key);
  auto const must_see = std::max(key.must_see, slot ? slot->overruled_below : 0);
  auto const offer = slot ? look(*slot, must_see, rules.leader_max_age, now) : Offer{};
  Foreseen foreseen;
  foreseen.joined = decide(slot, offer, key, rules, flights() < rules.max_flights, now);
  if (slot) foreseen.waiters = slot->waiting;
  foreseen.fetches = offer.under_way;
  if (!offer.newest) return foreseen;
  foreseen.received = offer.newest->flight->size();
  foreseen.head = !offer.newest->silent();
  foreseen.started = offer.newest->flight->started();
  return foreseen;
}

std::optional<LeaderTicket> FlightTable::lead_for_nobody(FlightKey const& key, std::uint16_t worker,
                                                         CoalesceRules const& rules, base::SteadyTime now) {
  auto& shard = impl_->shard(key.hash);
  std::lock_guard const lock(shard.mutex);
  auto* slot = shard.find(key);
  auto const must_see = std::max(key.must_see, slot ? slot->overruled_below : 0);
  if (slot && look(*slot, must_see, rules.leader_max_age, now).newest) return std::nullopt;
  Reservation reserved(count_, rules.max_flights);
  if (!reserved.granted()) return std::nullopt;
  auto flight = impl_->make_flight(worker, must_see);
  flight->begin_in_background();
  auto place = std::make_unique<Place>();
  if (!slot) slot = &shard.add(key, true);
  reserved.keep();
  auto ticket = lead(*slot, std::move(flight), std::move(place), key.hash);
  ticket.counted_ = true;
  slot->last_start = now;
  return ticket;
}

std::optional<LeaderTicket> FlightTable::replace_overdue(SlotWaiter& waiter, std::uint16_t worker,
                                                         CoalesceRules const& rules, base::SteadyTime now) {
  auto& shard = impl_->shard(waiter.hash);
  std::lock_guard const lock(shard.mutex);
  if (waiter.state.load(std::memory_order_relaxed) != WaiterState::linked) return std::nullopt;
  auto& slot = *static_cast<Slot*>(waiter.slot);
  if (!slot.found || !waiter.may_lead) return std::nullopt;
  auto const offer = look(slot, waiter.must_see, rules.leader_max_age, now);
  if (!offer.newest || offer.newest->flight->began() > waiter.came_after || !may_replace(slot, offer, rules, now))
    return std::nullopt;
  Reservation reserved(count_, rules.max_flights);
  if (!reserved.granted()) return std::nullopt;
  auto flight = impl_->make_flight(worker, std::max(waiter.must_see, slot.overruled_below));
  auto place = std::make_unique<Place>();
  reserved.keep();
  auto ticket = lead(slot, std::move(flight), std::move(place), waiter.hash);
  ticket.counted_ = true;
  lead_by(waiter, ticket);
  slot.last_start = now;
  return ticket;
}

LeaderTicket FlightTable::alone(FlightKey const& key, SlotWaiter& waiter, std::uint16_t worker) {
  begin_waiting(waiter, key);
  auto& shard = impl_->shard(key.hash);
  std::lock_guard const lock(shard.mutex);
  waiter.waits_since_number = impl_->purges.current();
  waiter.came_after = impl_->began.load(std::memory_order_relaxed);
  auto flight = impl_->make_flight(worker, key.must_see);
  auto place = std::make_unique<Place>();
  auto& slot = shard.add(key, false);
  auto ticket = lead(slot, std::move(flight), std::move(place), key.hash);
  lead_by(waiter, ticket);
  wait_on(slot, waiter, key.must_see);
  return ticket;
}

bool FlightTable::cancel(SlotWaiter& waiter) noexcept {
  base::Ref<Flight> left;  // by its only requester (COA-2)
  {
    auto& shard = impl_->shard(waiter.hash);
    std::lock_guard const lock(shard.mutex);
    if (waiter.state.load(std::memory_order_relaxed) != WaiterState::linked) return false;
    auto& slot = *static_cast<Slot*>(waiter.slot);
    unlink_if_linked(slot.waiters, waiter);
    --slot.waiting;
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    if (!slot.found && !slot.places.empty()) left = base::Ref<Flight>(slot.places.front().flight);
    shard.drop_if_empty(slot);
  }
  if (left) left->tell_interest();
  return true;
}

std::size_t FlightTable::overrule(std::string_view primary, std::uint64_t hash, std::uint64_t number) noexcept {
  std::size_t overruled = 0;
  auto& shard = impl_->shard(hash);
  std::lock_guard const lock(shard.mutex);
  for (auto const& [_, slot] : shard.slots) {
    if (slot->primary != primary) continue;
    slot->overruled_below = std::max(slot->overruled_below, number);
    for (auto const& place : slot->places) {
      if (place.flight->purge_number() >= number) continue;
      // A flight with two places is one.
      if (!place.flight->overruled()) ++overruled;
      place.flight->overrule();
    }
  }
  return overruled;
}

std::uint32_t FlightTable::waiters_of(std::string_view primary, std::uint64_t hash) const {
  std::uint32_t waiters = 0;
  auto const& shard = std::as_const(*impl_).shard(hash);
  std::lock_guard const lock(shard.mutex);
  for (auto const& [_, slot] : shard.slots)
    if (slot->primary == primary) waiters += slot->waiting;
  return waiters;
}

std::vector<FlightRow> FlightTable::rows(std::size_t at_most) const {
  std::vector<FlightRow> rows;
  for (auto const& shard : impl_->shards) {
    std::lock_guard const lock(shard.mutex);
    for (auto const& [_, slot] : shard.slots) {
      if (rows.size() == at_most) return rows;
      if (slot->places.empty()) continue;
      auto const& newest = slot->places.front();
      FlightRow row;
      row.key = slot->primary;
      row.waiters = slot->waiting;
      row.fetches = static_cast<std::uint32_t>(slot->places.size());
      row.received = newest.flight->size();
      row.head = !newest.silent();
      row.started = newest.flight->started();
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace weir::shield
