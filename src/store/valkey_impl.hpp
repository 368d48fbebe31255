// The shared store from inside; valkey_store.hpp says what it is for. valkey_store.cpp has the near tier and the calls,
// valkey_find.cpp the look-up, valkey_share.cpp what other nodes are told, valkey_news.cpp what they tell.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "check_table.hpp"
#include "key_state.hpp"
#include "scripts.hpp"
#include "valkey_link.hpp"
#include "weir/store/record.hpp"
#include "weir/store/valkey_store.hpp"

namespace weir::store {

struct ValkeyStore::Impl {
  Impl(ValkeyRules r, cache::MemoryAccount& account, cache::PurgeNumber& p, cache::Epochs& e);

  struct WorkerLinks {
    asio::io_context* io = nullptr;
    std::shared_ptr<ValkeyLink> reads, writes;
  };

  // Names in the server.
  std::string name(std::string_view what) const { return rules.prefix + std::string(what); }
  std::string key_name(std::string_view key) const;
  static std::string record_name(std::string const& key_name, std::string_view variant);
  static std::string variant_of(std::string_view selector);

  WorkerLinks& links(std::uint16_t worker) noexcept { return workers[worker % workers.size()]; }
  void count(StoreOperation operation) noexcept { errors[static_cast<std::size_t>(operation)].fetch_add(1); }
  base::Duration limit_for(std::size_t bytes) const noexcept;
  std::int64_t server_ms(base::SteadyTime now) const noexcept { return to_there(clock.moment(), now) / 1000; }
  // Null arguments, an error among the replies or another shape than asked for: nothing, counted.
  asio::awaitable<std::vector<Reply>> ask(std::shared_ptr<ValkeyLink> link, Commands commands, base::Duration limit,
                                          StoreOperation operation);

  void note_failure(ValkeyLink const& link, Answers const& answers);

  // Of an entry as it stands in the near tier: VAL-2's check.
  static std::uint64_t check_id(cache::StoredResponse const& entry, std::uint64_t hash) noexcept;
  base::Duration longest_unasked() const noexcept { return std::max(rules.near_ttl, rules.offline_ttl); }
  bool was_checked(cache::StoredResponse const& entry, std::uint64_t hash, base::Duration within,
                   base::SteadyTime now) const;
  Lookup hide_unchecked(Lookup found, std::uint64_t hash, bool offline, base::Now now) const;

  asio::awaitable<Lookup> find(Question question, base::Now now);
  struct Asked;
  asio::awaitable<bool> ask_for_key(Asked& asked);
  asio::awaitable<void> ask_for_record(Asked& asked);
  void note_state(Asked const& asked);
  void choose_variant(Asked& asked);
  Lookup conclude(Asked& asked);

  // PRG-1. A number that the server has, or had.
  void heard_of(std::uint64_t number) noexcept;
  asio::awaitable<bool> catch_up(std::shared_ptr<ValkeyLink> link);
  bool apply(Reply const& page, std::uint64_t& from, bool& more);
  asio::awaitable<void> poll();
  asio::awaitable<void> look(base::Duration limit);
  asio::awaitable<void> raise();
  asio::awaitable<bool> flush();
  void hear(Reply const& message);
  void look_now();

  // COA-11.
  struct LeaseWaiter;
  struct HeldLease;
  // A waiter's place in the list of those who hear what is announced.
  class Listed {
   public:
    Listed(Impl& impl, std::string name, std::shared_ptr<LeaseWaiter> waiter);
    ~Listed();
    Listed(Listed const&) = delete;
    Listed& operator=(Listed const&) = delete;

   private:
    Impl& impl_;
    std::string name_;
    std::shared_ptr<LeaseWaiter> waiter_;
  };
  asio::awaitable<Turn> take_turn(TurnRequest request);
  Lease hold(std::shared_ptr<HeldLease> const& held, WorkerLinks& worker);
  void announced(std::string_view text);
  void count(LeaseResult result) noexcept { lease_results[static_cast<std::size_t>(result)].fetch_add(1); }

  // Work that nobody waits for, but a drain.
  struct Busy;
  void spawn(asio::io_context& io, asio::awaitable<void> work, StoreOperation operation) noexcept;

  // What the server was not told yet (VAL-3): purges and invalidations made while it was away. Until it is told, this node
  // believes nothing that it says.
  struct Untold {
    std::vector<std::string> keys;  // names of key records; or else
    std::vector<cache::Tag> tags;
    cache::Invalidation mode = cache::Invalidation::invalid;
  };
  void remember(std::optional<Untold> untold) noexcept;
  void tell_everything() noexcept;
  bool has_untold() const noexcept { return untold_count.load(std::memory_order_acquire) > 0; }
  std::vector<Untold> oldest_untold(std::uint64_t& collapsed);
  void tell(Untold const& untold, Commands& commands) const;
  void apply_told(std::vector<Untold> const& told, std::vector<Reply> const& replies);
  void forget_told(std::size_t count, std::uint64_t collapsed);

  ValkeyRules const rules;
  std::atomic<base::Duration> remember_invalidations{rules.remember_invalidations};
  cache::PurgeNumber& purges;
  cache::Epochs& epochs;
  cache::MemoryAccount& account;
  LinkRules link_rules;
  ServerClock clock;
  Guard guard;
  MemoryStore near;
  CheckTable checks;
  std::vector<WorkerLinks> workers;
  std::shared_ptr<ValkeyLink> control, subscriber;  // the first worker's; not guarded
  std::unique_ptr<asio::basic_waitable_timer<base::Clock>> poll_timer;
  bool subscribed = false;                // the first worker's
  bool news = false;                      // the first worker's: there is something to look at now
  std::atomic<std::uint64_t> applied{0};  // the newest epoch of the server that holds here
  std::atomic<std::uint64_t> heard{0};    // the highest number that the server ever told of
  std::array<std::atomic<std::uint64_t>, store_operation_count> errors{};
  std::array<std::atomic<std::uint64_t>, lease_result_count> lease_results{};
  std::atomic<std::size_t> busy{0};  // with what nobody waits for
  // Work that its loop destroys after this store sees by it that there is nobody to tell.
  std::shared_ptr<char> const there = std::make_shared<char>();
  std::mutex lease_mutex;  // guards `lease_waiters`
  std::multimap<std::string, std::shared_ptr<LeaseWaiter>, std::less<>> lease_waiters;
  std::mutex untold_mutex;  // guards `untold`, `everything`, `untold_collapsed`
  std::list<Untold> untold;
  // A purge of all, which takes the place of what there is no room or no memory for. Empty: it is the first of `untold`.
  std::list<Untold> everything{{{}, {cache::tag_of_all()}, cache::Invalidation::hard}};
  std::uint64_t untold_collapsed = 0;  // how often all of `untold` became a purge of all
  std::atomic<std::size_t> untold_count{0};
  std::atomic<bool> reachable{false};  // the server answered the last look
  // The last look had no answer, or what was to be told could not be: look-ups do not ask, so the guard hears of nothing.
  std::atomic<bool> away{false};
  mutable std::mutex why_mutex;  // guards `why`
  std::string why;               // the last failure
};

}  // namespace weir::store
