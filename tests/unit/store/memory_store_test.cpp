// MEM-1: budget, eviction, expiry, what an entry costs, floods, threads.
#include "weir/store/memory_store.hpp"

#include <malloc.h>

#include <atomic>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "entries.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_SANITIZED 1
#endif
#endif

namespace weir::store {
namespace {

using namespace std::chrono_literals;
using cache::Invalidation;

#ifdef WEIR_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

TEST(MemoryStore, never_holds_more_than_its_budget) {
  cache::MemoryAccount account;
  MemoryStore store({1 << 20}, account);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(store.put(make_entry(account, std::to_string(i), 1000), far_away, 8, moment()), Put::stored);
    ASSERT_LE(account.bytes(), (1U << 20) + 4096U) << "the budget, and what the index grew by";
    ASSERT_NE(store.peek(question(std::to_string(i)), moment()).entry, nullptr) << "visible when `put` returns";
  }
  auto const stats = store.stats();
  EXPECT_EQ(stats.capacity, 1U << 20);
  EXPECT_EQ(stats.bytes, account.bytes());
  EXPECT_GT(stats.entries, 500U);
  EXPECT_EQ(stats.entries + stats.evicted_small + stats.evicted_main, 5000U);
}

TEST(MemoryStore, large_entry_makes_room_in_all_shards) {
  cache::MemoryAccount account;
  MemoryStore store({1 << 20}, account);
  for (int i = 0; i < 1000; ++i) store.put(make_entry(account, std::to_string(i), 700), far_away, 8, moment());
  EXPECT_EQ(store.put(make_entry(account, "large", 900'000), far_away, 8, moment()), Put::stored);
  EXPECT_NE(store.peek(question("large"), moment()).entry, nullptr);
  EXPECT_LE(account.bytes(), 1U << 20);
  EXPECT_GT(store.stats().entries, 20U);
}

TEST(MemoryStore, entry_larger_than_the_budget_has_no_room_and_evicts_nothing) {
  cache::MemoryAccount account;
  MemoryStore store({1 << 20}, account);
  store.put(make_entry(account, "k"), far_away, 8, moment());
  EXPECT_EQ(store.put(make_entry(account, "large", 1 << 20), far_away, 8, moment()), Put::no_room);
  EXPECT_EQ(store.stats().entries, 1U);
}

// What readers pin after eviction counts; it alone can be too much, and then the rest of the cache stays.
TEST(MemoryStore, pinned_bytes_over_the_budget_are_no_room) {
  cache::MemoryAccount account;
  MemoryStore store({1 << 20}, account);
  store.put(make_entry(account, "kept"), far_away, 8, moment());
  {
    auto const pinned = make_entry(account, "pinned", 2 << 20);
    EXPECT_EQ(store.put(make_entry(account, "k"), far_away, 8, moment()), Put::no_room);
    EXPECT_EQ(store.stats().entries, 1U);
  }
  EXPECT_EQ(store.put(make_entry(account, "k"), far_away, 8, moment()), Put::stored);
}

TEST(MemoryStore, evicting_what_is_pinned_ends) {
  cache::MemoryAccount account;
  MemoryStore store({1 << 20}, account);
  std::vector<cache::Entry> pinned;
  Put last = Put::stored;
  for (int i = 0; i < 2000 && last == Put::stored; ++i) {
    pinned.push_back(make_entry(account, std::to_string(i), 1000));
    last = store.put(pinned.back(), far_away, 8, moment());
  }
  EXPECT_EQ(last, Put::no_room);
  pinned.clear();
  EXPECT_LE(account.bytes(), 1U << 20);
  EXPECT_EQ(store.put(make_entry(account, "k"), far_away, 8, moment()), Put::stored);
}

// STO-6: no room is made for what is refused, least of all by evicting what it lost against.
TEST(MemoryStore, refused_entry_evicts_nothing) {
  cache::MemoryAccount account;
  MemoryStore store({1 << 20}, account);
  store.put(make_entry(account, "k", 600'000, 5), far_away, 8, moment());
  EXPECT_EQ(store.put(make_entry(account, "k", 600'000, 4), far_away, 8, moment()), Put::not_newer);
  EXPECT_EQ(store.stats().entries, 1U);
}

TEST(MemoryStore, sweep_visits_all_shards_a_bounded_number_of_nodes_a_call) {
  cache::MemoryAccount account;
  MemoryStore store({64 << 20}, account);
  for (int i = 0; i < 10'000; ++i) store.put(make_entry(account, std::to_string(i)), at(10s), 8, moment());
  EXPECT_EQ(store.sweep(moment(9s), 1'000'000), 0U);
  auto const first = store.sweep(moment(10s), 1000);
  EXPECT_GT(first, 0U);
  EXPECT_LE(first, 1000U);
  auto all = first;
  for (int i = 0; i < 100; ++i) all += store.sweep(moment(10s), 1000);
  EXPECT_EQ(all, 10'000U);
  EXPECT_EQ(store.stats().entries, 0U);
  EXPECT_EQ(store.stats().expired, 10'000U);
}

// 1 KiB of body, 300 bytes of head and 60 of key: all in, the index included.
TEST(MemoryStore, entry_costs_little_more_than_its_bytes) {
  if (sanitized) GTEST_SKIP() << "the sanitizer's malloc keeps no such count";
  constexpr std::size_t count = 100'000;
  constexpr std::size_t payload = 1024 + 300 + 60;
  std::string const head(300, 'h');
  cache::MemoryAccount account;
  MemoryStore store({1ULL << 30}, account);
  auto const before = mallinfo2();
  for (std::size_t i = 0; i < count; ++i) {
    auto key = std::to_string(i);
    key.resize(60, 'k');
    ASSERT_EQ(store.put(make_entry(account, key, 1024, 1, 1, head), far_away, 8, moment()), Put::stored);
  }
  auto const after = mallinfo2();
  auto const used = (after.uordblks + after.hblkhd) - (before.uordblks + before.hblkhd);
  EXPECT_EQ(store.stats().entries, count);
  RecordProperty("bytes_an_entry", std::to_string(used / count));
  EXPECT_LE(used / count, payload + 220);
  auto const counted = static_cast<double>(account.bytes());
  EXPECT_NEAR(counted, static_cast<double>(used), 0.01 * counted) << "the budget counts what malloc gave";
}

// A flood of one-hit URLs does not evict the hot set.
TEST(MemoryStore, flood_of_one_hit_urls_leaves_the_hot_set) {
  constexpr int hot_keys = 1000;
  constexpr int flood = sanitized ? 100'000 : 1'000'000;
  cache::MemoryAccount account;
  MemoryStore store({8 << 20}, account);  // for some 10,000 entries
  std::mt19937 random(42);
  std::vector<double> weights;
  for (int i = 1; i <= hot_keys; ++i) weights.push_back(1.0 / std::pow(i, 0.8));
  std::discrete_distribution<int> zipf(weights.begin(), weights.end());
  auto const get = [&](std::string const& key) {
    if (store.peek(question(key), moment()).entry != nullptr) return true;
    store.put(make_entry(account, key, 500), far_away, 8, moment());
    return false;
  };
  for (int i = 0; i < 20 * hot_keys; ++i) get("hot" + std::to_string(zipf(random)));

  int hits = 0;
  for (int i = 0; i < flood; ++i) {
    hits += get("hot" + std::to_string(zipf(random)));
    get("once" + std::to_string(i));
  }
  RecordProperty("hot_hit_ratio", std::to_string(static_cast<double>(hits) / flood));
  EXPECT_GT(static_cast<double>(hits) / flood, 0.99);
  EXPECT_GT(store.stats().evicted_small, static_cast<std::uint64_t>(flood) / 2);
}

// The same where a shard holds so few that its small queue is empty now and then, as what is being fetched takes room for a
// while: others' small queues go first.
TEST(MemoryStore, flood_of_large_ones_leaves_the_hot_set) {
  cache::MemoryAccount account;
  MemoryStore store({16 << 20}, account);  // for some 500 of the flood
  std::mt19937 random(42);
  auto const get = [&](std::string const& key) {
    if (store.peek(question(key), moment()).entry != nullptr) return true;
    store.put(make_entry(account, key, 1024), far_away, 8, moment());
    return false;
  };
  for (int i = 0; i < 1000; ++i) get("hot" + std::to_string(random() % 50));
  std::vector<cache::Entry> under_way;
  int misses = 0;
  for (int i = 0; i < 40'000; ++i) {
    if (i % 2 == 0 && !get("hot" + std::to_string(random() % 50))) ++misses;
    under_way.push_back(make_entry(account, "once" + std::to_string(i), 32'768));
    if (random() % 64 > under_way.size()) continue;
    for (auto& entry : under_way) store.put(std::move(entry), far_away, 8, moment());
    under_way.clear();
  }
  EXPECT_EQ(misses, 0);
}

// Every call from any thread; run under TSan. Afterwards nothing is left in the account.
TEST(MemoryStore, threads) {
  constexpr int rounds = sanitized ? 20'000 : 100'000;
  cache::MemoryAccount account;
  std::atomic<std::uint64_t> began{1}, number{1};
  std::atomic<int> wrong{0};
  {
    MemoryStore store({256 << 10}, account);
    auto const work = [&](unsigned seed) {
      std::mt19937 random(seed);
      for (int i = 0; i < rounds; ++i) {
        auto const key = "key" + std::to_string(random() % 600);
        auto const hash = base::hash_bytes(key);
        auto const now = moment(std::chrono::milliseconds(i));
        switch (random() % 16) {
          case 0:
          case 1:
          case 2:
          case 3: {
            auto const in_number = number.load();
            auto entry = make_entry(account, key, random() % 2000, began++, in_number);
            store.put(std::move(entry), now.steady + 1s, 8, now);
            break;
          }
          case 4:
            store.invalidate(key, hash, static_cast<Invalidation>(random() % 4), ++number, now.steady + 1s, now);
            break;
          case 5:
            store.sweep(now, 100);
            break;
          case 6:
            store.mark_hit_for_miss(key, hash, now.steady + 1s, now);
            break;
          case 7:
            store.announce_vary(key, hash, {"accept"}, now.steady + 1s);
            break;
          case 8:
            store.vary_spec(key, hash);
            break;
          case 9:
            store.stats();
            break;
          default: {
            auto const found = store.peek(question(key), now);
            if (found.entry && found.entry->key() != key) ++wrong;
          }
        }
      }
    };
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
    for (auto& thread : threads) thread.join();
    EXPECT_LE(account.bytes(), (256U << 10) + 128 * 1024U) << "records and index grow a little after room was made";
    EXPECT_EQ(wrong, 0);
  }
  EXPECT_EQ(account.bytes(), 0U);
}

}  // namespace
}  // namespace weir::store
