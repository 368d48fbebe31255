// Where entries live. One interface, every store passes tests/contract. A store keeps, under each primary key: variants
// (entries, each with the selector that chose it), the vary spec (union of the names of live and announced variants), at
// most one hit-for-miss marker, one failure and one invalidation record. Threads: every call from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "weir/base/clock.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/cache/rules.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/http/field.hpp"
#include "weir/store/lease.hpp"

namespace weir::store {

struct Question {
  std::string_view key;    // primary key
  std::uint64_t hash = 0;  // base::hash_bytes(key)
  http::Fields request;    // as it is forwarded: selecting values are read from it
  cache::KeyRules const* rules = nullptr;
  // For `find`: the fetch that asks, its place among those of the process (cache::Facts::began), and its worker.
  std::uint64_t began = 0;
  std::uint16_t worker = 0;
  bool looks_only = false;  // for `peek` by an operator: counts as no use
};

// NEG-1: what is remembered of a failure; status 0: nothing.
struct Failed {
  std::uint16_t status = 0;
  std::uint32_t retry_after = 0;  // seconds; 0: the origin gave none
};

struct Lookup {
  cache::Entry entry;          // of the variants that the request selects, the one fetched last; null: none
  cache::Overrule overrule;    // what was said about it since (SRV-6, purge)
  bool hit_for_miss = false;   // a marker stands, and no live entry fits; a stale one may be beside it
  Failed failed;               // the origin just failed, and nothing is stored that fits
  bool has_vary_spec = false;  // variants are known: the flight's key is the variant key
  bool unchecked = false;      // by `peek`: used without the origin only after `find`, as a shared store may know better
  // `find` in a shared store: the highest purge number that it told of; what is fetched from now on began after it.
  std::uint64_t number = 0;
  std::uint64_t url_number = 0;  // the same of what invalidated its URL, where more than the URL is keyed (SRV-6)
};

// What this process holds under a primary key, for operators.
struct Variant {
  cache::Entry entry;
  cache::Overrule overrule;  // what was said about it under its key (epochs are not in it)
  base::SteadyTime keep_until{};
};
struct Variants {
  std::vector<Variant> entries;     // the one used last first
  std::vector<std::string> vary;    // the spec
  base::SteadyTime marked_until{};  // a hit-for-miss marker; in the past: none
  base::SteadyTime failed_until{};  // NEG-1; in the past: nothing
  Failed failed;
};

enum class Put : std::uint8_t {
  not_newer,  // one that began later, or at the same time, is there (STO-6)
  overruled,  // an invalidation came after its fetch began
  no_room,    // larger than the budget allows
  stored,
};

struct StoreStats {
  std::uint64_t bytes = 0;  // all that counts against the budget, pinned bytes included
  std::uint64_t capacity = 0;
  std::uint64_t entries = 0;
  std::uint64_t evicted_small = 0, evicted_main = 0, expired = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // Answers from this process's memory, without waiting. Counts as a use.
  virtual Lookup peek(Question const& question, base::Now now) noexcept = 0;
  // Answers from wherever entries live; for memory a second `peek`. Never fails: a store that cannot answer says "none".
  virtual boost::asio::awaitable<Lookup> find(Question question, base::Now now) = 0;
  // The names of the vary spec, sorted; empty if there is none. As of the latest `now` that the store was shown.
  virtual std::vector<std::string> vary_spec(std::string_view key, std::uint64_t hash) = 0;

  // Makes the entry visible to `peek` of this node before it returns. Replaces the variant with the same selector; over
  // `max_variants` the least recently used goes. `keep_until`: dropped after that (lifetime, stale windows and `keep`).
  virtual Put put(cache::Entry entry, base::SteadyTime keep_until, std::uint32_t max_variants, base::Now now) noexcept = 0;
  // The spec becomes at least these names, before any variant is stored, until `until`.
  virtual void announce_vary(std::string_view key, std::uint64_t hash, std::vector<std::string> const& names,
                             base::SteadyTime until) noexcept = 0;
  // STO-5. Does nothing where an entry is live under the key: fresh, not `no_cache`, and not overruled.
  virtual void mark_hit_for_miss(std::string_view key, std::uint64_t hash, base::SteadyTime until,
                                 base::Now now) noexcept = 0;
  // NEG-1. Gone when something is stored under the key, or invalidated.
  virtual void remember_failure(std::string_view key, std::uint64_t hash, Failed failed, base::SteadyTime until,
                                base::Now now) noexcept = 0;
  // SRV-6 and purge of one key. All variants with a lower number are overruled by `mode`; `hard` frees them at once. With
  // `record_until` in the future the number is remembered even where nothing is stored, so that a fetch under way cannot
  // store what it began before. The marker goes. Returns how many variants it hit.
  virtual std::size_t invalidate(std::string_view key, std::uint64_t hash, cache::Invalidation mode, std::uint64_t number,
                                 base::SteadyTime record_until, base::Now now) noexcept = 0;

  // Every entry that this process holds, as it stands while this goes on; nothing is held during a call.
  virtual void visit(std::function<void(cache::StoredResponse const&)> const& call) const = 0;

  virtual StoreStats stats() const noexcept = 0;
  // Drops what has passed its keep_until, a bounded number of nodes a call; a worker calls it now and then.
  virtual std::size_t sweep(base::Now now, std::size_t max_nodes = 4096) noexcept = 0;

  // What other nodes are told, where there are any; each returns when it is done or given up, and never fails.

  // Whether `put` alone makes an entry visible on this node. Else it is once `share` has returned.
  virtual bool holds_puts() const noexcept { return true; }
  // What `put` has stored.
  virtual boost::asio::awaitable<void> share(cache::Entry entry, base::SteadyTime keep_until, std::uint32_t max_variants,
                                             std::uint16_t worker);
  // SRV-6: primary keys that `invalidate` was called for with `number`. The number that holds on every node, not below it:
  // what the invalidating answer itself stores carries that.
  virtual boost::asio::awaitable<std::uint64_t> share_invalidation(std::vector<std::string> keys, cache::Invalidation mode,
                                                                   std::uint64_t number, std::uint16_t worker);
  // PRG-1: epochs that hold here already under `number`.
  virtual void share_purge(std::vector<cache::Tag> tags, cache::Invalidation mode, std::uint64_t number) noexcept;
  // COA-11: waits for the turn to fetch. A store of one node lets everyone go on.
  virtual boost::asio::awaitable<Turn> take_turn(TurnRequest request);
  // Nothing is on its way that nobody waits for; a drain waits for that.
  virtual bool is_idle() const noexcept { return true; }

  // For operators: changes nothing, and counts as no use.
  virtual Variants variants(std::string_view key, std::uint64_t hash, base::Now now) const = 0;
};

}  // namespace weir::store
