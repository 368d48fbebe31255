// VAL-1: the key record that Lua writes, read; and what is none.
#include "../../../src/store/key_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KeyState, ReadsWhatTheScriptsWrite) {
  auto const state = read_key_state(
      R"({"n":57,"m":1,"u":1700000000500,"h":1.7000000001e+12,)"
      R"("v":{"-":{"u":1700000000000,"s":0,"f":""},"0123456789abcdef":{"u":1700000009000,"s":1700000000001,"f":"cookie accept"}}})");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->number, 57U);
  EXPECT_EQ(state->mode, cache::Invalidation::invalid);
  EXPECT_EQ(state->marked_until, 1'700'000'000'100);
  ASSERT_EQ(state->variants.size(), 2U);
  EXPECT_THAT(state->spec(1'700'000'000'000), ElementsAre("accept", "cookie"));
  EXPECT_THAT(state->spec(1'700'000'009'000), IsEmpty());
}

TEST(KeyState, NothingSaidIsNothing) {
  for (auto const* const text : {"{}", R"({"v":{}})", R"({"v":[]})"}) {
    auto const state = read_key_state(text);
    ASSERT_TRUE(state) << text;
    EXPECT_EQ(state->number, 0U);
    EXPECT_EQ(state->mode, cache::Invalidation::none);
    EXPECT_EQ(state->marked_until, 0);
    EXPECT_THAT(state->variants, IsEmpty());
  }
}

TEST(KeyState, WhatNoWeirWroteIsRefused) {
  for (auto const* const text : {"",
                                 "x",
                                 "[]",
                                 "1",
                                 "{",
                                 R"({"n":57})",
                                 R"({"n":-1,"m":1})",
                                 R"({"n":1,"m":9})",
                                 R"({"n":1,"m":-1})",
                                 R"({"n":1,"m":3})",
                                 R"({"v":1})",
                                 R"({"v":{"a":1}})",
                                 R"({"v":{"a":{"u":1}}})",
                                 R"({"v":{"a":{"u":"x","f":""}}})",
                                 R"({"v":{"a":{"u":1,"f":2}}})",
                                 R"({"v":["a"]})",
                                 "{}{}",
                                 R"({"n":"57","m":1})",
                                 R"({"n":1e300,"m":1})",
                                 R"({"n":9223372036854775807,"m":1})",
                                 R"({"n":1,"m":9223372036854775807})",
                                 R"({"v":{"a":{"u":9223372036854775807,"f":""}}})"})
    EXPECT_FALSE(read_key_state(text)) << text;
}

// Weir counts in µs, the record in ms.
TEST(KeyState, AMarkerThatStandsForEverIsNone) {
  for (auto const* const text : {R"({"h":9223372036854775807})", R"({"h":1e18})", R"({"h":-9223372036854775808})"}) {
    auto const state = read_key_state(text);
    ASSERT_TRUE(state) << text;
    EXPECT_EQ(state->marked_until, 0) << text;
  }
}

}  // namespace
}  // namespace weir::store
