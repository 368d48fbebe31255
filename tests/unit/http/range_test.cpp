// Range and Content-Range (RFC 9110 14). SRV-3.
#include "weir/http/range.hpp"

#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(Range, Select) {
  using enum RangeVerdict;
  struct Row {
    std::string_view name;
    std::string_view value;
    std::uint64_t size;
    RangeVerdict verdict;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  for (auto const& row : {
           Row{"first bytes", "bytes=0-4", 10, satisfiable, 0, 4},
           Row{"one byte", "bytes=9-9", 10, satisfiable, 9, 9},
           Row{"to the end", "bytes=3-", 10, satisfiable, 3, 9},
           Row{"last beyond the end", "bytes=3-100", 10, satisfiable, 3, 9},
           Row{"suffix", "bytes=-3", 10, satisfiable, 7, 9},
           Row{"suffix of more than all", "bytes=-100", 10, satisfiable, 0, 9},
           Row{"unit in any case", "BYTES=0-4", 10, satisfiable, 0, 4},
           Row{"space around the range", "bytes= 0-4 ", 10, satisfiable, 0, 4},
           Row{"last as large as can be", "bytes=3-99999999999999999999999", 10, satisfiable, 3, 9},
           Row{"suffix as large as can be", "bytes=-99999999999999999999999", 10, satisfiable, 0, 9},
           Row{"first at the end", "bytes=10-", 10, unsatisfiable},
           Row{"first beyond the end", "bytes=11-20", 10, unsatisfiable},
           Row{"first as large as can be", "bytes=99999999999999999999999-", 10, unsatisfiable},
           Row{"empty suffix", "bytes=-0", 10, unsatisfiable},
           Row{"of an empty body", "bytes=0-", 0, unsatisfiable},
           Row{"suffix of an empty body cannot be written down", "bytes=-5", 0, ignore},
           Row{"last before first", "bytes=5-4", 10, ignore},
           Row{"several", "bytes=0-1,3-4", 10, ignore},
           Row{"several, suffix first", "bytes=-1,3-4", 10, ignore},
           Row{"another unit", "items=0-4", 10, ignore},
           Row{"unit alone", "bytes", 10, ignore},
           Row{"nothing behind the unit", "bytes=", 10, ignore},
           Row{"no unit", "0-4", 10, ignore},
           Row{"space before the equals sign", "bytes =0-4", 10, ignore},
           Row{"dash alone", "bytes=-", 10, ignore},
           Row{"no dash", "bytes=4", 10, ignore},
           Row{"sign", "bytes=+0-4", 10, ignore},
           Row{"space inside", "bytes=0 - 4", 10, ignore},
           Row{"hexadecimal", "bytes=0x0-4", 10, ignore},
           Row{"two dashes", "bytes=0--4", 10, ignore},
           Row{"empty", "", 10, ignore},
       }) {
    SCOPED_TRACE(row.name);
    auto const result = select_range(row.value, row.size);
    EXPECT_EQ(result.verdict, row.verdict);
    EXPECT_EQ(result.range.first, row.first);
    EXPECT_EQ(result.range.last, row.last);
  }
}

// Marks the bytes that the words of RFC 9110 14.1.2 select, one by one.
TEST(Range, AgreesWithMarkingEachByte) {
  for (std::uint64_t size = 0; size < 7; ++size) {
    for (std::uint64_t first = 0; first < 9; ++first) {
      for (std::uint64_t last = first; last < 9; ++last) {
        std::string marked;
        for (std::uint64_t i = 0; i < size; ++i) marked += i >= first && i <= last ? 'x' : '.';
        auto const result = select_range("bytes=" + std::to_string(first) + "-" + std::to_string(last), size);
        bool const any = marked.find('x') != std::string::npos;
        ASSERT_EQ(result.verdict, any ? RangeVerdict::satisfiable : RangeVerdict::unsatisfiable);
        if (!any) continue;
        EXPECT_EQ(result.range.first, marked.find('x'));
        EXPECT_EQ(result.range.last, marked.rfind('x'));
      }
    }
  }
}

TEST(ContentRange, Parsed) {
  struct Row {
    std::string_view name;
    std::string_view value;
    std::uint64_t first;
    std::uint64_t last;
    std::optional<std::uint64_t> complete;
  };
  for (auto const& row : {
           Row{"whole", "bytes 0-9/10", 0, 9, 10},
           Row{"part", "bytes 3-4/10", 3, 4, 10},
           Row{"of unknown length", "bytes 3-4/*", 3, 4, std::nullopt},
           Row{"unit in any case", "Bytes 3-3/4", 3, 3, 4},
       }) {
    SCOPED_TRACE(row.name);
    auto const parsed = parse_content_range(row.value);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->range.first, row.first);
    EXPECT_EQ(parsed->range.last, row.last);
    EXPECT_EQ(parsed->complete_length, row.complete);
  }
}

TEST(ContentRange, Refused) {
  struct Row {
    std::string_view name;
    std::string_view value;
  };
  for (auto const& row : {
           Row{"no range", "bytes */10"},
           Row{"last before first", "bytes 4-3/10"},
           Row{"last at the length", "bytes 0-10/10"},
           Row{"first too large", "bytes 99999999999999999999-99999999999999999999/*"},
           Row{"last too large", "bytes 0-99999999999999999999/*"},
           Row{"length too large", "bytes 0-1/99999999999999999999"},
           Row{"another unit", "items 0-1/2"},
           Row{"equals sign", "bytes=0-1/2"},
           Row{"no length", "bytes 0-1"},
           Row{"empty length", "bytes 0-1/"},
           Row{"two lengths", "bytes 0-1/2/3"},
           Row{"dash behind the slash", "bytes 01/2-3"},
           Row{"no first", "bytes -1/2"},
           Row{"no last", "bytes 0-/2"},
           Row{"spaces", "bytes 0 - 1/2"},
           Row{"unit alone", "bytes"},
           Row{"empty", ""},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_FALSE(parse_content_range(row.value));
  }
}

}  // namespace
}  // namespace weir::http
