// VAL-1: what one node stores outside the process is what another one decodes, whatever their clocks say.
#include "weir/store/record.hpp"

#include <array>
#include <limits>

#include <gtest/gtest.h>

#include "unit/store/records.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;

// Another process: its steady clock began at another time, and it last heard the server's time a day later, within a
// nanosecond of a different moment.
Moment const elsewhere{base::SteadyTime(17h + 3ns), here.there + 86'400'000'000};

void expect_same_facts(cache::Facts const& facts, Moment const& moment, cache::Facts const& stored) {
  EXPECT_EQ(facts.status, stored.status);
  EXPECT_EQ(facts.no_cache, stored.no_cache);
  EXPECT_EQ(facts.must_revalidate, stored.must_revalidate);
  EXPECT_EQ(facts.forbids_incident_stale, stored.forbids_incident_stale);
  EXPECT_EQ(facts.shared_explicitly, stored.shared_explicitly);
  EXPECT_EQ(facts.authorized, stored.authorized);
  EXPECT_EQ(facts.heuristic, stored.heuristic);
  EXPECT_EQ(facts.immutable, stored.immutable);
  EXPECT_EQ(facts.policy_not_in_head, stored.policy_not_in_head);
  EXPECT_EQ(facts.fetch_time, stored.fetch_time);
  EXPECT_EQ(to_there(moment, facts.response_time), to_there(here, stored.response_time));
  EXPECT_EQ(facts.initial_age, stored.initial_age);
  EXPECT_EQ(facts.lifetime, stored.lifetime);
  EXPECT_EQ(facts.lifetime_source, stored.lifetime_source);
  EXPECT_EQ(facts.stale_while_revalidate, stored.stale_while_revalidate);
  EXPECT_EQ(facts.stale_if_error, stored.stale_if_error);
  EXPECT_EQ(facts.purge_number, stored.purge_number);
  EXPECT_EQ(facts.etag.offset, stored.etag.offset);
  EXPECT_EQ(facts.etag.size, stored.etag.size);
  EXPECT_EQ(facts.last_modified.offset, stored.last_modified.offset);
  EXPECT_EQ(facts.last_modified.size, stored.last_modified.size);
  EXPECT_EQ(facts.date, stored.date);
}

struct Row {
  char const* name;
  void (*change)(Shape& shape);
};
void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

class RecordOf : public testing::TestWithParam<Row> {};

TEST_P(RecordOf, decodes_to_what_was_stored) {
  Shape shape;
  GetParam().change(shape);
  auto const record = record_of(shape);
  cache::MemoryAccount account;
  for (auto const& moment : {here, elsewhere}) {
    auto const decoded = decode(record, shape.key, 42, moment, account);
    ASSERT_TRUE(decoded) << label(decoded.error());
    auto const& entry = *decoded->entry;
    EXPECT_EQ(entry.key(), shape.key);
    EXPECT_EQ(entry.selector(), shape.selector);
    EXPECT_EQ(entry.head(), shape.head);
    EXPECT_EQ(entry.body(), shape.body);
    EXPECT_EQ(std::vector(entry.tags().begin(), entry.tags().end()), shape.tags);
    expect_same_facts(entry.facts(), moment, shape.facts);
    EXPECT_EQ(entry.facts().began, 42U);
    EXPECT_EQ(entry.checked_at(), shape.facts.purge_number);
    EXPECT_EQ(to_there(moment, decoded->keep_until), to_there(here, shape.keep_until));
    EXPECT_EQ(account.bytes(), entry.footprint());
    EXPECT_EQ(encode(entry, decoded->keep_until, moment), record);
  }
  EXPECT_EQ(account.bytes(), 0U);
}

void with_head(Shape& shape, std::string head, std::uint16_t status) {
  shape.head = std::move(head);
  shape.facts.status = status;
  shape.facts.etag = shape.facts.last_modified = {};
}

constexpr auto longest = std::chrono::seconds(0x80000000U);

INSTANTIATE_TEST_SUITE_P(
    Table, RecordOf,
    testing::Values(Row{"usual", [](Shape&) {}},  //
                    Row{"empty body", [](Shape& s) { s.body.clear(); }},
                    Row{"body of 1 MiB", [](Shape& s) { s.body.assign(1U << 20U, 'x'); }},
                    Row{"body of all bytes",
                        [](Shape& s) {
                          s.body.clear();
                          for (int i = 0; i < 256; ++i) s.body += static_cast<char>(i);
                        }},
                    Row{"body that looks like a record", [](Shape& s) { s.body = record_of({}); }},
                    Row{"refreshed by a 304", [](Shape& s) { s.refreshed = true; }},
                    Row{"refreshed, empty body",
                        [](Shape& s) {
                          s.refreshed = true;
                          s.body.clear();
                        }},
                    Row{"selector", [](Shape& s) { s.selector = std::string("accept\0en\0", 10); }},
                    Row{"one tag", [](Shape& s) { s.tags = {1}; }},
                    Row{"many tags", [](Shape& s) { s.tags.assign(1000, 0xFEDCBA9876543210); }},
                    Row{"tags on a refreshed one",
                        [](Shape& s) {
                          s.tags = {0, std::numeric_limits<cache::Tag>::max()};
                          s.refreshed = true;
                        }},
                    Row{"empty key", [](Shape& s) { s.key.clear(); }},
                    Row{"long binary key", [](Shape& s) { s.key.assign(9000, '\xFF') += '\0'; }},
                    Row{"status line alone", [](Shape& s) { with_head(s, "HTTP/1.1 404 Not Found\r\n", 404); }},
                    Row{"no reason phrase", [](Shape& s) { with_head(s, "HTTP/1.1 200 \r\n", 200); }},
                    Row{"an odd status", [](Shape& s) { with_head(s, "HTTP/1.1 999 ?\r\n", 999); }},
                    Row{"204",
                        [](Shape& s) {
                          with_head(s, "HTTP/1.1 204 No Content\r\n", 204);
                          s.body.clear();
                        }},
                    Row{"bytes above ASCII, tabs, empty values",
                        [](Shape& s) { with_head(s, "HTTP/1.1 200 \xC3\xBC\r\nX: \xFF\t\r\nY: \r\nZ:\r\n", 200); }},
                    Row{"both validators",
                        [](Shape& s) {
                          s.head += "Last-Modified: yesterday\r\n";
                          s.point(s.facts.last_modified, "yesterday");
                        }},
                    Row{"an ETag without a value",
                        [](Shape& s) {
                          s.head += "ETag: \r\n";
                          s.facts.etag = {static_cast<std::uint32_t>(s.head.size() - 2), 0};
                        }},
                    Row{"durations of zero",
                        [](Shape& s) {
                          s.facts.initial_age = s.facts.lifetime = s.facts.stale_while_revalidate = s.facts.stale_if_error =
                              0s;
                          s.facts.fetch_time = {};
                        }},
                    Row{"durations of a nanosecond",
                        [](Shape& s) {
                          s.facts.initial_age = s.facts.lifetime = s.facts.stale_while_revalidate = s.facts.stale_if_error =
                              1ns;
                        }},
                    Row{"the longest durations",
                        [](Shape& s) {
                          s.facts.fetch_time = decltype(s.facts.fetch_time)::max();
                          s.facts.initial_age = longest + s.facts.fetch_time;
                          s.facts.lifetime = s.facts.initial_age + longest;
                          s.facts.stale_while_revalidate = s.facts.stale_if_error = longest;
                          s.keep_until = s.facts.response_time + 2 * longest + 36'500 * 24h;
                        }},
                    Row{"arrived a year before the moment", [](Shape& s) { s.facts.response_time -= 365 * 24h; }},
                    Row{"arrived after the moment", [](Shape& s) { s.facts.response_time += 1min; }},
                    Row{"kept until before the moment", [](Shape& s) { s.keep_until = at(-1h); }},
                    Row{"a Date before 1970", [](Shape& s) { s.facts.date = base::WallTime(-24h); }},
                    Row{"a Date between two microseconds of the past",
                        [](Shape& s) { s.facts.date = base::WallTime(-24h - 3us); }},
                    Row{"the highest purge number", [](Shape& s) { s.facts.purge_number = 8'999'999'999'999'999; }}));

TEST(Record, keeps_each_flag_by_itself) {
  using Set = void (*)(cache::Facts&);
  std::array<Set, 8> const sets{
      [](cache::Facts& f) { f.no_cache = true; },   [](cache::Facts& f) { f.must_revalidate = true; },
      [](cache::Facts& f) { f.authorized = true; }, [](cache::Facts& f) { f.forbids_incident_stale = true; },
      [](cache::Facts& f) { f.heuristic = true; },  [](cache::Facts& f) { f.shared_explicitly = true; },
      [](cache::Facts& f) { f.immutable = true; },  [](cache::Facts& f) { f.policy_not_in_head = true; }};
  for (auto const set : sets) {
    Shape shape;
    set(shape.facts);
    cache::MemoryAccount account;
    auto const decoded = decode(record_of(shape), shape.key, 1, here, account);
    ASSERT_TRUE(decoded) << label(decoded.error());
    expect_same_facts(decoded->entry->facts(), here, shape.facts);
  }
}

// FRS-1: the age is the same on every node, as the steady clock of each goes on from the moment that both know.
TEST(Record, is_as_old_on_another_node) {
  Shape shape;
  shape.facts.response_time = here.here - 90s;
  cache::MemoryAccount account;
  auto const decoded = decode(record_of(shape), shape.key, 1, elsewhere, account);
  ASSERT_TRUE(decoded) << label(decoded.error());
  EXPECT_EQ(elsewhere.here - decoded->entry->facts().response_time, 24h + 90s);
}

// STO-6
TEST(Record, tells_what_orders_it_in_its_first_bytes) {
  Shape shape;
  shape.facts.response_time = here.here + 3s;
  shape.facts.fetch_time = std::chrono::milliseconds(1'250);
  auto const record = record_of(shape);
  Identity const expected{.purge_number = 7, .request_time = here.there + 1'750'000};
  EXPECT_EQ(read_identity(std::string_view(record).substr(0, identity_size)), expected);

  cache::MemoryAccount account;
  EXPECT_EQ(identity_of(*make_entry(account, shape), here), expected);
  auto const decoded = decode(record, shape.key, 1, elsewhere, account);
  ASSERT_TRUE(decoded) << label(decoded.error());
  EXPECT_EQ(identity_of(*decoded->entry, elsewhere), expected);
}

TEST(Record, differs_in_its_first_bytes_from_any_other) {
  Shape other;
  other.body = "Body";
  auto const first_bytes = [](Shape const& shape) { return record_of(shape).substr(0, identity_size); };
  EXPECT_EQ(first_bytes({}), first_bytes({}));
  EXPECT_NE(first_bytes({}), first_bytes(other));
}

// Who changes the layout changes the version too: other nodes may still run the old one.
TEST(Record, has_the_layout_of_version_1) {
  Shape shape;
  shape.selector = "selector";
  shape.tags = {1, 2};
  shape.facts.lifetime_source = cache::LifetimeSource::unknown;  // a zero byte, as before it was told
  auto const record = record_of(shape);
  auto const digest = base::sha256(record);
  EXPECT_EQ(record[2], 1);
  EXPECT_EQ(base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()}),
            "885850d8cc21fafb751ad95723ec3bad949deb9deda357f03901b5436d7251b3");
}

}  // namespace
}  // namespace weir::store
