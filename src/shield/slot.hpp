// The inside of the flight table: shards of slots, and in each slot the flights under way and the waiters. All of it under
// its shard's mutex. Invariant: whoever is linked on a slot has a fetch there that has not spoken yet and may answer it.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "weir/shield/flight_table.hpp"

namespace weir::shield {

enum class PlaceState : std::uint8_t {
  silent,         // nothing published yet; newcomers wait
  silent_closed,  // nothing published yet; newcomers do not count on it
  open,           // a head is there; newcomers read
  closed,         // published, no newcomers; kept so that `overrule` finds it
};

struct Place {
  base::ListHook hook;
  Slot* slot = nullptr;
  Flight* flight = nullptr;  // kept alive by its ticket
  PlaceState state = PlaceState::silent;
  bool silent() const noexcept { return state == PlaceState::silent || state == PlaceState::silent_closed; }
};

struct Slot {
  std::string primary;
  std::string selector;
  std::uint64_t hash = 0;  // of both
  bool found = true;       // false: of a flight that nobody may join
  std::uint64_t overruled_below = 0;
  base::SteadyTime last_start{};
  base::List<Place, &Place::hook> places;  // the newest first
  WaiterList waiters;
  std::uint32_t waiting = 0;
};

// SRV-7: the newest fetch that has not spoken yet but has said something on the way. Under the mutex of the slot's shard.
void offer_interims(Slot const& slot, SlotWaiter& waiter) noexcept;

struct alignas(64) Shard {
  mutable std::mutex mutex;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<Slot>> slots;  // by Slot::hash; bounded by max_flights and permits

  Slot* find(FlightKey const& key) const noexcept;
  Slot& add(FlightKey const& key, bool found);
  void drop_if_empty(Slot& slot) noexcept;
  // Gives a place back, and the slot with its last.
  void remove(std::unique_ptr<Place>& place) noexcept;
};

struct FlightTable::Impl {
  Waker& waker;
  cache::MemoryAccount& account;
  cache::PurgeNumber& purges;
  std::atomic<std::uint64_t> began{0};
  std::array<Shard, 64> shards{};

  Shard& shard(std::uint64_t hash) noexcept { return shards[hash >> 58]; }
  Shard const& shard(std::uint64_t hash) const noexcept { return shards[hash >> 58]; }
  base::Ref<Flight> make_flight(std::uint16_t worker, std::uint64_t must_see);
};

}  // namespace weir::shield
