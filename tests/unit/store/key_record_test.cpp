#include "../../../src/store/key_record.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;
using cache::Invalidation;

struct Destroy {
  void operator()(KeyRecord* record) const noexcept { KeyRecord::destroy(record); }
};
std::unique_ptr<KeyRecord, Destroy> make(std::string_view key) {
  return std::unique_ptr<KeyRecord, Destroy>(KeyRecord::make(key, 42));
}

TEST(KeyRecord, holds_its_key_and_nothing_else) {
  auto const record = make("some key");
  EXPECT_EQ(record->key(), "some key");
  EXPECT_EQ(record->hook.hash, 42U);
  EXPECT_EQ(&KeyRecord::of(record->hook), record.get());
  EXPECT_TRUE(record->idle(at(0s)));
  EXPECT_FALSE(record->overrules(0));
  EXPECT_EQ(record->overrule(0).mode, Invalidation::none);
}

TEST(KeyRecord, is_idle_when_all_its_times_have_passed) {
  auto const record = make("k");
  record->marker_until = at(1s);
  EXPECT_FALSE(record->idle(at(0s)));
  EXPECT_TRUE(record->idle(at(1s)));
  record->remember_until = at(2s);
  EXPECT_FALSE(record->idle(at(1s)));
  EXPECT_TRUE(record->idle(at(2s)));
  record->announce({"x"}, at(3s), at(2s));
  EXPECT_FALSE(record->idle(at(2s)));
  EXPECT_TRUE(record->idle(at(3s)));
}

// SRV-6
TEST(KeyRecord, overrules_below_the_highest_number_of_any_mode) {
  auto const record = make("k");
  record->add(Invalidation::hard, 9, at(0s));
  EXPECT_TRUE(record->overrules(8));
  EXPECT_FALSE(record->overrules(9));
  record->add(Invalidation::soft, 5, at(1s));
  record->add(Invalidation::invalid, 3, at(2s));
  EXPECT_EQ(record->highest(), 9U);
  EXPECT_EQ(record->overrule(2).mode, Invalidation::invalid);
  EXPECT_EQ(record->overrule(3).mode, Invalidation::soft);
  EXPECT_EQ(record->overrule(5).mode, Invalidation::none);
}

TEST(KeyRecord, announced_names_are_bounded_and_the_newest_stay) {
  auto const record = make("k");
  auto const before = record->footprint();
  for (int i = 0; i < 100; ++i) record->announce({"name-" + std::to_string(i)}, at(1s), at(0s));
  EXPECT_EQ(record->names().size(), max_announced_names);
  EXPECT_EQ(record->names().back(), "name-99");
  EXPECT_GT(record->footprint(), before);
  auto const full = record->footprint();
  record->announce({"name-99"}, at(1s), at(0s));
  EXPECT_EQ(record->names().size(), max_announced_names);
  record->announce({std::string(1000, 'x')}, at(1s), at(0s));
  EXPECT_GE(record->footprint(), full + 900) << "long names count";
}

}  // namespace
}  // namespace weir::store
