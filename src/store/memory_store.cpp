#include "weir/store/memory_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "shard.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/hash.hpp"

namespace weir::store {
namespace {

// Nodes looked at under one hold of a shard's mutex.
constexpr std::size_t sweep_slice = 256;

constexpr std::size_t shard_number(std::uint64_t hash) noexcept {
  static_assert(shard_count == 64);
  return hash >> 58;
}

template <std::size_t... I>
std::array<Shard, sizeof...(I)> make_shards(Budget& budget, std::index_sequence<I...>) {
  return {((void)I, Shard(budget))...};
}

}  // namespace

struct MemoryStore::Impl {
  Impl(std::size_t max_bytes, cache::MemoryAccount& account)
      : budget{account, max_bytes}, shards(make_shards(budget, std::make_index_sequence<shard_count>())) {}

  Shard& shard(std::uint64_t hash) noexcept { return shards[shard_number(hash)]; }
  bool make_room(std::uint64_t hash) noexcept;

  Budget budget;
  std::array<Shard, shard_count> shards;
  std::atomic<std::size_t> sweep_shard{0};
};

// The new entry's bytes are in the account already. One victim from its own shard, then one from each other by turn, until
// all fits; where none has what should go first, any will do. Ends because every other round takes a victim, stops when what
// no eviction can free is too much by itself, and never empties the cache for that.
bool MemoryStore::Impl::make_room(std::uint64_t hash) noexcept {
  std::size_t empty = 0;
  for (std::size_t i = shard_number(hash); !budget.fits(); ++i) {
    if (!budget.could_fit() || empty == 2 * shard_count) return false;
    empty = shards[i % shard_count].evict(empty < shard_count) ? 0 : empty + 1;
  }
  return true;
}

MemoryStore::MemoryStore(MemoryRules const& rules, cache::MemoryAccount& account)
    : impl_(std::make_unique<Impl>(rules.max_bytes != 0 ? rules.max_bytes : default_budget(), account)) {}

MemoryStore::~MemoryStore() = default;

Lookup MemoryStore::peek(Question const& question, base::Now now) noexcept {
  return impl_->shard(question.hash).peek(question, now);
}

boost::asio::awaitable<Lookup> MemoryStore::find(Question question, base::Now now) { co_return peek(question, now); }

std::vector<std::string> MemoryStore::vary_spec(std::string_view key, std::uint64_t hash) {
  return impl_->shard(hash).vary_spec(key, hash);
}

Put MemoryStore::put(cache::Entry entry, base::SteadyTime keep_until, std::uint32_t max_variants, base::Now now) noexcept {
  WEIR_ASSERT(entry != nullptr);
  auto const hash = base::hash_bytes(entry->key());
  auto& shard = impl_->shard(hash);
  auto const verdict = shard.admit(*entry, hash, now);
  if (verdict != Put::stored) return verdict;
  if (!impl_->make_room(hash)) return Put::no_room;
  return shard.put(std::move(entry), hash, keep_until, max_variants, now);
}

void MemoryStore::announce_vary(std::string_view key, std::uint64_t hash, std::vector<std::string> const& names,
                                base::SteadyTime until) noexcept {
  impl_->shard(hash).announce_vary(key, hash, names, until);
}

void MemoryStore::mark_hit_for_miss(std::string_view key, std::uint64_t hash, base::SteadyTime until,
                                    base::Now now) noexcept {
  impl_->shard(hash).mark_hit_for_miss(key, hash, until, now);
}

void MemoryStore::remember_failure(std::string_view key, std::uint64_t hash, Failed failed, base::SteadyTime until,
                                   base::Now now) noexcept {
  impl_->shard(hash).remember_failure(key, hash, failed, until, now);
}

std::size_t MemoryStore::invalidate(std::string_view key, std::uint64_t hash, cache::Invalidation mode, std::uint64_t number,
                                    base::SteadyTime record_until, base::Now now) noexcept {
  return impl_->shard(hash).invalidate(key, hash, mode, number, record_until, now);
}

Variants MemoryStore::variants(std::string_view key, std::uint64_t hash, base::Now now) const {
  auto found = impl_->shard(hash).variants(key, hash, now);
  found.vary = impl_->shard(hash).vary_spec(key, hash);
  return found;
}

void MemoryStore::visit(std::function<void(cache::StoredResponse const&)> const& call) const {
  for (auto const& shard : impl_->shards)
    for (auto const& entry : shard.entries()) call(*entry);
}

void MemoryStore::visit_kept(std::function<void(Kept const&)> const& call) const {
  for (auto& shard : impl_->shards)
    for (auto const& kept : shard.kept()) call(kept);
}

StoreStats MemoryStore::stats() const noexcept {
  StoreStats stats;
  stats.bytes = impl_->budget.account.bytes();
  stats.capacity = impl_->budget.max_bytes;
  for (auto const& shard : impl_->shards) shard.add_to(stats);
  return stats;
}

std::size_t MemoryStore::sweep(base::Now now, std::size_t max_nodes) noexcept {
  std::size_t dropped = 0;
  std::size_t looked_at = 0;
  for (std::size_t finished = 0; finished < shard_count && looked_at < max_nodes;) {
    auto number = impl_->sweep_shard.load(std::memory_order_relaxed);
    auto const swept = impl_->shards[number % shard_count].sweep(now, std::min(sweep_slice, max_nodes - looked_at));
    looked_at += swept.looked_at;
    dropped += swept.dropped;
    if (!swept.finished) continue;
    ++finished;
    // Another worker may have moved it on; once is enough.
    impl_->sweep_shard.compare_exchange_strong(number, number + 1, std::memory_order_relaxed);
  }
  return dropped;
}

}  // namespace weir::store
