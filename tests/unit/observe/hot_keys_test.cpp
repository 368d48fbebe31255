// What is asked for most, in bounded memory.
#include "weir/observe/hot_keys.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "weir/cache/key.hpp"

namespace weir::observe {
namespace {

std::uint64_t hash(std::string const& key) { return std::hash<std::string>{}(key); }

// OBS-3: a flood of keys that are asked for once does not hide those that are asked for often, and errors say how sure it
// is.
TEST(HotKeys, the_often_asked_outlive_a_flood_of_others) {
  Hottest hottest;
  for (int round = 0; round < 1000; ++round) {
    hottest.count("hot", hash("hot"), 1);
    for (int i = 0; i < 5; ++i) {
      auto const once = std::to_string(round * 5 + i);
      hottest.count(once, hash(once), 1);
    }
  }
  auto const all = hottest.all();
  EXPECT_EQ(all.size(), hot_key_count);
  EXPECT_EQ(all[0].key, "hot");
  EXPECT_EQ(all[0].count, 1000U);
  EXPECT_EQ(all[0].error, 0U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i].count - all[i].error, 1U);
}

// OBS-3: who goes is one with the least, whatever was counted before.
TEST(HotKeys, counts_bound_the_truth) {
  Hottest hottest;
  std::map<std::string, std::uint64_t> truth;
  std::mt19937 random(1);
  std::uint64_t total = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (i == 10'000) {
      hottest.clear();
      truth.clear();
      total = 0;
    }
    auto const key = std::to_string(random() % (1 + random() % 1000));
    std::uint64_t const weight = random() % 4 == 0 ? HotKeys::hit_sample : 1;
    hottest.count(key, hash(key), weight);
    truth[key] += weight;
    total += weight;
    if (i % 50 != 0) continue;
    std::uint64_t sum = 0;
    auto const all = hottest.all();
    ASSERT_EQ(all.size(), std::min(hot_key_count, truth.size()));
    for (auto const& one : all) {
      sum += one.count;
      ASSERT_GE(one.count, truth[one.key]) << one.key;
      ASSERT_LE(one.count - one.error, truth[one.key]) << one.key;
      ASSERT_LE(one.error, all.back().count) << one.key;
    }
    ASSERT_EQ(sum, total);
  }
}

// OBS-3
TEST(HotKeys, hits_are_sampled_and_the_rest_is_exact) {
  HotKeys keys;
  for (std::uint32_t i = 0; i < 100 * HotKeys::hit_sample; ++i) keys.count(Outcome::hit, "k", 1);
  for (int i = 0; i < 3; ++i) keys.count(Outcome::miss, "m", 2);
  for (int i = 0; i < 5; ++i) keys.count(Outcome::collapsed, "m", 2);
  auto const requests = keys.hottest(Hot::requests);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].count, 100U * HotKeys::hit_sample);
  EXPECT_EQ(requests[1].count, 8U);
  EXPECT_EQ(keys.hottest(Hot::misses)[0].count, 3U);
  EXPECT_EQ(keys.hottest(Hot::collapsed)[0].count, 5U);
}

// MR-1: misses of one path under many queries are misses of that path; a window ends and the next begins at nothing.
TEST(HotKeys, windows_count_misses_by_path) {
  HotKeys keys;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    auto const query = "q=" + std::to_string(i);
    cache::KeyBytes key;
    cache::append_url_key("http", "shop.example", {"/s", query, true}, key);
    keys.count(Outcome::miss, cache::view(key), i);
  }
  auto const window = keys.end_window();
  EXPECT_EQ(window.requests, 1000U);
  EXPECT_EQ(window.misses, 1000U);
  ASSERT_EQ(window.paths.size(), 1U);
  EXPECT_EQ(window.paths[0].key, "http://shop.example/s");
  EXPECT_EQ(window.paths[0].count, 1000U);
  EXPECT_EQ(keys.end_window().requests, 0U);
}

// OBS-3
TEST(HotKeys, workers_are_merged) {
  auto const all = merged({{{"a", 5, 0}, {"b", 2, 1}}, {{"b", 7, 0}, {"c", 1, 0}}}, 2);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].key, "b");
  EXPECT_EQ(all[0].count, 9U);
  EXPECT_EQ(all[0].error, 1U);
  EXPECT_EQ(all[1].key, "a");
}

}  // namespace
}  // namespace weir::observe
