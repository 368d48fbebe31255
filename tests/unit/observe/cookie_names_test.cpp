// FWD-3: the most frequent names in bounded memory.
#include <gtest/gtest.h>

#include "weir/observe/cookie_names.hpp"

namespace weir::observe::test {
namespace {

using namespace std::chrono_literals;

// FWD-3: whatever else comes, what is frequent is never missing.
TEST(CookieNames, FrequentNamesSurviveAFlood) {
  CookieNames names;
  for (int i = 0; i < 100'000; ++i) {
    names.count("random" + std::to_string(i));
    if (i % 40 == 0) names.count("session");
  }
  auto const top = names.top(CookieNames::places);
  EXPECT_EQ(top.size(), CookieNames::places);
  EXPECT_EQ(top.front().name, "session");
  EXPECT_GE(top.front().requests, 2'500U);
}

TEST(CookieNames, AreCutAndSorted) {
  CookieNames names;
  EXPECT_TRUE(names.top(3).empty());
  names.count(std::string(1'000, 'x'));
  for (int i = 0; i < 2; ++i) names.count("b");
  for (int i = 0; i < 2; ++i) names.count("a");
  names.count("");
  auto const top = names.top(3);
  ASSERT_EQ(top.size(), 3U);
  EXPECT_EQ(top[0].name, "a");
  EXPECT_EQ(top[1].name, "b");
  EXPECT_EQ(top[2].name, "");
  EXPECT_EQ(names.top(9).back().name, std::string(CookieNames::longest, 'x'));
}

// FWD-3: once an hour, while over a fifth of the requests of that hour.
TEST(CookieNames, AreLoggedOnceAnHour) {
  CookieNames names;
  base::SteadyTime const start(100s);
  EXPECT_FALSE(names.look(start, 0, 0));
  EXPECT_FALSE(names.look(start + 59min, 10, 10));
  EXPECT_TRUE(names.look(start + 60min, 10, 3));
  EXPECT_FALSE(names.look(start + 61min, 20, 13));
  EXPECT_FALSE(names.look(start + 120min, 110, 23));  // 20 of 100 is no more than a fifth
  EXPECT_TRUE(names.look(start + 180min, 210, 44));
  EXPECT_FALSE(names.look(start + 240min, 210, 44));
}

// FWD-2
TEST(StrippedCookies, AreLoggedOnce) {
  StrippedCookies stripped;
  base::SteadyTime const start(100s);
  stripped.look(start);
  stripped.count("session");
  EXPECT_TRUE(stripped.watching());
  EXPECT_FALSE(stripped.look(start + 4min));
  EXPECT_TRUE(stripped.look(start + 5min));
  EXPECT_FALSE(stripped.watching());
  EXPECT_FALSE(stripped.look(start + 10min));
  StrippedCookies none;
  none.look(start);
  EXPECT_FALSE(none.look(start + 5min));
  EXPECT_FALSE(none.watching());
}

}  // namespace
}  // namespace weir::observe::test
