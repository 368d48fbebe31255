// OBS-3: what an operator is shown of a key; and that looking is no use.
#include <gtest/gtest.h>

#include "entries.hpp"
#include "weir/store/memory_store.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;

TEST(Variants, tell_all_that_is_held_under_a_key) {
  cache::MemoryAccount account;
  MemoryStore store({1 << 20}, account);
  auto const hash = base::hash_bytes("a");
  EXPECT_TRUE(store.variants("a", hash, moment()).entries.empty());
  store.put(make_entry(account, "a", 10), at(60s), 8, moment());
  store.invalidate("a", hash, cache::Invalidation::soft, 5, at(90s), moment(1s));
  store.announce_vary("a", hash, {"x-one"}, at(90s));
  auto const found = store.variants("a", hash, moment(2s));
  ASSERT_EQ(found.entries.size(), 1U);
  EXPECT_EQ(found.entries[0].keep_until, at(60s));
  EXPECT_EQ(found.entries[0].overrule.mode, cache::Invalidation::soft);
  EXPECT_EQ(found.vary, (std::vector<std::string>{"x-one"}));
  EXPECT_LT(found.marked_until, at(2s));
  EXPECT_TRUE(store.variants("b", base::hash_bytes("b"), moment()).entries.empty());
  EXPECT_TRUE(store.variants("a", hash, moment(60s)).entries.empty());
  store.mark_hit_for_miss("a", hash, at(99s), moment(61s));
  store.remember_failure("a", hash, {503, 7}, at(98s), moment(61s));
  auto const later = store.variants("a", hash, moment(62s));
  EXPECT_EQ(later.marked_until, at(99s));
  EXPECT_EQ(later.failed_until, at(98s));
  EXPECT_EQ(later.failed.retry_after, 7U);
}

// What is only looked at leaves as if nobody had; what is used twice stays.
TEST(Variants, looking_is_no_use) {
  for (bool const looks_only : {true, false}) {
    cache::MemoryAccount account;
    MemoryStore store({1 << 20}, account);
    store.put(make_entry(account, "seen", 1000), far_away, 8, moment());
    auto asked = question("seen");
    asked.looks_only = looks_only;
    for (int i = 0; i < 4; ++i) EXPECT_NE(store.peek(asked, moment()).entry, nullptr);
    for (int i = 0; i < 5000; ++i) store.put(make_entry(account, std::to_string(i), 1000), far_away, 8, moment());
    EXPECT_EQ(store.peek(question("seen"), moment()).entry == nullptr, looks_only);
  }
}

}  // namespace
}  // namespace weir::store
