#include "weir/cache/freshness.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "weir/http/date.hpp"

namespace weir::cache {
namespace {

base::Duration seconds(http::DeltaSeconds value) noexcept { return std::chrono::seconds(std::min(value, http::max_delta)); }

// later - earlier, 0 if it is not later. In seconds, as dates may lie further apart than a Duration reaches.
base::Duration time_between(base::WallTime earlier, base::WallTime later) noexcept {
  auto const from = base::whole_seconds(earlier.time_since_epoch());
  auto const to = base::whole_seconds(later.time_since_epoch());
  return std::chrono::seconds(std::clamp<std::int64_t>(to - from, 0, http::max_delta));
}

// Digits only; too large ones clamp (RFC 9111 1.2.2).
std::optional<http::DeltaSeconds> parse_age(std::string_view text) noexcept {
  text = http::trim(text.substr(0, text.find(',')));
  std::uint64_t value = 0;
  for (char const c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = std::min<std::uint64_t>(value * 10 + static_cast<unsigned>(c - '0'), http::max_delta);
  }
  return text.empty() ? std::nullopt : std::optional(static_cast<http::DeltaSeconds>(value));
}

http::DeltaSeconds age_value(http::Fields response) noexcept {
  for (auto const& field : response) {
    if (field.id != http::FieldId::age) continue;
    if (auto const age = parse_age(field.value)) return *age;
  }
  return 0;
}

// received-protocol of RFC 9110 7.6.3: "1.0" or "HTTP/1.0" (and 0.9, should it live).
bool has_old_hop(http::Fields response) noexcept {
  bool old = false;
  for (auto const& field : response) {
    if (field.id != http::FieldId::via) continue;
    http::for_each_member(field.value, [&](std::string_view hop) {
      auto protocol = hop.substr(0, hop.find_first_of(" \t"));
      if (auto const slash = protocol.find('/'); slash != std::string_view::npos) {
        if (!http::equal_ignoring_case(protocol.substr(0, slash), "HTTP")) return true;
        protocol.remove_prefix(slash + 1);
      }
      old = protocol == "1.0" || protocol == "0.9";
      return !old;
    });
    if (old) return true;
  }
  return false;
}

// Nothing without the field. An invalid date, "0" above all, means expired (RFC 9111 5.3); so do lines that differ.
std::optional<base::Duration> lifetime_by_expires(http::Fields response, base::WallTime received) noexcept {
  auto const value = response.first(http::FieldId::expires);
  if (!value) return std::nullopt;
  for (auto const& field : response) {
    if (field.id == http::FieldId::expires && field.value != *value) return base::Duration::zero();
  }
  auto const expires = http::parse_date(*value, received);
  return expires ? time_between(date_of(response, received), *expires) : base::Duration::zero();
}

}  // namespace

std::string_view label(LifetimeSource source) noexcept {
  static constexpr std::string_view labels[]{"unknown",     "s-maxage",     "max-age",      "Expires", "Last-Modified",
                                             "default_ttl", "override_ttl", "collapse.ttl", "conflict"};
  return labels[static_cast<std::size_t>(source)];
}

base::WallTime date_of(http::Fields response, base::WallTime received) noexcept {
  auto const value = response.only(http::FieldId::date);
  return value ? http::parse_date(*value, received).value_or(received) : received;
}

std::optional<base::WallTime> last_modified_of(http::Fields response, base::WallTime received) noexcept {
  auto const value = response.only(http::FieldId::last_modified);
  return value ? http::parse_date(*value, received) : std::nullopt;
}

base::Duration initial_age(http::Fields response, base::Now request, base::Now received) noexcept {
  auto const response_delay = std::max(base::Duration::zero(), received.steady - request.steady);
  auto const corrected_age_value = seconds(age_value(response)) + response_delay;
  if (!has_old_hop(response)) return corrected_age_value;
  return std::max(time_between(date_of(response, received.wall), received.wall), corrected_age_value);
}

Lifetime lifetime_from_origin(http::Fields response, int status, Policy const& policy, FreshnessRules const& rules,
                              base::WallTime received) {
  auto const& directives = policy.directives;
  auto const explicitly = [](base::Duration value, LifetimeSource source) {
    return Lifetime{.value = value, .is_explicit = true, .source = source};
  };
  if (directives.conflicting) return explicitly({}, LifetimeSource::conflict);
  if (directives.s_maxage) return explicitly(seconds(*directives.s_maxage), LifetimeSource::s_maxage);
  if (directives.max_age) return explicitly(seconds(*directives.max_age), LifetimeSource::max_age);
  if (!policy.targeted) {
    if (auto const lifetime = lifetime_by_expires(response, received)) return explicitly(*lifetime, LifetimeSource::expires);
  }
  // RFC 9111 4.2.2: a guess only for statuses that permit it and what is marked `public`.
  if (is_origin_error(status) || (!is_heuristically_cacheable(status) && !directives.public_)) return {};
  if (auto const modified = last_modified_of(response, received)) {
    auto const unchanged_for = time_between(*modified, date_of(response, received));
    if (unchanged_for > base::Duration::zero()) {
      auto const guess = unchanged_for / 100 * std::min<std::uint32_t>(rules.heuristic_percent, 100);
      auto const value = std::min(guess, clamp_delta(rules.heuristic_max));
      return {.value = value, .heuristic = true, .source = LifetimeSource::last_modified};
    }
  }
  return {.value = clamp_delta(rules.default_ttl), .heuristic = true, .source = LifetimeSource::default_ttl};
}

base::Duration with_jitter(base::Duration lifetime, FreshnessRules const& rules, double random) noexcept {
  if (lifetime < std::chrono::seconds(10)) return lifetime;
  double const share = std::min<std::uint32_t>(rules.jitter, 100) / 100.0 * std::clamp(random, 0.0, 1.0);
  auto const shortened = static_cast<std::int64_t>(static_cast<double>(lifetime.count()) * share);
  return std::clamp(lifetime - base::Duration(shortened), base::Duration::zero(), lifetime);
}

StaleWindows stale_windows(http::CacheControl const& directives, int status, FreshnessRules const& rules) noexcept {
  bool const forbidden =
      directives.must_revalidate || directives.proxy_revalidate || directives.no_cache || directives.conflicting;
  // A stored error is no answer to fall back on.
  if (forbidden || is_origin_error(status)) return {};
  auto const window = [&](std::optional<http::DeltaSeconds> given, base::Duration default_window) {
    if (given) return seconds(*given);
    return directives.s_maxage ? base::Duration::zero() : clamp_delta(default_window);
  };
  return {.while_revalidate = window(directives.stale_while_revalidate, rules.default_stale_while_revalidate),
          .if_error = window(directives.stale_if_error, rules.default_stale_if_error)};
}

base::Duration clamp_delta(base::Duration duration) noexcept {
  return std::clamp<base::Duration>(duration, base::Duration::zero(), std::chrono::seconds(http::max_delta));
}

}  // namespace weir::cache
