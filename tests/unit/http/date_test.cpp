// HTTP-date (RFC 9110 5.6.7). FRS-1: what is no date gives no freshness.
#include "weir/http/date.hpp"

#include <ctime>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using std::chrono::seconds;

base::WallTime at(std::int64_t since_1970) { return base::WallTime(seconds(since_1970)); }

std::int64_t const in_1994 = 784111777;
base::WallTime const now_2024 = at(1710000000);

std::string formatted(std::int64_t time, char const* format) {
  std::time_t const t = time;
  std::tm parts{};
  gmtime_r(&t, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

std::string written(base::WallTime time) {
  std::string out(date_size + 1, '|');
  write_date(time, out.data());
  EXPECT_EQ(out.back(), '|') << "no byte behind the date is touched";
  out.pop_back();
  return out;
}

TEST(Date, Accepted) {
  struct Row {
    std::string_view name;
    std::string_view text;
    std::int64_t time;
  };
  for (auto const& row : {
           Row{"IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", in_1994},
           Row{"RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", in_1994},
           Row{"asctime, padded by a space", "Sun Nov  6 08:49:37 1994", in_1994},
           Row{"asctime, two digits", "Wed Nov 16 08:49:37 1994", in_1994 + 10 * 86400},
           Row{"asctime, padded by a zero", "Sun Nov 06 08:49:37 1994", in_1994},
           Row{"the wrong day's name", "Mon, 06 Nov 1994 08:49:37 GMT", in_1994},
           Row{"zone in lower case (RFC 9111 4.2)", "Sun, 06 Nov 1994 08:49:37 gMt", in_1994},
           Row{"day in capitals", "SUN, 06 Nov 1994 08:49:37 GMT", in_1994},
           Row{"month in capitals", "Sun, 06 NOV 1994 08:49:37 GMT", in_1994},
           Row{"RFC 850 in lower case", "sunday, 06-nov-94 08:49:37 gmt", in_1994},
           Row{"asctime in capitals", "SUN NOV  6 08:49:37 1994", in_1994},
           Row{"UTC for GMT (RFC 9111 4.2)", "Sun, 06 Nov 1994 08:49:37 UTC", in_1994},
           Row{"the epoch", "Thu, 01 Jan 1970 00:00:00 GMT", 0},
           Row{"before the epoch", "Wed, 31 Dec 1969 23:59:59 GMT", -1},
           Row{"last second of a day", "Sun, 06 Nov 1994 23:59:59 GMT", 784166399},
           Row{"a leap second", "Sat, 31 Dec 2016 23:59:60 GMT", 1483228800},
           Row{"a leap day", "Thu, 29 Feb 2024 00:00:00 GMT", 1709164800},
           Row{"a leap day of a fourth century", "Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
       }) {
    SCOPED_TRACE(row.name);
    auto const time = parse_date(row.text, now_2024);
    ASSERT_TRUE(time);
    EXPECT_EQ(base::whole_seconds(time->time_since_epoch()), row.time);
  }
}

TEST(Date, Refused) {
  struct Row {
    std::string_view name;
    std::string_view text;
  };
  for (auto const& row : {
           Row{"empty", ""},
           Row{"zero, the common Expires", "0"},
           Row{"minus one", "-1"},
           Row{"another zone", "Sun, 06 Nov 1994 08:49:37 PST"},
           Row{"a zone that begins like ours", "Sun, 06 Nov 1994 08:49:37 UTC+1"},
           Row{"an offset", "Sun, 06 Nov 1994 08:49:37 +0000"},
           Row{"no zone", "Sun, 06 Nov 1994 08:49:37"},
           Row{"no such day's name", "Sux, 06 Nov 1994 08:49:37 GMT"},
           Row{"no such month", "Sun, 06 Nox 1994 08:49:37 GMT"},
           Row{"one digit of a day", "Sun, 6 Nov 1994 08:49:37 GMT"},
           Row{"two digits of a year", "Sun, 06 Nov 94 08:49:37 GMT"},
           Row{"no comma", "Sun 06 Nov 1994 08:49:37 GMT"},
           Row{"two spaces", "Sun,  06 Nov 1994 08:49:37 GMT"},
           Row{"text behind it", "Sun, 06 Nov 1994 08:49:37 GMT;"},
           Row{"space before it", " Sun, 06 Nov 1994 08:49:37 GMT"},
           Row{"two dates", "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT"},
           Row{"hour 24", "Sun, 06 Nov 1994 24:00:00 GMT"},
           Row{"minute 60", "Sun, 06 Nov 1994 08:60:00 GMT"},
           Row{"second 61", "Sun, 06 Nov 1994 08:49:61 GMT"},
           Row{"day 0", "Sun, 00 Nov 1994 08:49:37 GMT"},
           Row{"31 November", "Sun, 31 Nov 1994 08:49:37 GMT"},
           Row{"29 February of a common year", "Sun, 29 Feb 2023 08:49:37 GMT"},
           Row{"29 February 1900", "Thu, 29 Feb 1900 08:49:37 GMT"},
           Row{"a sign in a number", "Sun, 06 Nov 1994 +8:49:37 GMT"},
           Row{"cut", "Sun, 06 Nov 1994 08:4"},
           Row{"RFC 850 with a short day", "Sun, 06-Nov-94 08:49:37 GMT"},
           Row{"RFC 850 with four digits", "Sunday, 06-Nov-1994 08:49:37 GMT"},
           Row{"RFC 850 with spaces", "Sunday, 06 Nov 94 08:49:37 GMT"},
           Row{"RFC 850 without a zone", "Sunday, 06-Nov-94 08:49:37"},
           Row{"RFC 850, 30 February", "Sunday, 30-Feb-94 08:49:37 GMT"},
           Row{"asctime with a zone", "Sun Nov  6 08:49:37 1994 GMT"},
           Row{"asctime, unpadded", "Sun Nov 6 08:49:37 1994"},
           Row{"asctime, day 0", "Sun Nov  0 08:49:37 1994"},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(parse_date(row.text, now_2024), std::nullopt);
  }
}

TEST(Date, TwoDigitYearsAreAtMostFiftyYearsAhead) {
  struct Row {
    std::string_view name;
    std::string_view now;
    std::string_view text;
    std::string_view means;
  };
  for (auto const& row : {
           Row{"fifty years ahead to the second", "Sat, 09 Mar 2024 16:00:00 GMT", "Friday, 09-Mar-74 16:00:00 GMT",
               "Fri, 09 Mar 2074 16:00:00 GMT"},
           Row{"a second more", "Sat, 09 Mar 2024 16:00:00 GMT", "Saturday, 09-Mar-74 16:00:01 GMT",
               "Sat, 09 Mar 1974 16:00:01 GMT"},
           Row{"the next century is near", "Fri, 31 Dec 1999 00:00:00 GMT", "Saturday, 01-Jan-05 00:00:00 GMT",
               "Sat, 01 Jan 2005 00:00:00 GMT"},
           Row{"the last century", "Sat, 09 Mar 2024 16:00:00 GMT", "Friday, 31-Dec-99 00:00:00 GMT",
               "Fri, 31 Dec 1999 00:00:00 GMT"},
           Row{"this year", "Sat, 09 Mar 2024 16:00:00 GMT", "Sunday, 10-Mar-24 00:00:00 GMT",
               "Sun, 10 Mar 2024 00:00:00 GMT"},
       }) {
    SCOPED_TRACE(row.name);
    auto const now = parse_date(row.now, now_2024);
    ASSERT_TRUE(now);
    auto const time = parse_date(row.text, *now);
    ASSERT_TRUE(time);
    EXPECT_EQ(written(*time), row.means);
  }
}

TEST(Date, FarDatesAreMovedToTheBound) {
  EXPECT_EQ(parse_date("Fri, 31 Dec 9999 23:59:59 GMT", now_2024), max_date);
  EXPECT_EQ(parse_date("Fri Dec 31 23:59:59 9999", now_2024), max_date);
  auto const oldest = parse_date("Mon, 01 Jan 0001 00:00:00 GMT", now_2024);
  ASSERT_TRUE(oldest);
  EXPECT_EQ(oldest->time_since_epoch(), -max_date.time_since_epoch());
  EXPECT_GT((max_date - *oldest).count(), 0) << "the difference of any two fits";
}

TEST(Date, FractionsAreCutTowardsThePast) {
  EXPECT_EQ(written(at(in_1994) + std::chrono::milliseconds(999)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(written(at(0) - std::chrono::nanoseconds(1)), "Wed, 31 Dec 1969 23:59:59 GMT");
}

TEST(Date, RoundTripFrom1970To2100) {
  std::mt19937_64 random(1);            // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run every time
  std::int64_t const end = 4133980800;  // 2101-01-01
  std::int64_t const fifty_years = 50LL * 365 * 86400;
  for (std::int64_t day = 0; day < end; day += 86400) {
    std::int64_t const time = day + static_cast<std::int64_t>(random() % 86400);
    auto const imf = formatted(time, "%a, %d %b %Y %H:%M:%S GMT");
    ASSERT_EQ(written(at(time)), imf);
    ASSERT_EQ(parse_date(imf, now_2024), at(time)) << imf;
    ASSERT_EQ(parse_date(formatted(time, "%a %b %e %H:%M:%S %Y"), now_2024), at(time)) << imf;
    auto const now = at(time + static_cast<std::int64_t>(random() % (2 * fifty_years)) - fifty_years);
    auto const rfc850 = formatted(time, "%A, %d-%b-%y %H:%M:%S GMT");
    ASSERT_EQ(parse_date(rfc850, now), at(time)) << rfc850;
  }
}

}  // namespace
}  // namespace weir::http
