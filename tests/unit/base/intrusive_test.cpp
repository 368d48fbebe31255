// Counted pointers and lists whose links live in the element.
#include "weir/base/intrusive.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir::base {
namespace {

struct Plain : Counted<Plain> {
  explicit Plain(int& deaths) : deaths_(deaths) {}
  ~Plain() { ++deaths_; }
  int& deaths_;
};

struct WithDestroy : Counted<WithDestroy> {
  explicit WithDestroy(int& destroyed) : destroyed_(destroyed) {}
  static void destroy(WithDestroy const* p) {
    ++p->destroyed_;
    delete p;
  }
  int& destroyed_;
};

TEST(Counted, DiesWithItsLastReference) {
  int deaths = 0;
  Ref<Plain> first(new Plain(deaths));
  EXPECT_EQ(first->use_count(), 1U);
  {
    Ref<Plain const> second = first;
    EXPECT_EQ(first->use_count(), 2U);
    first.reset();
    EXPECT_EQ(deaths, 0);
  }
  EXPECT_EQ(deaths, 1);
}

TEST(Counted, DestroyIsUsedWhereATypeHasOne) {
  int destroyed = 0;
  Ref<WithDestroy>(new WithDestroy(destroyed)).reset();
  EXPECT_EQ(destroyed, 1);
}

TEST(Counted, ThreadsShareOneCount) {
  int deaths = 0;
  Ref<Plain> shared(new Plain(deaths));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([shared] {
      for (int round = 0; round < 10'000; ++round) Ref<Plain>{shared};
    });
  }
  for (auto& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(shared->use_count(), 1U);
  shared.reset();
  EXPECT_EQ(deaths, 1);
}

struct Node {
  int number = 0;
  ListHook hook;
};

TEST(List, ElementsUnlinkThemselvesByPosition) {
  Node nodes[3] = {{1, {}}, {2, {}}, {3, {}}};
  List<Node, &Node::hook> list;
  for (Node& node : nodes) list.push_back(node);
  list.erase(list.iterator_to(nodes[1]));
  EXPECT_FALSE(nodes[1].hook.is_linked());
  std::vector<int> numbers;
  for (Node const& node : list) numbers.push_back(node.number);
  EXPECT_EQ(numbers, (std::vector<int>{1, 3}));
  list.clear();
  EXPECT_FALSE(nodes[0].hook.is_linked());
}

#ifndef NDEBUG  // Boost's own assertion, which that would switch off
TEST(ListDeathTest, ALinkedElementMustNotDie) {
  auto const die_linked = [] {
    List<Node, &Node::hook> list;
    auto* const node = new Node;
    list.push_back(*node);
    delete node;
  };
  EXPECT_DEATH(die_linked(), "");
}
#endif

}  // namespace
}  // namespace weir::base
