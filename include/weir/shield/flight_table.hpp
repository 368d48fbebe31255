// The heart (SPEC section 6): which requests wait for which fetch. A slot is the place of a key; it owns the fetches under
// way for that key and the requests that wait for a head. 64 shards by primary-key hash, one mutex each, never held across
// a call out; waiters are chosen under it and woken after it. Join and leave of followers allocate nothing. Knows neither
// store nor socket nor clock. Owner: the daemon; outlives the workers. Threads: any. Lock order: shard, then flight.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/cache/purge_number.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/shield/flight.hpp"
#include "weir/shield/waiter.hpp"

namespace weir::shield {

struct CoalesceRules {
  std::uint32_t max_waiters = 10'000;  // on one slot (COA-15)
  std::uint32_t max_flights = 16'384;
  base::Duration leader_max_age = std::chrono::seconds(10);  // COA-3
  std::uint32_t max_fetches_per_slot = 3;                    // of those that a newcomer may wait for
};

// What a waiter is told. Written by the waker before the waiter is chosen.
enum class Told : std::uint8_t {
  nothing,
  failed,      // `failure`; nobody tries again at once (COA-5)
  reenter,     // cannot be shared with this waiter: look up again, once (COA-5)
  by_variant,  // a vary spec is known now: look up again by variant key; does not count as the one re-entry
  entry,       // `entry` was found in the store, or freshened by a 304 (`validated`); apply your own reuse rules
  head,        // `flight` has a head: read it
};

// Can be joined again once it is free. `worker`, `resume` and `context` are its owner's to set.
struct SlotWaiter : Waiter {
  ~SlotWaiter() { let_go(); }

  Told told = Told::nothing;
  bool leader = false;     // while it waits: caused a fetch of the slot; once told: caused the one that answers
  bool validated = false;  // for `entry`: the origin said 304 (fwd-status 304)
  Failure failure;
  cache::Entry entry;
  Interest flight;                       // for `head`; move it into a Reader, or let go of it when there is nothing to read
  std::uint64_t waits_since_number = 0;  // the purge number when it came (COA-14); set by join
  // SRV-7: true when `interims` has something. While it is linked, `interim` is chosen then too; its owner sets it up as it
  // does this waiter (without `resume` it stays free), and waits for it where it was chosen.
  std::atomic<bool> has_interims{false};
  Waiter interim;

  // The table's own; set by join.
  void* slot = nullptr;
  std::uint64_t hash = 0;
  std::uint64_t must_see = 0;    // a fetch that took a lower purge number began too early for it (COA-14)
  std::uint64_t came_after = 0;  // the newest fetch of the process that had begun when it came
  std::uint64_t leads = 0;       // Flight::began of the fetch it caused; 0: none
  bool may_lead = true;          // as its key said
  base::Ref<Flight> interim_of;  // SRV-7: whose interim responses it is told, and how many it has had
  std::size_t interims_had = 0;
};

class FlightTable;
struct Slot;   // the table's own
struct Place;  // a flight in a slot; the table's own

// The fetch's hold on its place(s) in the table. Move-only. Its destructor is the failure path: who still waits is told
// `failed(internal)` if nothing was published, a growing body is finished as broken, the places are given back.
class LeaderTicket {
 public:
  LeaderTicket() noexcept;
  LeaderTicket(LeaderTicket&& other) noexcept;
  LeaderTicket& operator=(LeaderTicket&& other) noexcept;
  ~LeaderTicket();

  explicit operator bool() const noexcept { return flight_ != nullptr; }
  Flight& flight() const noexcept { return *flight_; }
  base::Ref<Flight> const& flight_ref() const noexcept { return flight_; }

  // The flight also answers for this variant key from now on (its request has these selecting values). Once; does nothing if
  // another flight is there, or if it takes no newcomers. Throws std::bad_alloc, then nothing has changed.
  void also_answers(std::string_view selector);

  // SRV-6: from now on the flight counts as begun after the invalidation `number`, which its own response has caused: only
  // later ones overrule it. Returns its place in the order in which fetches began.
  std::uint64_t begins_again(std::uint64_t number) noexcept;

  // SRV-7: an interim response, ready to be sent, for all who wait on its slots, and for those who come before it publishes.
  // More than a flight keeps (`Flight::max_interims`) is dropped.
  void publish_interim(std::string head);

  // Permit taken, request about to be sent: COA-3's clock starts.
  void started(base::SteadyTime now) noexcept;

  // Exactly one of these, once, tells everyone on the slot (all places). `publish_head` needs `flight().set_head` before.
  //   shareable:      all waiters get `head`; the flight stays joinable if the head says so, else takes no newcomers
  //   not shareable:  the leader gets `head`, the others `reenter`; no newcomers. If the leader has gone, nobody reads
  //   origin_error:   all waiters get `head` (whoever reads decides what it may show); no newcomers
  // An answer that is to be stored keeps its places, closed, until `leave`, so that `overrule` still finds it.
  // "All waiters" are those who came before every invalidation that the fetch missed (COA-14). An error (a failure or an
  // origin_error) is told only to those who have no other fetch to wait for (COA-4); who caused another fetch that is under
  // way waits for its own rather than re-enter.
  void publish_head() noexcept;
  void publish_entry(cache::Entry entry, bool validated) noexcept;  // leaves the slot
  void publish_by_variant() noexcept;                               // leaves the slot
  void publish_failure(Failure failure) noexcept;                   // leaves the slot

  // Whether anybody waits on its slots or reads it (COA-2, FWD-7).
  bool wanted() const noexcept;
  // Newcomers cannot join any more (COA-9 outgrown); waiters and readers stay.
  void close_to_newcomers() noexcept;
  // The entry is visible to look-ups (or there will be none): the places are given back. Idempotent. Who leaves without a
  // word has failed.
  void leave() noexcept;

 private:
  friend class FlightTable;
  struct News;
  void tell(News const& news) noexcept;
  void tell_slot(Place& place, News const& news, WaiterList& chosen) noexcept;
  void uncount() noexcept;
  void end() noexcept;

  FlightTable* table_ = nullptr;
  base::Ref<Flight> flight_;
  Interest interest_;  // until it has published
  std::uint64_t hash_ = 0;
  bool published_ = false;
  bool counted_ = false;  // in FlightTable::flights
  std::array<std::unique_ptr<Place>, 2> places_;
};

struct FlightKey {
  std::string_view primary;
  std::uint64_t hash = 0;      // of `primary`
  std::string_view selector;   // encoded selecting values for the known vary spec; empty if there is none
  std::uint64_t must_see = 0;  // highest number of a purge that applies to this key by URL, prefix, site or all (COA-14)
  bool may_lead = true;        // false: only joins what others caused (SRV-5: a request with no-store)
};

enum class Joined : std::uint8_t {
  overflow,      // too many wait, or too many flights (COA-15)
  may_not_lead,  // nothing to join, and `may_lead` is false
  read_now,      // a joinable head is there: `flight`
  waiting,       // the waiter is linked
  leading,       // the waiter is linked and this request must start the fetch with `ticket`
};

struct JoinResult {
  Joined joined = Joined::overflow;
  Interest flight;  // for `read_now`; move it into a Reader
  LeaderTicket ticket;
  bool replaces = false;  // leading: because the newest fetch of the slot is overdue (COA-3)
};

struct FlightRow {  // for /v1/flights
  std::string key;  // primary key bytes
  std::uint32_t waiters = 0;
  std::uint32_t fetches = 0;   // under way, those that take no newcomers too
  std::uint64_t received = 0;  // body bytes of the newest
  bool head = false;
  std::optional<base::SteadyTime> started;
};

// What a newcomer would find; nothing is done.
struct Foreseen {
  Joined joined = Joined::overflow;
  std::uint32_t waiters = 0;                // on the slot
  std::uint32_t fetches = 0;                // under way there that this newcomer may use
  std::uint64_t received = 0;               // body bytes of the newest of them
  bool head = false;                        // it has one
  std::optional<base::SteadyTime> started;  // it, with its permit
};

class FlightTable {
 public:
  FlightTable(Waker& waker, cache::MemoryAccount& account, cache::PurgeNumber& purges);
  ~FlightTable();  // asserts that it is empty

  // The only way in for a request. One that finds no fetch under way that it may use leads, also one that finds the newest
  // overdue (COA-3). The flight takes its purge number here. Allocates only when it leads. Throws std::bad_alloc, then
  // nothing has changed.
  JoinResult join(FlightKey const& key, SlotWaiter& waiter, std::uint16_t worker, CoalesceRules const& rules,
                  base::SteadyTime now);

  // What `join` would say now; joins nothing.
  Foreseen foresee(FlightKey const& key, CoalesceRules const& rules, base::SteadyTime now) const;

  // FWD-7: work for nobody, with its permit in hand. Nothing where a fetch is under way that a newcomer could use, or where
  // max_flights are: then there is nothing to do. Who joins the flight makes it foreground. Throws std::bad_alloc.
  std::optional<LeaderTicket> lead_for_nobody(FlightKey const& key, std::uint16_t worker, CoalesceRules const& rules,
                                              base::SteadyTime now);

  // COA-4: still waiting and its patience is over: starts a replacement if COA-3 allows, with the waiter staying linked.
  // Nothing if another request did, if it may not lead, or if the waiter was chosen meanwhile. Throws std::bad_alloc.
  std::optional<LeaderTicket> replace_overdue(SlotWaiter& waiter, std::uint16_t worker, CoalesceRules const& rules,
                                              base::SteadyTime now);

  // For a waiter whose timer or cancellation came first: true if it was linked (and now is free and gone from the slot);
  // false: it is chosen, its post is on the way. Not for one that was resumed already: look at its state first.
  bool cancel(SlotWaiter& waiter) noexcept;

  // A fetch that nobody may join, in a slot that nobody finds: published, overruled and left like any other, as its answer
  // may be stored. The waiter is linked. Not bounded by max_flights (the limiter bounds it), not counted in `flights`.
  // Throws std::bad_alloc, then nothing has changed.
  LeaderTicket alone(FlightKey const& key, SlotWaiter& waiter, std::uint16_t worker);

  // SRV-7: the interim responses that the waiter has not had yet, one behind the other. By its owner.
  std::string interims(SlotWaiter& waiter);

  // COA-14, SRV-6: flights under way for the primary key (all variants, and alone) that began below `number` take no
  // newcomers and store nothing. Returns how many. `number` was taken from the table's PurgeNumber before the call.
  std::size_t overrule(std::string_view primary, std::uint64_t hash, std::uint64_t number) noexcept;

  std::size_t flights() const noexcept { return count_.load(std::memory_order_relaxed); }
  std::size_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }
  std::uint32_t waiters_of(std::string_view primary, std::uint64_t hash) const;  // over all its slots; for tests and gates
  std::vector<FlightRow> rows(std::size_t at_most) const;

 private:
  friend class LeaderTicket;
  struct Impl;
  // `lead` and `wait_on` under the mutex of the slot's shard. `in_background`: joined, and until now for nobody.
  LeaderTicket lead(Slot& slot, base::Ref<Flight> flight, std::unique_ptr<Place> place, std::uint64_t hash) noexcept;
  JoinResult join_slot(FlightKey const& key, SlotWaiter& waiter, std::uint16_t worker, CoalesceRules const& rules,
                       base::SteadyTime now, base::Ref<Flight>& in_background);
  void wait_on(Slot& slot, SlotWaiter& waiter, std::uint64_t must_see) noexcept;
  std::unique_ptr<Impl> impl_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> waiting_{0};
};

}  // namespace weir::shield
