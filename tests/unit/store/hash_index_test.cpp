#include "../../../src/store/hash_index.hpp"

#include <deque>

#include <gtest/gtest.h>

namespace weir::store {
namespace {

struct Nodes {
  std::deque<Hook> all;
  Hook& make(std::uint64_t hash) {
    auto& hook = all.emplace_back();
    hook.hash = hash;
    return hook;
  }
};

std::vector<Hook*> under(HashIndex const& index, std::uint64_t hash) {
  std::vector<Hook*> found;
  for (Hook* hook = index.first(hash); hook != nullptr; hook = hook->next) {
    if (hook->hash == hash) found.push_back(hook);
  }
  return found;
}

TEST(HashIndex, is_empty_at_first_and_allocates_nothing) {
  HashIndex const index;
  EXPECT_EQ(index.first(42), nullptr);
  EXPECT_EQ(index.size(), 0U);
  EXPECT_EQ(index.footprint(), 0U);
}

TEST(HashIndex, finds_all_after_growing) {
  Nodes nodes;
  HashIndex index;
  for (std::uint64_t i = 0; i < 1000; ++i) index.insert(nodes.make(i * 0x9E3779B97F4A7C15ULL));
  EXPECT_EQ(index.size(), 1000U);
  EXPECT_EQ(index.bucket_count(), 1024U);
  EXPECT_EQ(index.footprint(), 1024U * 12);
  for (auto& hook : nodes.all) EXPECT_EQ(under(index, hook.hash), std::vector<Hook*>{&hook});
}

// KEY-6: the order of use survives growth.
TEST(HashIndex, keeps_the_order_of_use_when_it_grows) {
  Nodes nodes;
  HashIndex index;
  auto& a = nodes.make(7);
  auto& b = nodes.make(7);
  auto& c = nodes.make(7);
  index.insert(a);
  index.insert(b);
  index.insert(c);
  EXPECT_EQ(under(index, 7), (std::vector<Hook*>{&c, &b, &a}));
  index.move_to_front(a);
  EXPECT_EQ(under(index, 7), (std::vector<Hook*>{&a, &c, &b}));
  index.move_to_front(a);
  EXPECT_EQ(under(index, 7), (std::vector<Hook*>{&a, &c, &b}));
  for (std::uint64_t i = 0; i < 100; ++i) index.insert(nodes.make(1000 + i));
  EXPECT_EQ(under(index, 7), (std::vector<Hook*>{&a, &c, &b}));
}

TEST(HashIndex, removes_from_front_middle_and_end) {
  Nodes nodes;
  HashIndex index;
  auto& a = nodes.make(7);
  auto& b = nodes.make(7);
  auto& c = nodes.make(7);
  for (Hook* hook : {&a, &b, &c}) index.insert(*hook);
  index.remove(b);
  EXPECT_EQ(under(index, 7), (std::vector<Hook*>{&c, &a}));
  index.remove(c);
  EXPECT_EQ(under(index, 7), std::vector<Hook*>{&a});
  index.remove(a);
  EXPECT_EQ(index.first(7), nullptr);
  EXPECT_EQ(index.size(), 0U);
}

TEST(HashIndex, ghost_is_there_once) {
  Nodes nodes;
  HashIndex index;
  index.remember_ghost(7);
  EXPECT_FALSE(index.take_ghost(7)) << "nowhere to keep it yet";
  index.insert(nodes.make(1));
  EXPECT_FALSE(index.take_ghost(7));
  index.remember_ghost(7);
  EXPECT_FALSE(index.take_ghost(7 + (1ULL << 40))) << "another key of the same bucket";
  EXPECT_TRUE(index.take_ghost(7));
  EXPECT_FALSE(index.take_ghost(7));
}

}  // namespace
}  // namespace weir::store
