// VAL-1: what an older or newer version, a foreign program or a flipped bit made of a record is refused.
#include <limits>

#include <gtest/gtest.h>

#include "unit/store/records.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;

Shape all_parts() {
  Shape shape;
  shape.selector = "selector";
  shape.tags = {1, 2};
  return shape;
}

TEST(DamagedRecord, is_refused_whichever_bit_is_flipped) {
  auto const record = record_of(all_parts());
  ASSERT_EQ(verdict_on(record), "fine");
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    auto damaged = record;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1U << (bit % 8)));
    ASSERT_NE(verdict_on(damaged), "fine") << "bit " << bit;
  }
}

TEST(DamagedRecord, is_refused_whichever_byte_of_a_large_one_is_flipped) {
  auto shape = all_parts();
  shape.body.assign(20'000, 'x');
  auto record = record_of(shape);
  cache::MemoryAccount account;
  for (char& byte : record) {
    byte = static_cast<char>(~byte);
    ASSERT_FALSE(decode(record, shape.key, 1, here, account)) << "byte " << (&byte - record.data());
    byte = static_cast<char>(~byte);
  }
  EXPECT_EQ(verdict_on(record), "fine");
}

TEST(DamagedRecord, is_refused_wherever_it_is_cut) {
  auto const record = record_of(all_parts());
  for (std::size_t size = 0; size < record.size(); ++size) {
    auto const cut = record.substr(0, size);
    ASSERT_EQ(verdict_on(cut), size < identity_size ? "too-short" : "wrong-size") << size;
  }
  EXPECT_EQ(verdict_on(record + '\0'), "wrong-size");
  EXPECT_EQ(verdict_on(record + record), "wrong-size");
}

// The body takes what is left, so any cut of it is a record if somebody says so with the right checksum: all others are not.
TEST(DamagedRecord, is_refused_wherever_it_is_cut_and_sealed_in_front_of_the_body) {
  auto const shape = all_parts();
  auto const record = record_of(shape);
  auto const in_front = record.size() - shape.body.size();
  for (std::size_t size = identity_size; size < in_front; ++size)
    ASSERT_NE(verdict_on(sealed(record.substr(0, size))), "fine") << size;
  EXPECT_EQ(verdict_on(sealed(record.substr(0, in_front))), "fine");
}

TEST(DamagedRecord, is_of_another_version_though_nothing_is_wrong_with_it) {
  for (int const version : {0, 2, 255}) {
    auto record = record_of({});
    record[2] = static_cast<char>(version);
    EXPECT_EQ(verdict_on(sealed(record)), "other-version") << version;
    EXPECT_EQ(read_identity(record), std::nullopt);
  }
}

TEST(DamagedRecord, is_none_of_ours) {
  EXPECT_EQ(verdict_on(""), "too-short");
  EXPECT_EQ(verdict_on("OK"), "too-short");
  EXPECT_EQ(verdict_on(std::string(1000, '\0')), "not-a-record");
  EXPECT_EQ(verdict_on("{\"json\": \"of a program that shares the server\"}"), "not-a-record");
  EXPECT_EQ(read_identity(""), std::nullopt);
  EXPECT_EQ(read_identity(std::string(identity_size, 'W')), std::nullopt);
  EXPECT_EQ(read_identity(record_of({}).substr(0, identity_size - 1)), std::nullopt);
}

TEST(DamagedRecord, answers_no_other_key) {
  for (char const* key : {"", "a", "a ke", "a kez", "b key", "a keyy", "A key"})
    EXPECT_EQ(verdict_on(record_of({}), key), "other-key") << key;
  // Nor is what follows the key taken for a part of it.
  auto shape = all_parts();
  EXPECT_EQ(verdict_on(record_of(shape), shape.key + shape.selector), "other-key");
}

struct PatchRow {
  char const* name;
  std::size_t offset, size;
  std::uint64_t value;
  char const* verdict = "malformed";
};
void PrintTo(PatchRow const& row, std::ostream* out) { *out << row.name; }

class PatchedRecord : public testing::TestWithParam<PatchRow> {};

TEST_P(PatchedRecord, is_refused_for_what_is_in_it) {
  auto const& row = GetParam();
  auto record = record_of(all_parts());
  put(record, row.offset, row.size, row.value);
  EXPECT_EQ(verdict_on(sealed(record)), row.verdict);
}

constexpr auto minus_one = std::numeric_limits<std::uint64_t>::max();
constexpr auto lowest = std::uint64_t{1} << 63U;
constexpr auto highest = lowest - 1;
// In µs of the server. What is 300 years away cannot be told in ns.
constexpr std::uint64_t in_years(std::uint64_t years) { return 1'800'000'000'000'000 + years * 365 * 86'400 * 1'000'000; }

INSTANTIATE_TEST_SUITE_P(
    Table, PatchedRecord,
    testing::Values(
        PatchRow{"as it was", 2, 1, 1, "fine"}, PatchRow{"first reserved byte", 3, 1, 1},
        PatchRow{"last reserved byte", 7, 1, 0x80}, PatchRow{"the last purge number", 8, 8, 8'999'999'999'999'999, "fine"},
        PatchRow{"a purge number beyond it", 8, 8, 9'000'000'000'000'000},
        PatchRow{"a purge number before it wraps", 8, 8, minus_one},
        PatchRow{"request at the beginning of time", 16, 8, lowest}, PatchRow{"request at the end of time", 16, 8, highest},
        PatchRow{"request at the epoch minus one", 16, 8, minus_one, "fine"},
        PatchRow{"request in 100 years", 16, 8, in_years(100)}, PatchRow{"request in 300 years", 16, 8, in_years(300)},
        PatchRow{"kept to the end of time", 40, 8, highest}, PatchRow{"kept to its beginning", 40, 8, lowest},
        PatchRow{"kept for 280 years", 40, 8, in_years(280)}, PatchRow{"kept for 300 years", 40, 8, in_years(300)},
        PatchRow{"age below zero", 48, 8, minus_one}, PatchRow{"endless age", 48, 8, highest},
        PatchRow{"lifetime below zero", 56, 8, minus_one}, PatchRow{"endless lifetime", 56, 8, highest},
        PatchRow{"stale window below zero", 64, 8, lowest}, PatchRow{"endless stale window", 64, 8, highest},
        PatchRow{"error window below zero", 72, 8, minus_one}, PatchRow{"endless error window", 72, 8, highest},
        PatchRow{"Date at the end of time", 80, 8, highest}, PatchRow{"Date at its beginning", 80, 8, lowest},
        PatchRow{"Date in 300 years", 80, 8, in_years(300)}, PatchRow{"a status that the head has not", 92, 2, 404},
        PatchRow{"no status", 92, 2, 0}, PatchRow{"all flags", 94, 1, 0xFF, "fine"},
        PatchRow{"no source of a lifetime", 95, 1, 9}, PatchRow{"ETag behind the head", 96, 4, 5000},
        PatchRow{"ETag where the head ends", 96, 4, 80}, PatchRow{"ETag far behind the head", 96, 4, 0xFFFFFFFF},
        PatchRow{"ETag longer than the head", 100, 4, 5000}, PatchRow{"endless ETag", 100, 4, 0xFFFFFFFF},
        PatchRow{"ETag over the end of its line", 100, 4, 5}, PatchRow{"Last-Modified behind the head", 104, 4, 0xFFFFFFFF},
        PatchRow{"endless Last-Modified", 108, 4, 0xFFFFFFFF}, PatchRow{"the whole head is Last-Modified", 108, 4, 40},
        PatchRow{"key too long", 112, 4, 6, "other-key"}, PatchRow{"key too short", 112, 4, 4, "other-key"},
        PatchRow{"endless key", 112, 4, 0xFFFFFFFF}, PatchRow{"selector takes the head", 116, 4, 20},
        PatchRow{"selector gives to the head", 116, 4, 7}, PatchRow{"endless selector", 116, 4, 0xFFFFFFFF},
        PatchRow{"head takes from the body", 120, 4, 90}, PatchRow{"no head", 120, 4, 0},
        PatchRow{"endless head", 120, 4, 0xFFFFFFFF}, PatchRow{"one tag too few", 124, 4, 1, "other-key"},
        PatchRow{"one tag too many", 124, 4, 3}, PatchRow{"endless tags", 124, 4, 0xFFFFFFFF}));

struct HeadRow {
  char const* name;
  std::string head;
  std::uint16_t status = 200;
};
void PrintTo(HeadRow const& row, std::ostream* out) { *out << row.name; }

class RecordWithHead : public testing::TestWithParam<HeadRow> {};

TEST_P(RecordWithHead, is_refused) {
  Shape shape;
  shape.head = GetParam().head;
  shape.facts.status = GetParam().status;
  shape.facts.etag = {};
  shape.body.clear();
  EXPECT_EQ(verdict_on(record_of(shape)), "malformed");
}

INSTANTIATE_TEST_SUITE_P(
    Table, RecordWithHead,
    testing::Values(
        HeadRow{"none", ""}, HeadRow{"no end of line", "HTTP/1.1 200 OK"}, HeadRow{"a line feed alone", "HTTP/1.1 200 OK\n"},
        HeadRow{"HTTP/1.0", "HTTP/1.0 200 OK\r\n"}, HeadRow{"something else", "HTTP/2.0 200 OK\r\n"},
        HeadRow{"no status", "HTTP/1.1 \r\n"}, HeadRow{"no space behind the status", "HTTP/1.1 200\r\n"},
        HeadRow{"a letter behind the status", "HTTP/1.1 200OK\r\n"},
        HeadRow{"status of four digits", "HTTP/1.1 2000 OK\r\n"}, HeadRow{"status of two", "HTTP/1.1 20  OK\r\n", 20},
        HeadRow{"status with a sign", "HTTP/1.1 -20 OK\r\n", 20}, HeadRow{"status in words", "HTTP/1.1 ten OK\r\n", 0},
        HeadRow{"interim response", "HTTP/1.1 103 Early Hints\r\n", 103},
        HeadRow{"switched protocols", "HTTP/1.1 101 Switching Protocols\r\n", 101},
        HeadRow{"another status than the facts", "HTTP/1.1 301 Moved Permanently\r\n"},
        HeadRow{"last line without end", "HTTP/1.1 200 OK\r\nA: b"},
        HeadRow{"blank line at the end", "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"},
        HeadRow{"blank line and a second response", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n"},
        HeadRow{"line feed in a value", "HTTP/1.1 200 OK\r\nA: b\nSet-Cookie: c\r\n"},
        HeadRow{"carriage return in a value", "HTTP/1.1 200 OK\r\nA: b\rc\r\n"},
        HeadRow{"carriage return in the reason", "HTTP/1.1 200 O\rK\r\n"},
        HeadRow{"NUL in a value", std::string("HTTP/1.1 200 OK\r\nA: \0\r\n", 23)},
        HeadRow{"NUL in the reason", std::string("HTTP/1.1 200 \0\r\n", 16)},
        HeadRow{"line without colon", "HTTP/1.1 200 OK\r\nA b\r\n"}, HeadRow{"no name", "HTTP/1.1 200 OK\r\n: b\r\n"},
        HeadRow{"space before the colon", "HTTP/1.1 200 OK\r\nA : b\r\n"},
        HeadRow{"folded line", "HTTP/1.1 200 OK\r\nA: b\r\n c: d\r\n"},
        HeadRow{"a length of its own", "HTTP/1.1 200 OK\r\ncontent-LENGTH: 4\r\n"},
        HeadRow{"a coding of its own", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"}));

TEST(DamagedRecord, has_no_body_where_there_can_be_none) {
  for (std::uint16_t const status : {std::uint16_t{204}, std::uint16_t{304}}) {
    Shape shape;
    shape.head = "HTTP/1.1 " + std::to_string(status) + " \r\n";
    shape.facts.status = status;
    shape.facts.etag = {};
    EXPECT_EQ(verdict_on(record_of(shape)), "malformed") << status;
  }
}

// A store whose clock says what no clock can: nothing overflows, whatever the verdict is.
TEST(DamagedRecord, decodes_to_sound_times_at_any_moment) {
  auto const low = std::numeric_limits<std::int64_t>::min();
  auto const high = std::numeric_limits<std::int64_t>::max();
  for (auto const steady : {base::SteadyTime::min(), base::SteadyTime(), here.here, base::SteadyTime::max()}) {
    for (auto const there : {low, std::int64_t{-1}, std::int64_t{0}, here.there, high}) {
      Moment const moment{steady, there};
      bool const tellable = there != low && there != high && steady != base::SteadyTime::max();
      EXPECT_EQ(verdict_on(record_of({}), Shape().key, moment), tellable ? "fine" : "malformed") << there;
      verdict_on(record_of({}, moment));
      verdict_on(record_of({}, moment), Shape().key, moment);
    }
  }
}

}  // namespace
}  // namespace weir::store
