// What of a shard cannot be seen through the store: hashes that collide, bounds of the records, the queues.
#include "../../../src/store/shard.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "entries.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;
using cache::Invalidation;

class ShardTest : public testing::Test {
 protected:
  static constexpr std::uint64_t hash = 42;
  Put put(std::string_view key, std::uint64_t began = 1, std::uint64_t purge_number = 1, std::size_t body = 4,
          base::SteadyTime keep = far_away) {
    return shard_.put(make_entry(account_, key, body, began, purge_number), hash_of(key), keep, 8, moment());
  }
  Lookup peek(std::string_view key, base::Now now = moment()) { return shard_.peek({key, hash_of(key), {}, nullptr}, now); }
  StoreStats stats() const {
    StoreStats all;
    shard_.add_to(all);
    return all;
  }
  std::uint64_t hash_of(std::string_view key) const { return collide_ ? hash : base::hash_bytes(key); }

  cache::MemoryAccount account_;
  Budget budget_{account_, 1 << 20};
  Shard shard_{budget_};
  bool collide_ = false;
};

// KEY-1: a hit compares the whole key, never a hash alone.
TEST_F(ShardTest, keys_whose_hashes_collide_stay_apart) {
  collide_ = true;
  put("a", 1);
  put("b", 2);
  EXPECT_EQ(peek("a").entry->key(), "a");
  EXPECT_EQ(peek("b").entry->key(), "b");
  EXPECT_EQ(peek("c").entry, nullptr);
  shard_.mark_hit_for_miss("c", hash, far_away, moment());
  EXPECT_TRUE(peek("c").hit_for_miss);
  EXPECT_FALSE(peek("d").hit_for_miss);
  EXPECT_EQ(shard_.invalidate("a", hash, Invalidation::hard, 2, {}, moment()), 1U);
  EXPECT_EQ(peek("a").entry, nullptr);
  EXPECT_NE(peek("b").entry, nullptr);
  EXPECT_EQ(shard_.invalidate("b", hash, Invalidation::soft, 2, {}, moment()), 1U);
  EXPECT_EQ(peek("b").overrule.mode, Invalidation::soft);
}

TEST_F(ShardTest, admit_says_what_put_will) {
  EXPECT_EQ(shard_.admit(*make_entry(account_, "k"), hash_of("k"), moment()), Put::stored);
  EXPECT_EQ(stats().entries, 0U);
  put("k", 5);
  EXPECT_EQ(shard_.admit(*make_entry(account_, "k", 4, 5), hash_of("k"), moment()), Put::not_newer);
  EXPECT_EQ(shard_.admit(*make_entry(account_, "k", 4, 6, 0), hash_of("k"), moment()), Put::stored);
  shard_.invalidate("k", hash_of("k"), Invalidation::invalid, 2, {}, moment());
  EXPECT_EQ(shard_.admit(*make_entry(account_, "k", 4, 6, 1), hash_of("k"), moment()), Put::overruled);
}

TEST_F(ShardTest, selector_without_rules_does_not_fit) {
  cache::StoredResponse::Parts const parts{"k", "selector", "", {}};
  shard_.put(cache::StoredResponse::make(parts, 0, account_), hash_of("k"), far_away, 8, moment());
  EXPECT_EQ(peek("k").entry, nullptr);
  EXPECT_TRUE(peek("k").has_vary_spec);
}

// MEM-1: S3-FIFO. What is not used twice in the small queue leaves first.
TEST_F(ShardTest, evicts_what_was_not_used_before_what_was) {
  for (auto const* key : {"a", "b", "c"}) put(key);
  peek("a"), peek("a");
  peek("b");
  EXPECT_TRUE(shard_.evict());
  EXPECT_EQ(peek("b").entry, nullptr) << "a moved to the main queue, b was next and used once only";
  EXPECT_TRUE(shard_.evict());
  EXPECT_EQ(peek("c").entry, nullptr);
  EXPECT_NE(peek("a").entry, nullptr);
  EXPECT_EQ(stats().evicted_small, 2U);
  EXPECT_TRUE(shard_.evict());
  EXPECT_EQ(stats().evicted_main, 1U);
  EXPECT_FALSE(shard_.evict());
  EXPECT_EQ(stats().entries, 0U);
  EXPECT_EQ(budget_.evictable, 0U);
}

// MEM-1: what comes back soon after its eviction goes to the main queue.
TEST_F(ShardTest, ghost_returns_to_the_main_queue) {
  put("a");
  EXPECT_TRUE(shard_.evict());
  put("a");
  put("b");
  EXPECT_TRUE(shard_.evict());
  EXPECT_NE(peek("a").entry, nullptr);
  EXPECT_EQ(peek("b").entry, nullptr);
}

// MEM-1: in the main queue each use is one more round.
TEST_F(ShardTest, main_queue_gives_second_chances) {
  for (auto const* key : {"a", "b"}) {
    put(key);
    EXPECT_TRUE(shard_.evict());
    put(key);
  }
  for (int i = 0; i < 5; ++i) peek("a");
  EXPECT_TRUE(shard_.evict());
  EXPECT_NE(peek("a").entry, nullptr);
  EXPECT_EQ(peek("b").entry, nullptr);
  EXPECT_EQ(stats().evicted_main, 1U);
}

TEST_F(ShardTest, replacement_takes_over_queue_and_use) {
  put("a", 1);
  peek("a"), peek("a");
  put("a", 2);
  put("b");
  EXPECT_TRUE(shard_.evict());
  EXPECT_NE(peek("a").entry, nullptr) << "the refresh of a used entry counts as used";
  put("a", 3);
  put("c");
  EXPECT_TRUE(shard_.evict());
  EXPECT_NE(peek("a").entry, nullptr) << "and stays in the main queue";
}

// A victim is found in bounded time even if all were used.
TEST_F(ShardTest, evicts_although_all_are_in_use) {
  for (int i = 0; i < 1000; ++i) {
    auto const key = std::to_string(i);
    put(key);
    for (int j = 0; j < 3; ++j) peek(key);
  }
  EXPECT_TRUE(shard_.evict());
  EXPECT_EQ(stats().entries, 999U);
  for (int i = 0; i < 999; ++i) EXPECT_TRUE(shard_.evict());
  EXPECT_FALSE(shard_.evict());
}

// MEM-1: a refresh weighs what it keeps alive.
TEST_F(ShardTest, refresh_counts_the_body_it_holds_as_evictable) {
  auto original = make_entry(account_, "k", 10'000);
  shard_.put(original, hash_of("k"), far_away, 8, moment());
  auto const alone = budget_.evictable.load();
  cache::StoredResponse::Parts parts{"k", "", "head", original->facts()};
  parts.facts.began = 2;
  auto refresh = cache::StoredResponse::refreshed(parts, std::move(original), account_);
  auto const small = refresh->footprint();
  EXPECT_EQ(shard_.put(std::move(refresh), hash_of("k"), far_away, 8, moment()), Put::stored);
  EXPECT_EQ(budget_.evictable, alone + small);
  EXPECT_TRUE(shard_.evict());
  EXPECT_EQ(budget_.evictable, 0U);
}

// SRV-6: many keys with an invalidation stay within the bound, and none is forgotten.
TEST_F(ShardTest, bound_on_records_never_under_invalidates) {
  put("overruled");
  EXPECT_EQ(shard_.invalidate("overruled", hash_of("overruled"), Invalidation::soft, 5, {}, moment()), 1U);
  auto const key = [](int i) { return "some/longer/key/" + std::to_string(i); };
  for (int i = 0; i < 2000; ++i) shard_.invalidate(key(i), hash_of(key(i)), Invalidation::invalid, 7, at(30s), moment());
  EXPECT_LT(account_.bytes(), least_record_bytes + 16 * 1024);
  EXPECT_EQ(peek("overruled").entry, nullptr) << "its record had to go, and so must it";
  for (int i : {0, 1000, 1999}) {
    EXPECT_EQ(put(key(i), 1, 6), Put::overruled) << i;
    EXPECT_EQ(put(key(i), 1, 7), Put::stored) << i;
  }
  EXPECT_EQ(put("any", 1, 6), Put::overruled) << "what cannot be told apart is refused";
  EXPECT_EQ(shard_.put(make_entry(account_, "any", 4, 1, 6), hash_of("any"), far_away, 8, moment(30s)), Put::stored);
}

// STO-5: a flood of markers costs the oldest ones, nothing else.
TEST_F(ShardTest, bound_on_markers_drops_the_oldest) {
  put("entry", 1, 0);
  for (int i = 0; i < 2000; ++i) {
    auto const key = std::to_string(i);
    shard_.mark_hit_for_miss(key, hash_of(key), at(30s), moment());
  }
  EXPECT_LT(account_.bytes(), least_record_bytes + 16 * 1024);
  EXPECT_FALSE(peek("0").hit_for_miss);
  EXPECT_TRUE(peek("1999").hit_for_miss);
  EXPECT_NE(peek("entry").entry, nullptr);
  EXPECT_EQ(put("another", 1, 0), Put::stored);
}

TEST_F(ShardTest, one_record_may_be_larger_than_the_bound) {
  std::string const key(least_record_bytes * 2, 'k');
  shard_.mark_hit_for_miss(key, hash_of(key), at(30s), moment());
  EXPECT_TRUE(peek(key).hit_for_miss);
  shard_.mark_hit_for_miss("small", hash_of("small"), at(30s), moment());
  EXPECT_FALSE(peek(key).hit_for_miss);
  EXPECT_TRUE(peek("small").hit_for_miss);
}

TEST_F(ShardTest, sweep_drops_what_has_passed) {
  for (int i = 0; i < 100; ++i) put(std::to_string(i), 1, 1, 4, i % 2 == 0 ? at(10s) : far_away);
  shard_.mark_hit_for_miss("marked", hash_of("marked"), at(10s), moment());
  std::size_t dropped = 0;
  int calls = 0;
  for (Shard::Swept swept; !swept.finished; ++calls) {
    swept = shard_.sweep(moment(10s), 1'000'000);
    dropped += swept.dropped;
  }
  EXPECT_EQ(dropped, 51U);
  EXPECT_EQ(stats().entries, 50U);
  EXPECT_EQ(stats().expired, 50U);
  EXPECT_GE(calls, 3) << "each hold of the mutex drops a bounded number";
  auto const bytes = account_.bytes();
  EXPECT_TRUE(shard_.sweep(moment(10s), 1'000'000).finished);
  EXPECT_EQ(account_.bytes(), bytes);
}

TEST_F(ShardTest, sweep_goes_on_where_it_stopped) {
  for (int i = 0; i < 100; ++i) put(std::to_string(i), 1, 1, 4, at(10s));
  std::size_t dropped = 0;
  for (Shard::Swept swept; !swept.finished;) {
    swept = shard_.sweep(moment(10s), 5);
    EXPECT_LE(swept.looked_at, 50U);
    dropped += swept.dropped;
  }
  EXPECT_EQ(dropped, 100U);
}

// SRV-6: a record stays while an entry under its key is overruled by it.
TEST_F(ShardTest, sweep_keeps_the_record_of_an_overruled_entry) {
  put("k");
  shard_.invalidate("k", hash_of("k"), Invalidation::invalid, 5, at(1s), moment());
  EXPECT_EQ(shard_.sweep(moment(10s), 1'000).dropped, 0U);
  EXPECT_EQ(peek("k").overrule.mode, Invalidation::invalid);
  put("k", 2, 5);
  EXPECT_EQ(shard_.sweep(moment(10s), 1'000).dropped, 1U);
  EXPECT_EQ(put("k", 3, 4), Put::stored);
}

}  // namespace
}  // namespace weir::store
