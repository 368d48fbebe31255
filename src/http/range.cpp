#include "weir/http/range.hpp"

#include <algorithm>
#include <limits>

#include "weir/http/field.hpp"

namespace weir::http {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

// Digits alone, at least one; what does not fit becomes `largest`, which no body reaches.
std::optional<std::uint64_t> parse_position(std::string_view digits) noexcept {
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (char const c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    auto const digit = static_cast<std::uint64_t>(c - '0');
    value = value > (largest - digit) / 10 ? largest : value * 10 + digit;
  }
  return value;
}

// RFC 9110 14.1: the unit's name ignores case.
bool skip_unit(std::string_view& value, char separator) noexcept {
  constexpr std::string_view unit = "bytes";
  if (value.size() <= unit.size() || !equal_ignoring_case(value.substr(0, unit.size()), unit)) return false;
  if (value[unit.size()] != separator) return false;
  value.remove_prefix(unit.size() + 1);
  return true;
}

// "-n": the last n bytes, or all if there are fewer. Of an empty body that is no range one could write down.
RangeResult select_suffix(std::string_view digits, std::uint64_t size) noexcept {
  auto const length = parse_position(digits);
  if (!length) return {};
  if (*length == 0) return {RangeVerdict::unsatisfiable, {}};
  if (size == 0) return {};
  return {RangeVerdict::satisfiable, {size - std::min(*length, size), size - 1}};
}

}  // namespace

RangeResult select_range(std::string_view range_value, std::uint64_t size) noexcept {
  if (!skip_unit(range_value, '=')) return {};
  auto const spec = trim(range_value);
  std::size_t const dash = spec.find('-');
  if (dash == std::string_view::npos) return {};
  if (dash == 0) return select_suffix(spec.substr(1), size);

  auto const first = parse_position(spec.substr(0, dash));
  auto const last_digits = spec.substr(dash + 1);
  auto const last = last_digits.empty() ? largest : parse_position(last_digits);
  if (!first || !last || *first > *last) return {};
  if (*first >= size) return {RangeVerdict::unsatisfiable, {}};
  return {RangeVerdict::satisfiable, {*first, std::min(*last, size - 1)}};
}

std::optional<ContentRange> parse_content_range(std::string_view value) noexcept {
  if (!skip_unit(value, ' ')) return std::nullopt;
  std::size_t const dash = value.find('-');
  std::size_t const slash = value.find('/');
  if (slash == std::string_view::npos || dash > slash) return std::nullopt;

  auto const first = parse_position(value.substr(0, dash));
  auto const last = parse_position(value.substr(dash + 1, slash - dash - 1));
  if (!first || !last || *first > *last || *last == largest) return std::nullopt;
  ContentRange out{{*first, *last}, std::nullopt};
  auto const complete = value.substr(slash + 1);
  if (complete == "*") return out;
  out.complete_length = parse_position(complete);
  if (!out.complete_length || *out.complete_length <= *last || *out.complete_length == largest) return std::nullopt;
  return out;
}

}  // namespace weir::http
