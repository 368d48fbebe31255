#include "weir/http/cache_control.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "weir/http/structured.hpp"

namespace weir::http {
namespace {

using Flag = bool CacheControl::*;
using Delta = std::optional<DeltaSeconds> CacheControl::*;
using FieldList = std::vector<std::string> CacheControl::*;

constexpr std::pair<std::string_view, Flag> flags[] = {
    {"no-store", &CacheControl::no_store},
    {"public", &CacheControl::public_},
    {"must-revalidate", &CacheControl::must_revalidate},
    {"proxy-revalidate", &CacheControl::proxy_revalidate},
    {"must-understand", &CacheControl::must_understand},
    {"no-transform", &CacheControl::no_transform},
    {"immutable", &CacheControl::immutable},
    {"only-if-cached", &CacheControl::only_if_cached},
};
constexpr std::pair<std::string_view, Delta> deltas[] = {
    {"max-age", &CacheControl::max_age},
    {"s-maxage", &CacheControl::s_maxage},
    {"max-stale", &CacheControl::max_stale},
    {"min-fresh", &CacheControl::min_fresh},
    {"stale-while-revalidate", &CacheControl::stale_while_revalidate},
    {"stale-if-error", &CacheControl::stale_if_error},
};
struct Qualified {
  std::string_view name;
  Flag flag;
  FieldList fields;
};
constexpr Qualified qualified[] = {
    {"no-cache", &CacheControl::no_cache, &CacheControl::no_cache_fields},
    {"private", &CacheControl::private_, &CacheControl::private_fields},
};

// What stands behind a directive's '='.
struct Argument {
  bool present = false;
  bool well_formed = true;  // a token or a whole quoted-string, no white space before or behind the '='
  std::string_view text;    // without its quotes; of a quoted-string, still escaped
};

struct Directive {
  std::string_view name;
  Argument argument;
};

Directive split_directive(std::string_view member) noexcept {
  std::size_t const equals = std::min(member.find('='), member.size());
  Directive directive{trim(member.substr(0, equals)), {}};
  if (equals == member.size()) return directive;
  Argument& argument = directive.argument;
  argument.present = true;
  argument.text = member.substr(equals + 1);
  if (argument.text.starts_with('"')) {
    argument.well_formed = closing_quote(argument.text, 0) == argument.text.size() - 1;
    if (argument.well_formed) argument.text = argument.text.substr(1, argument.text.size() - 2);
  } else {
    argument.well_formed = is_token(argument.text);
  }
  argument.well_formed = argument.well_formed && directive.name.size() == equals;
  return directive;
}

// Digits alone, clamped. A backslash of a quoted-string only quotes the digit behind it.
std::optional<DeltaSeconds> parse_delta(Argument const& argument) noexcept {
  if (!argument.present || !argument.well_formed) return std::nullopt;
  std::uint64_t value = 0;
  bool any = false;
  for (char const c : argument.text) {
    if (c == '\\') continue;
    if (c < '0' || c > '9') return std::nullopt;
    value = std::min<std::uint64_t>(value * 10 + static_cast<unsigned>(c - '0'), max_delta);
    any = true;
  }
  return any ? std::optional(static_cast<DeltaSeconds>(value)) : std::nullopt;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out.push_back(text[i]);
  }
  return out;
}

// False, and nothing added, if `names` is not a list of at least one field name.
bool add_field_names(std::string_view names, std::vector<std::string>& out) {
  std::vector<std::string> found;
  bool good = true;
  for_each_member(names, [&](std::string_view name) {
    good = is_token(name);
    if (good) found.push_back(lower(name));
    return good;
  });
  if (!good || found.empty()) return false;
  std::move(found.begin(), found.end(), std::back_inserter(out));
  return true;
}

void apply_delta(Argument const& argument, Delta member, CacheControl& out) noexcept {
  if (member == &CacheControl::max_stale && !argument.present) {
    out.max_stale_any = true;
    return;
  }
  auto const value = parse_delta(argument);
  if (!value || (out.*member && out.*member != value)) out.conflicting = true;
  if (value && !(out.*member)) out.*member = value;
}

void apply(Directive const& directive, CacheControl& out) {
  for (auto const& [name, flag] : flags) {
    if (!equal_ignoring_case(name, directive.name)) continue;
    out.*flag = true;
    return;
  }
  for (auto const& [name, delta] : deltas) {
    if (equal_ignoring_case(name, directive.name)) return apply_delta(directive.argument, delta, out);
  }
  for (auto const& [name, flag, fields] : qualified) {
    if (!equal_ignoring_case(name, directive.name)) continue;
    Argument const& argument = directive.argument;
    bool const has_list = argument.present && argument.well_formed && add_field_names(unescape(argument.text), out.*fields);
    // The plain form is the stricter one, so whatever is not a good list is taken as that.
    if (!has_list) out.*flag = true;
    return;
  }
}

// RFC 9213 2.1: a Boolean for what takes no argument, an Integer for seconds, a String for the qualified forms.
void apply_member(std::string_view key, SfBare const& value, CacheControl& out) {
  auto const* const boolean = std::get_if<bool>(&value);
  for (auto const& [name, flag] : flags) {
    if (name == key && boolean != nullptr) out.*flag = *boolean;
  }
  for (auto const& [name, delta] : deltas) {
    if (name != key) continue;
    if (delta == &CacheControl::max_stale && boolean != nullptr) out.max_stale_any = *boolean;
    auto const* const seconds = std::get_if<std::int64_t>(&value);
    if (seconds == nullptr) continue;
    if (*seconds < 0)
      out.conflicting = true;
    else
      out.*delta = static_cast<DeltaSeconds>(std::min<std::int64_t>(*seconds, max_delta));
  }
  for (auto const& [name, flag, fields] : qualified) {
    if (name != key) continue;
    auto const* const names = std::get_if<std::string>(&value);
    if (boolean != nullptr) out.*flag = *boolean;
    if (names != nullptr && !add_field_names(*names, out.*fields)) out.*flag = true;
  }
}

}  // namespace

CacheControl parse_cache_control(Fields fields) {
  CacheControl out;
  for (Field const& line : fields) {
    if (line.id != FieldId::cache_control) continue;
    out.present = true;
    for_each_member(line.value, [&out](std::string_view member) {
      apply(split_directive(member), out);
      return true;
    });
  }
  return out;
}

std::optional<CacheControl> parse_targeted(Fields fields, std::string_view name) {
  std::string combined;
  if (!fields.append_combined(name, combined)) return std::nullopt;
  auto const dictionary = parse_sf_dictionary(combined);
  if (!dictionary || dictionary->empty()) return std::nullopt;
  CacheControl out;
  out.present = true;
  for (auto const& [key, member] : *dictionary) {
    if (!member.is_inner_list) apply_member(key, member.item.value, out);
  }
  return out;
}

}  // namespace weir::http
