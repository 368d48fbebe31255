// SRV-1, SRV-3: the client's conditionals and range (RFC 9110 13.2.2, 14.2).
#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/conditional.hpp"

namespace weir::cache::test {
namespace {

// A 200 of 100 bytes, tagged "a", last modified 60 s before noon, dated noon.
struct Row {
  char const* name;
  char const* request;
  Cut cut;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  void (*change)(Representation&) = [](Representation&) {};
};
void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

class SelectionOf : public testing::TestWithParam<Row> {};

TEST_P(SelectionOf, Representation) {  // SRV-1, SRV-3
  Row const& row = GetParam();
  std::string const modified = date_text(noon.wall - 60s);
  Representation representation{.status = 200, .etag = "\"a\"", .last_modified = modified, .date = noon.wall, .size = 100};
  row.change(representation);
  WireRequest const wire(row.request);
  auto const selection = select(wire.request, representation, noon.wall);
  EXPECT_EQ(selection.cut, row.cut);
  EXPECT_EQ(selection.range.first, row.first);
  EXPECT_EQ(selection.range.last, row.last);
}

using enum Cut;
constexpr auto untagged = [](Representation& r) { r.etag = {}; };
constexpr auto weak = [](Representation& r) { r.etag = "W/\"a\""; };
constexpr auto undated = [](Representation& r) { r.last_modified = {}; };
constexpr auto not_found = [](Representation& r) { r.status = 404; };
constexpr auto unsized = [](Representation& r) { r.size.reset(); };
constexpr auto just_modified = [](Representation& r) { r.date = noon.wall - 60s; };

INSTANTIATE_TEST_SUITE_P(
    Conditionals, SelectionOf,
    testing::Values(
        Row{"none", "GET /", whole}, Row{"same tag", "GET /\nIf-None-Match: \"a\"", not_modified},
        Row{"same tag, HEAD", "HEAD /\nIf-None-Match: \"a\"", not_modified},
        Row{"POST has none", "POST /\nIf-None-Match: \"a\"", whole},
        Row{"another tag", "GET /\nIf-None-Match: \"b\"", whole},
        Row{"weak comparison", "GET /\nIf-None-Match: W/\"a\"", not_modified},
        Row{"weak stored tag", "GET /\nIf-None-Match: \"a\"", not_modified, 0, 0, weak},
        Row{"one of a list", "GET /\nIf-None-Match: \"b\", \"a\"", not_modified},
        Row{"one of two lines", "GET /\nIf-None-Match: \"b\"\nIf-None-Match: \"a\"", not_modified},
        Row{"star", "GET /\nIf-None-Match: *", not_modified},
        Row{"star without a tag", "GET /\nIf-None-Match: *", not_modified, 0, 0, untagged},
        Row{"tag without a stored one", "GET /\nIf-None-Match: \"a\"", whole, 0, 0, untagged},
        Row{"conditionals are for a 200", "GET /\nIf-None-Match: \"a\"", whole, 0, 0, not_found},
        Row{"not modified since", "GET /\nIf-Modified-Since: $-60", not_modified},
        Row{"not modified since later", "GET /\nIf-Modified-Since: $+0", not_modified},
        Row{"modified since", "GET /\nIf-Modified-Since: $-61", whole},
        Row{"since, by Date without Last-Modified", "GET /\nIf-Modified-Since: $+0", not_modified, 0, 0, undated},
        Row{"since before Date without Last-Modified", "GET /\nIf-Modified-Since: $-1", whole, 0, 0, undated},
        Row{"since is no date", "GET /\nIf-Modified-Since: yesterday", whole},
        Row{"since twice", "GET /\nIf-Modified-Since: $-60\nIf-Modified-Since: $-60", whole},
        Row{"a tag that fails hides since", "GET /\nIf-None-Match: \"b\"\nIf-Modified-Since: $+0", whole},
        Row{"If-Match holds", "GET /\nIf-Match: \"b\", \"a\"", whole},
        Row{"If-Match holds on the second line", "GET /\nIf-Match: \"b\"\nIf-Match: \"a\"", whole},
        Row{"If-Match fails", "GET /\nIf-Match: \"b\"", precondition_failed},
        Row{"If-Match is strong", "GET /\nIf-Match: \"a\"", precondition_failed, 0, 0, weak},
        Row{"If-Match with a backslash, which escapes nothing", "GET /\nIf-Match: \"x\\\", \"a\"", whole},
        Row{"If-Match star", "GET /\nIf-Match: *", whole, 0, 0, untagged},
        Row{"unmodified since holds", "GET /\nIf-Unmodified-Since: $-60", whole},
        Row{"unmodified since fails", "GET /\nIf-Unmodified-Since: $-61", precondition_failed},
        Row{"unmodified since is no date", "GET /\nIf-Unmodified-Since: never", whole},
        Row{"unmodified since without Last-Modified", "GET /\nIf-Unmodified-Since: $-61", whole, 0, 0, undated},
        Row{"If-Match hides unmodified since", "GET /\nIf-Match: \"a\"\nIf-Unmodified-Since: $-61", whole},
        Row{"a failed precondition goes first", "GET /\nIf-Match: \"b\"\nIf-None-Match: \"a\"", precondition_failed}),
    row_name);

INSTANTIATE_TEST_SUITE_P(
    Ranges, SelectionOf,
    testing::Values(Row{"range", "GET /\nRange: bytes=10-19", partial, 10, 19},
                    Row{"to the end", "GET /\nRange: bytes=90-", partial, 90, 99},
                    Row{"from the end", "GET /\nRange: bytes=-5", partial, 95, 99},
                    Row{"behind the end", "GET /\nRange: bytes=100-", unsatisfiable},
                    Row{"several ranges get the whole", "GET /\nRange: bytes=0-1,5-6", whole},
                    Row{"another unit", "GET /\nRange: lines=0-1", whole},
                    Row{"two lines", "GET /\nRange: bytes=0-1\nRange: bytes=0-1", whole},
                    Row{"HEAD has none", "HEAD /\nRange: bytes=0-1", whole},
                    Row{"of a 200 only", "GET /\nRange: bytes=0-1", whole, 0, 0, not_found},
                    Row{"of unknown size", "GET /\nRange: bytes=0-1", whole, 0, 0, unsized},
                    Row{"304 goes before", "GET /\nIf-None-Match: \"a\"\nRange: bytes=0-1", not_modified},
                    Row{"If-Range by tag", "GET /\nRange: bytes=0-1\nIf-Range: \"a\"", partial, 0, 1},
                    Row{"If-Range by another tag", "GET /\nRange: bytes=0-1\nIf-Range: \"b\"", whole},
                    Row{"If-Range by a weak tag", "GET /\nRange: bytes=0-1\nIf-Range: W/\"a\"", whole, 0, 0, weak},
                    Row{"If-Range of a weak stored tag", "GET /\nRange: bytes=0-1\nIf-Range: \"a\"", whole, 0, 0, weak},
                    Row{"If-Range fails, unsatisfiable too", "GET /\nRange: bytes=100-\nIf-Range: \"b\"", whole},
                    Row{"If-Range by date", "GET /\nRange: bytes=0-1\nIf-Range: $-60", partial, 0, 1},
                    Row{"If-Range by a later date", "GET /\nRange: bytes=0-1\nIf-Range: $-59", whole},
                    Row{"If-Range by date, modified in the second of Date", "GET /\nRange: bytes=0-1\nIf-Range: $-60", whole,
                        0, 0, just_modified},
                    Row{"If-Range by date without Last-Modified", "GET /\nRange: bytes=0-1\nIf-Range: $-60", whole, 0, 0,
                        undated},
                    Row{"If-Range is nothing", "GET /\nRange: bytes=0-1\nIf-Range: soon", whole},
                    Row{"If-Range twice", "GET /\nRange: bytes=0-1\nIf-Range: \"a\"\nIf-Range: \"a\"", whole},
                    Row{"If-Range alone", "GET /\nIf-Range: \"a\"", whole}),
    row_name);

TEST(Conditionals, AreSeen) {  // SRV-1
  for (char const* name : {"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Range"})
    EXPECT_TRUE(has_conditionals(WireRequest("GET /\nHost: a\n" + std::string(name) + ": x").fields())) << name;
  EXPECT_FALSE(has_conditionals(WireRequest("GET /\nHost: a\nIf-Range: \"a\"\nAccept: x").fields()));
  EXPECT_FALSE(has_conditionals({}));
}

}  // namespace
}  // namespace weir::cache::test
