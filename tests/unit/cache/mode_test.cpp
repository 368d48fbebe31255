#include "weir/cache/mode.hpp"

#include <gtest/gtest.h>

namespace weir::cache {
namespace {

using namespace std::chrono_literals;

constexpr base::SteadyTime start{1h};

// MODE-1
TEST(CurrentMode, EndsByItselfAndSaysSoOnce) {
  CurrentMode mode;
  EXPECT_EQ(mode.at(start), Mode::normal);
  EXPECT_EQ(mode.left(start), 0s);
  EXPECT_FALSE(mode.ended(start));
  for (auto const word : {Mode::stale_on_error, Mode::bypass}) {
    mode.set(word, start + 10s);
    EXPECT_EQ(mode.at(start), word);
    EXPECT_EQ(mode.left(start + 4s), 6s);
    EXPECT_FALSE(mode.ended(start + 9s));
    EXPECT_EQ(mode.at(start + 10s), Mode::normal);
    EXPECT_EQ(mode.left(start + 11s), 0s);
    EXPECT_EQ(mode.ended(start + 11s), word);
    EXPECT_FALSE(mode.ended(start + 11s));
  }
}

// MODE-1
TEST(CurrentMode, NormalHasNoEnd) {
  CurrentMode mode;
  mode.set(Mode::bypass, start + 10s);
  mode.set(Mode::normal, start + 10s);
  EXPECT_EQ(mode.at(start), Mode::normal);
  EXPECT_FALSE(mode.ended(start + 1h));
}

// MODE-1
TEST(CurrentMode, WordsAreReadAsTheyAreWritten) {
  for (auto const mode : {Mode::normal, Mode::stale_on_error, Mode::bypass}) EXPECT_EQ(parse_mode(label(mode)), mode);
  for (auto const* text : {"", "Normal", "stale", "stale_on_error", "off"}) EXPECT_FALSE(parse_mode(text)) << text;
}

}  // namespace
}  // namespace weir::cache
