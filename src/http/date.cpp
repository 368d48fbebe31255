#include "weir/http/date.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "weir/http/field.hpp"

namespace weir::http {
namespace {

using namespace std::chrono;

constexpr std::array<std::string_view, 7> long_days{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// The first three letters in any case as one number: a table of them costs a tenth of comparing names.
constexpr std::uint32_t letters_of(std::string_view name) noexcept {
  std::uint32_t letters = 0;
  for (char const c : name.substr(0, 3)) letters = letters << 8 | static_cast<unsigned char>(to_lower(c));
  return letters;
}

template <std::size_t n>
constexpr std::array<std::uint32_t, n> letters_of(std::array<std::string_view, n> const& names) noexcept {
  std::array<std::uint32_t, n> letters{};
  std::ranges::transform(names, letters.begin(), [](std::string_view name) { return letters_of(name); });
  return letters;
}

// Reads from the front; the first thing that does not fit makes everything after it fail too. Case is no matter (RFC 9111
// 4.2).
class Reader {
 public:
  explicit Reader(std::string_view text) noexcept : rest_(text) {}

  bool ended() const noexcept { return good_ && rest_.empty(); }

  bool skip(std::string_view expected) noexcept {
    good_ = good_ && (rest_.starts_with(expected) || equal_ignoring_case(rest_.substr(0, expected.size()), expected));
    if (good_) rest_.remove_prefix(expected.size());
    return good_;
  }

  // Exactly `digits` digits.
  int number(std::size_t digits) noexcept {
    good_ = good_ && rest_.size() >= digits;
    int value = 0;
    for (std::size_t i = 0; good_ && i < digits; ++i) {
      good_ = rest_[i] >= '0' && rest_[i] <= '9';
      value = value * 10 + (rest_[i] - '0');
    }
    if (good_) rest_.remove_prefix(digits);
    return value;
  }

  // asctime: two digits or a space and one.
  int padded_day() noexcept { return rest_.starts_with(' ') && skip(" ") ? number(1) : number(2); }

  // 1 for Jan.
  unsigned month() noexcept {
    static constexpr auto letters = letters_of(months);
    auto const found = std::ranges::find(letters, letters_of(rest_));
    good_ = good_ && found != letters.end();
    if (good_) rest_.remove_prefix(3);
    return static_cast<unsigned>(found - letters.begin()) + 1;
  }

  // A day's name: its first three letters, or the whole.
  void day_name(bool whole) noexcept {
    static constexpr auto letters = letters_of(long_days);
    auto const found = std::ranges::find(letters, letters_of(rest_));
    good_ = good_ && found != letters.end();
    if (!good_) return;
    if (whole)
      skip(long_days[static_cast<std::size_t>(found - letters.begin())]);
    else
      rest_.remove_prefix(3);
  }

  // RFC 9111 4.2: GMT or UTC, no other zone.
  void zone() noexcept {
    skip(" ");
    skip(equal_ignoring_case(rest_, "UTC") ? "UTC" : "GMT");
  }

  // "08:49:37" as seconds of the day; 60 is a leap second.
  int time_of_day() noexcept {
    int const h = number(2);
    skip(":");
    int const m = number(2);
    skip(":");
    int const s = number(2);
    good_ = good_ && h <= 23 && m <= 59 && s <= 60;
    return h * 3600 + m * 60 + s;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

struct Parts {
  int year = 0;
  unsigned month = 0;
  int day = 0;
  int second_of_day = 0;

  auto order() const noexcept { return std::tuple(year, month, day, second_of_day); }
};

std::optional<base::WallTime> to_time(Parts const& parts) noexcept {
  year_month_day const date{year(parts.year), month(parts.month), day(static_cast<unsigned>(parts.day))};
  if (!date.ok()) return std::nullopt;
  auto const since = sys_days(date).time_since_epoch() + seconds(parts.second_of_day);
  seconds const bound = duration_cast<seconds>(max_date.time_since_epoch());
  return base::WallTime(std::clamp<seconds>(since, -bound, bound));
}

Parts split(base::WallTime time) noexcept {
  auto const whole = floor<seconds>(time);
  auto const days_since = floor<days>(whole);
  year_month_day const date(days_since);
  return {static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
          static_cast<int>(static_cast<unsigned>(date.day())), static_cast<int>((whole - days_since).count())};
}

// RFC 9110 5.6.7: of the years with these last digits, the latest one that is not more than 50 years ahead.
int full_year(Parts parts, base::WallTime now) noexcept {
  Parts limit = split(now);
  int const century = limit.year / 100 * 100;
  limit.year += 50;
  parts.year += century + 100;
  while (parts.order() > limit.order()) parts.year -= 100;
  return parts.year;
}

std::optional<base::WallTime> parse_imf(std::string_view text) noexcept {
  Reader in(text);
  Parts parts;
  in.day_name(false);
  in.skip(", ");
  parts.day = in.number(2);
  in.skip(" ");
  parts.month = in.month();
  in.skip(" ");
  parts.year = in.number(4);
  in.skip(" ");
  parts.second_of_day = in.time_of_day();
  in.zone();
  return in.ended() ? to_time(parts) : std::nullopt;
}

std::optional<base::WallTime> parse_rfc850(std::string_view text, base::WallTime now) noexcept {
  Reader in(text);
  Parts parts;
  in.day_name(true);
  in.skip(", ");
  parts.day = in.number(2);
  in.skip("-");
  parts.month = in.month();
  in.skip("-");
  parts.year = in.number(2);
  in.skip(" ");
  parts.second_of_day = in.time_of_day();
  in.zone();
  if (!in.ended()) return std::nullopt;
  parts.year = full_year(parts, now);
  return to_time(parts);
}

std::optional<base::WallTime> parse_asctime(std::string_view text) noexcept {
  Reader in(text);
  Parts parts;
  in.day_name(false);
  in.skip(" ");
  parts.month = in.month();
  in.skip(" ");
  parts.day = in.padded_day();
  in.skip(" ");
  parts.second_of_day = in.time_of_day();
  in.skip(" ");
  parts.year = in.number(4);
  return in.ended() ? to_time(parts) : std::nullopt;
}

void put(char* out, int value, std::size_t digits) noexcept {
  for (std::size_t i = digits; i-- > 0; value /= 10) out[i] = static_cast<char>('0' + value % 10);
}

}  // namespace

std::optional<base::WallTime> parse_date(std::string_view text, base::WallTime now) noexcept {
  std::size_t const comma = text.find(',');
  if (comma == std::string_view::npos) return parse_asctime(text);
  return comma == 3 ? parse_imf(text) : parse_rfc850(text, now);
}

void write_date(base::WallTime time, char* out) noexcept {
  Parts const parts = split(time);
  auto const weekday_of = weekday(floor<days>(time)).c_encoding();
  std::string_view("Thu, 01 Jan 1970 00:00:00 GMT").copy(out, date_size);
  long_days[weekday_of].copy(out, 3);
  put(out + 5, parts.day, 2);
  months[parts.month - 1].copy(out + 8, 3);
  put(out + 12, parts.year, 4);
  put(out + 17, parts.second_of_day / 3600, 2);
  put(out + 20, parts.second_of_day / 60 % 60, 2);
  put(out + 23, parts.second_of_day % 60, 2);
}

}  // namespace weir::http
