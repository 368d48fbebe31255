// SPEC section 12: durations, sizes and networks as text.
#include <gtest/gtest.h>

#include "weir/config/load.hpp"

namespace weir::config::test {
namespace {

TEST(Units, Durations) {
  struct Row {
    char const* text;
    std::optional<Duration> duration;
  };
  Row const rows[] = {{"250ms", 250ms},
                      {"10s", 10s},
                      {"5m", 5min},
                      {"1h", 1h},
                      {"1d", 24h},
                      {"off", 0s},
                      {"0s", 0s},
                      {"36500d", 24h * 36500},
                      {"36501d", {}},
                      {"10", {}},
                      {"", {}},
                      {"s", {}},
                      {"1.5s", {}},
                      {"-1s", {}},
                      {"01s", {}},
                      {"10 s", {}},
                      {"10S", {}},
                      {"1us", {}},
                      {"1w", {}},
                      {"99999999999999999999s", {}},
                      {"18446744073709551615ms", {}}};
  for (Row const& row : rows) EXPECT_EQ(parse_duration(row.text), row.duration) << row.text;
}

TEST(Units, Sizes) {
  struct Row {
    char const* text;
    std::optional<std::uint64_t> size;
  };
  Row const rows[] = {{"100B", 100},
                      {"64KiB", 65536},
                      {"512MiB", 512ULL << 20},
                      {"1GiB", 1ULL << 30},
                      {"2TiB", 2ULL << 40},
                      {"0B", 0},
                      {"0", {}},
                      {"64", {}},
                      {"64KB", {}},
                      {"64kib", {}},
                      {"64K", {}},
                      {"1.5GiB", {}},
                      {"", {}},
                      {"B", {}},
                      {"064B", {}},
                      {"-1B", {}},
                      {"8388608TiB", {}},
                      {"8388607TiB", 8388607ULL << 40},
                      {"off", {}}};
  for (Row const& row : rows) EXPECT_EQ(parse_size(row.text), row.size) << row.text;
}

TEST(Units, Networks) {
  auto const v4 = parse_network("10.1.2.3");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->prefix, 128U);
  EXPECT_EQ(v4->address[10], 0xff);
  EXPECT_EQ(v4->address[12], 10);
  EXPECT_EQ(v4->address[15], 3);
  EXPECT_EQ(parse_network("10.0.0.0/8")->prefix, 104U);
  EXPECT_EQ(parse_network("0.0.0.0/0")->prefix, 96U);
  EXPECT_EQ(parse_network("::/0")->prefix, 0U);
  EXPECT_EQ(parse_network("fd00::/8")->address[0], 0xfd);
  for (char const* wrong :
       {"", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "::1/64", "::1/129", "10.0.0.0/08", "a", "10.0.0.0/8/8"})
    EXPECT_FALSE(parse_network(wrong)) << wrong;
  EXPECT_FALSE(parse_network(std::string_view("10.0.0.1\0x", 10)));
}

}  // namespace
}  // namespace weir::config::test
