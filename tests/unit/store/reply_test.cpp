// VAL-1, VAL-3: RESP replies in pieces, and servers that lie.
#include "../../../src/store/reply.hpp"

#include <gtest/gtest.h>

namespace weir::store {
namespace {

std::vector<Reply> read(std::string_view bytes, std::size_t step, std::size_t most = 1 << 20) {
  ReplyReader reader(most);
  std::vector<Reply> replies;
  while (!bytes.empty()) {
    auto const piece = bytes.substr(0, step);
    bytes.remove_prefix(piece.size());
    if (!reader.feed(piece)) break;
    while (auto reply = reader.next()) replies.push_back(std::move(*reply));
    if (reader.broken()) break;
  }
  return replies;
}

bool breaks(std::string_view bytes, std::size_t most = 1 << 20) {
  ReplyReader reader(most);
  if (!reader.feed(bytes)) return true;
  while (reader.next()) {}
  return reader.broken();
}

TEST(Reply, WholeAndInPieces) {
  std::string const binary =
      "+OK\r\n:42\r\n$-1\r\n$4\r\na\r\n" + std::string(1, '\0') + "\r\n*2\r\n$2\r\n17\r\n*1\r\n:1\r\n-ERR no\r\n";
  for (std::size_t const step : {1U, 2U, 3U, 7U, 1000U}) {
    auto const replies = read(binary, step);
    ASSERT_EQ(replies.size(), 6U) << step;
    EXPECT_EQ(replies[0].text(), "OK");
    EXPECT_EQ(replies[1].number(), 42);
    EXPECT_FALSE(replies[1].text());
    EXPECT_TRUE(replies[2].is_null());
    EXPECT_EQ(replies[3].text(), std::string_view("a\r\n\0", 4));
    EXPECT_EQ(replies[4].size(), 2U);
    EXPECT_EQ(replies[4][0].number(), 17);
    EXPECT_EQ(replies[4][1][0].number(), 1);
    EXPECT_TRUE(replies[4][2].is_null());
    EXPECT_TRUE(replies[4][0][0].is_null());
    EXPECT_EQ(replies[5].error(), "ERR no");
    EXPECT_TRUE(replies[5].is_error());
  }
}

TEST(Reply, APartOutlivesTheWhole) {
  auto const part = read("*1\r\n$3\r\nabc\r\n", 1000).at(0)[0];
  EXPECT_EQ(part.text(), "abc");
}

TEST(Reply, NumbersAreWholeOrNone) {
  auto const replies = read("$3\r\n12x\r\n$0\r\n\r\n$2\r\n-7\r\n", 1000);
  EXPECT_FALSE(replies.at(0).number());
  EXPECT_FALSE(replies.at(1).number());
  EXPECT_EQ(replies.at(2).number(), -7);
}

// A purge number below zero, taken as one without a sign, would be the last there is.
TEST(Reply, CountersAreNeverBelowZero) {
  auto const replies = read(":-1\r\n:7\r\n$2\r\n-7\r\n$1\r\n9\r\n$-1\r\n:-9223372036854775808\r\n", 1000);
  std::vector<std::uint64_t> counters;
  for (auto const& reply : replies) counters.push_back(reply.counter());
  EXPECT_EQ(counters, (std::vector<std::uint64_t>{0, 7, 0, 9, 0, 0}));
}

// The scripts and key records know no such numbers either: what began above one of them would be above all purges.
TEST(Reply, CountersBeyondAllNumbersAreNone) {
  auto const replies = read(":8999999999999999\r\n:9000000000000000\r\n$19\r\n9223372036854775807\r\n", 1000);
  std::vector<std::uint64_t> counters;
  for (auto const& reply : replies) counters.push_back(reply.counter());
  EXPECT_EQ(counters, (std::vector<std::uint64_t>{8'999'999'999'999'999, 0, 0}));
}

TEST(Reply, NonsenseBreaks) {
  EXPECT_TRUE(breaks("HTTP/1.1 400 Bad Request\r\n\r\n"));
  EXPECT_TRUE(breaks("\r\n"));
  EXPECT_TRUE(breaks("$-7\r\n"));
  EXPECT_TRUE(breaks("*2000000000\r\n")) << "no gigabytes for a promise";
  EXPECT_TRUE(breaks("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"));
}

TEST(Reply, AnUnfinishedReplyIsBounded) {
  EXPECT_FALSE(breaks("$100\r\n" + std::string(50, 'x'), 64));
  EXPECT_TRUE(breaks("$100\r\n" + std::string(80, 'x'), 64));
}

// Its parts are whole one by one; what they have become counts, and not for the replies after it.
TEST(Reply, AnArrayWithoutEndIsBounded) {
  std::string bytes = "*60000\r\n";
  for (int i = 0; i < 100; ++i) bytes += "$1000\r\n" + std::string(1000, 'x') + "\r\n";
  ReplyReader reader(50'000);
  std::size_t taken = 0;
  while (taken < bytes.size() && reader.feed(std::string_view(bytes).substr(taken, 1000)) && !reader.next()) taken += 1000;
  EXPECT_LE(taken, 50'000U);
  EXPECT_TRUE(reader.broken());
  std::string small;
  for (int i = 0; i < 100; ++i) small += "$1000\r\n" + std::string(1000, 'x') + "\r\n";
  EXPECT_EQ(read(small, 1000, 50'000).size(), 100U);
}

// VAL-3: no array of them is large, all together are.
TEST(Reply, ItemsAreBoundedOverAllItsArrays) {
  std::string items;
  for (int i = 0; i < 40'000; ++i) items += ":1\r\n";
  auto const array = "*40000\r\n" + items;
  EXPECT_TRUE(breaks("*2\r\n" + array + array));
  EXPECT_EQ(read(array + array, 1000).size(), 2U) << "two replies";
  EXPECT_EQ(read("*2\r\n" + array + ":1\r\n", 1000).size(), 1U);
}

TEST(Commands, AreBinarySafe) {
  Commands commands;
  commands.add({"SET", std::string_view("a\r\n\0", 4), ""}).add({"PING"});
  EXPECT_EQ(commands.replies, 2U);
  EXPECT_EQ(commands.bytes, "*3\r\n$3\r\nSET\r\n$4\r\na\r\n" + std::string(1, '\0') + "\r\n$0\r\n\r\n*1\r\n$4\r\nPING\r\n");
}

}  // namespace
}  // namespace weir::store
