// MEM-1: the memory store. 64 shards by key hash, one mutex each (`Shard::mutex_`), never held across a call out. S3-FIFO
// eviction (a small queue of a tenth, a main queue, a ghost of hashes), byte-accurate budget through `MemoryAccount`, which
// also counts what flights hold and what readers pin after eviction; expiry when met and by `sweep`. One allocation an
// entry: links are in StoredResponse::hook. Markers, invalidation records and announced names take at most a sixteenth of
// the budget; an invalidation that has to go early takes what it overruled with it, and its shard refuses older fetches.
// Owner: the daemon; outlives the workers.
#pragma once

#include <memory>

#include "weir/store/store.hpp"

namespace weir::store {

struct MemoryRules {
  std::uint64_t max_bytes = 0;  // 0: default_budget()
};

// A quarter of what the cgroup (v2, v1) or the machine has, at most 8 GiB, at least 16 MiB.
std::uint64_t default_budget();

// An entry with what was said of it under its key, and until when it is kept.
struct Kept {
  cache::Entry entry;
  base::SteadyTime keep_until{};
  cache::Overrule overrule;
};

class MemoryStore final : public Store {
 public:
  MemoryStore(MemoryRules const& rules, cache::MemoryAccount& account);
  ~MemoryStore() override;

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
  void visit_kept(std::function<void(Kept const&)> const& call) const;  // as `visit`, for a snapshot (MEM-2)
  StoreStats stats() const noexcept override;
  std::size_t sweep(base::Now now, std::size_t max_nodes = 4096) noexcept override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::store
