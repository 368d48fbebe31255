// One cache for many nodes (VAL-1 to VAL-3): a Valkey or Redis server, and a near tier in this process's memory. What is in
// the near tier is used without a question for `near_ttl` after it was last checked, and for `offline_ttl` while the server
// cannot be asked; everything else is asked of the server by `find`. Whatever state the server is in, no call fails, and
// none takes longer than its time limit. Numbers of purges are the server's, so that no node's clock matters (PRG-1). Owner:
// the daemon. Threads: any, after every worker was attached; questions run on the worker that asks.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "weir/cache/epochs.hpp"
#include "weir/cache/purge_number.hpp"
#include "weir/store/guard.hpp"
#include "weir/store/memory_store.hpp"
#include "weir/store/store.hpp"

namespace weir::store {

struct ValkeyRules {
  std::string host, port;  // of the server; unused with `unix_path`
  std::string unix_path;
  std::string username, password;  // empty: no AUTH
  std::uint32_t database = 0;
  std::string prefix = "weir:";
  std::uint64_t max_object = std::uint64_t{1} << 20U;      // bytes of a body; larger ones stay near
  base::Duration timeout = std::chrono::milliseconds(50);  // of a question, and 1 ms for each 64 KiB
  std::uint64_t near_bytes = std::uint64_t{64} << 20U;     // 0: no near tier
  base::Duration near_ttl = std::chrono::seconds(1), offline_ttl = std::chrono::seconds(60);
  // Longer than an unchecked entry is used anywhere, and than a fetch at another node may take.
  base::Duration remember_invalidations = std::chrono::seconds(90);
  std::uint32_t max_epochs = 100'000;
};

enum class StoreOperation : std::uint8_t { get, put, mark, invalidate, purge, lease, subscribe, decode };
inline constexpr std::size_t store_operation_count = 8;

class ValkeyStore : public Store {
 public:
  ValkeyStore(ValkeyRules rules, cache::MemoryAccount& account, cache::PurgeNumber& purges, cache::Epochs& epochs);
  ~ValkeyStore() override;

  // Before its thread starts: worker after worker, in the order of their numbers. The first one also hears of purges.
  void attach(boost::asio::io_context& io);
  // After all workers were joined, before their frames are destroyed: closes every connection.
  void detach() noexcept;

  Lookup peek(Question const& question, base::Now now) noexcept override;
  boost::asio::awaitable<Lookup> find(Question question, base::Now now) override;
  std::vector<std::string> vary_spec(std::string_view key, std::uint64_t hash) override;
  Put put(cache::Entry entry, base::SteadyTime keep_until, std::uint32_t max_variants, base::Now now) noexcept override;
  void announce_vary(std::string_view key, std::uint64_t hash, std::vector<std::string> const& names,
                     base::SteadyTime until) noexcept override;
  void mark_hit_for_miss(std::string_view key, std::uint64_t hash, base::SteadyTime until, base::Now now) noexcept override;
  void remember_failure(std::string_view key, std::uint64_t hash, Failed failed, base::SteadyTime until,
                        base::Now now) noexcept override;
  std::size_t invalidate(std::string_view key, std::uint64_t hash, cache::Invalidation mode, std::uint64_t number,
                         base::SteadyTime record_until, base::Now now) noexcept override;
  Variants variants(std::string_view key, std::uint64_t hash, base::Now now) const override;
  void visit(std::function<void(cache::StoredResponse const&)> const& call) const override;
  StoreStats stats() const noexcept override;
  std::size_t sweep(base::Now now, std::size_t max_nodes = 4096) noexcept override;

  bool holds_puts() const noexcept override;
  boost::asio::awaitable<void> share(cache::Entry entry, base::SteadyTime keep_until, std::uint32_t max_variants,
                                     std::uint16_t worker) override;
  boost::asio::awaitable<std::uint64_t> share_invalidation(std::vector<std::string> keys, cache::Invalidation mode,
                                                           std::uint64_t number, std::uint16_t worker) override;
  void share_purge(std::vector<cache::Tag> tags, cache::Invalidation mode, std::uint64_t number) noexcept override;

  boost::asio::awaitable<Turn> take_turn(TurnRequest request) override;
  bool is_idle() const noexcept override;

  // From now on for so long, if that is longer than before (LCY-2). From one thread at a time.
  void remember_invalidations(base::Duration at_least) noexcept;
  // Open, too, while the server does not answer or cannot be told what is to be told.
  GuardState guard_state() const noexcept;
  // Why the server was of no use the last time that it was not; empty: it always was.
  std::string last_failure() const;
  std::uint64_t leases(LeaseResult result) const noexcept;
  std::uint64_t errors(StoreOperation operation) const noexcept;
  // What is wrong with the server for our use, as a sentence; empty: nothing (or it was not reached). Blocks: for start-up,
  // before any thread runs.
  std::string check_server(base::Duration limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::store
