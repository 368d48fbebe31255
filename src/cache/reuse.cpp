#include "weir/cache/reuse.hpp"

#include <algorithm>
#include <cmath>

namespace weir::cache {
namespace {

using base::Duration;

// XFetch: below this a fetch time says more about the network than about the work.
constexpr Duration least_fetch_time = std::chrono::milliseconds(50);

Duration seconds(http::DeltaSeconds value) noexcept { return std::chrono::seconds(std::min(value, http::max_delta)); }

// For how long it has been stale; not positive: still fresh for so long. A soft invalidation makes stale what was fresh, and
// what had expired before then stays stale since it expired: a purge lengthens nothing.
Duration stale_for(Facts const& facts, Overrule const& overrule, base::SteadyTime now, Duration age) noexcept {
  auto const since_expiry = age - facts.lifetime;
  if (overrule.mode != Invalidation::soft) return since_expiry;
  return std::max({since_expiry, now - overrule.at, Duration::zero()});
}

// Not for this asker, whatever its age.
std::optional<ReuseReason> refusal(Asker const& asker, Facts const& facts, Overrule const& overrule, Mode mode) noexcept {
  if (mode == Mode::bypass) return ReuseReason::bypass_mode;
  if (overrule.mode == Invalidation::hard) return ReuseReason::purged;
  if (asker.has_authorization && !facts.authorized) return ReuseReason::authorization;
  if (asker.has_cookie_credential && !facts.shared_explicitly) return ReuseReason::cookie;
  return std::nullopt;
}

// Why even a fresh response has to be validated first.
std::optional<ReuseReason> demand(Asker const& asker, Facts const& facts, Reuse const& reuse) noexcept {
  if (facts.no_cache) return ReuseReason::no_cache;
  if (asker.no_cache) return ReuseReason::request_no_cache;
  // RFC 8246 2.1: a reload asks for what cannot have changed; only `no-cache` says that it is meant.
  bool const cannot_have_changed = facts.immutable && reuse.ttl > Duration::zero();
  if (asker.max_age && reuse.age > seconds(*asker.max_age) && !cannot_have_changed) return ReuseReason::request_max_age;
  if (asker.min_fresh && reuse.ttl < seconds(*asker.min_fresh)) return ReuseReason::request_min_fresh;
  return std::nullopt;
}

bool max_stale_permits(Asker const& asker, Facts const& facts, Duration stale) noexcept {
  if (facts.must_revalidate) return false;
  return asker.max_stale_any || (asker.max_stale && stale <= seconds(*asker.max_stale));
}

}  // namespace

std::string_view label(ReuseReason reason) noexcept {
  switch (reason) {
    case ReuseReason::unknown:
      return "unknown";
    case ReuseReason::fresh:
      return "fresh";
    case ReuseReason::expired:
      return "expired";
    case ReuseReason::no_cache:
      return "no-cache";
    case ReuseReason::invalidated:
      return "invalidated";
    case ReuseReason::purged:
      return "purged";
    case ReuseReason::soft_purged:
      return "soft-purged";
    case ReuseReason::request_no_cache:
      return "request-no-cache";
    case ReuseReason::request_max_age:
      return "request-max-age";
    case ReuseReason::request_min_fresh:
      return "request-min-fresh";
    case ReuseReason::request_max_stale:
      return "request-max-stale";
    case ReuseReason::within_stale_while_revalidate:
      return "within-stale-while-revalidate";
    case ReuseReason::authorization:
      return "authorization";
    case ReuseReason::cookie:
      return "cookie";
    case ReuseReason::bypass_mode:
      return "bypass-mode";
  }
  return "unknown";
}

std::string_view label(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::must_validate:
      return "must-validate";
    case Verdict::unusable:
      return "unusable";
    case Verdict::stale_while_revalidate:
      return "stale-while-revalidate";
    case Verdict::stale_allowed:
      return "stale-allowed";
    case Verdict::fresh:
      return "fresh";
  }
  return "unusable";
}

std::string_view label(Invalidation mode) noexcept {
  switch (mode) {
    case Invalidation::hard:
      return "hard";
    case Invalidation::invalid:
      return "invalid";
    case Invalidation::soft:
      return "soft";
    case Invalidation::none:
      return "none";
  }
  return "none";
}

Asker asker_of(http::Request const& request, bool has_cookie_credential, ClientRules const& rules) {
  Asker asker;
  asker.has_cookie_credential = has_cookie_credential;
  bool has_cache_control = false;
  for (auto const& field : request.fields) {
    if (field.id == http::FieldId::authorization) asker.has_authorization = true;
    if (field.id == http::FieldId::cache_control) has_cache_control = true;
    // RFC 9111 4.3.2: not for a cache to judge. What is stored is, once the origin has said that it still holds.
    if (field.id == http::FieldId::if_match || field.id == http::FieldId::if_unmodified_since) asker.no_cache = true;
  }
  if (!has_cache_control) return asker;
  auto const directives = http::parse_cache_control(request.fields);
  asker.only_if_cached = directives.only_if_cached;
  asker.no_store = directives.no_store;
  if (!rules.honor_revalidation) return asker;
  asker.no_cache = asker.no_cache || directives.no_cache;
  asker.max_age = directives.max_age;
  asker.min_fresh = directives.min_fresh;
  asker.max_stale = directives.max_stale;
  asker.max_stale_any = directives.max_stale_any;
  return asker;
}

base::Duration current_age(Facts const& facts, base::SteadyTime now) noexcept {
  return facts.initial_age + std::max(Duration::zero(), now - facts.response_time);
}

Reuse reuse(Asker const& asker, Facts const& facts, Overrule const& overrule, base::Now now, Mode mode) noexcept {
  Reuse reuse;
  reuse.age = current_age(facts, now.steady);
  auto const stale = stale_for(facts, overrule, now.steady, reuse.age);
  reuse.ttl = -stale;
  if (auto const reason = refusal(asker, facts, overrule, mode)) {
    reuse.verdict = Verdict::unusable;
    reuse.reason = *reason;
    return reuse;
  }
  if (overrule.mode == Invalidation::invalid) {
    reuse.reason = ReuseReason::invalidated;
    return reuse;
  }
  reuse.stale_if_error = facts.stale_if_error > Duration::zero() && stale < facts.stale_if_error;
  reuse.stale_in_incident = mode == Mode::stale_on_error && !facts.forbids_incident_stale && !reuse.stale_if_error;
  reuse.stale_if_error |= reuse.stale_in_incident;
  if (auto const reason = demand(asker, facts, reuse)) {
    reuse.reason = *reason;
    return reuse;
  }

  if (stale < Duration::zero()) {
    reuse.verdict = Verdict::fresh;
    reuse.reason = ReuseReason::fresh;
  } else if (stale < facts.stale_while_revalidate) {
    reuse.verdict = Verdict::stale_while_revalidate;
    reuse.reason = ReuseReason::within_stale_while_revalidate;
  } else if (max_stale_permits(asker, facts, stale)) {
    reuse.verdict = Verdict::stale_allowed;
    reuse.reason = ReuseReason::request_max_stale;
  } else {
    reuse.reason = overrule.mode == Invalidation::soft ? ReuseReason::soft_purged : ReuseReason::expired;
  }
  return reuse;
}

bool nears_expiry(Facts const& facts, base::SteadyTime now) noexcept {
  return current_age(facts, now) >= facts.lifetime / 4 * 3;
}

double early_refresh_chance(Facts const& facts, base::SteadyTime now) noexcept {
  auto const left = facts.lifetime - current_age(facts, now);
  if (left <= Duration::zero() || !nears_expiry(facts, now)) return 0;
  auto const fetch_time = static_cast<double>(std::max<Duration>(facts.fetch_time, least_fetch_time).count());
  return std::exp(-static_cast<double>(left.count()) / fetch_time);
}

bool wants_early_refresh(Facts const& facts, base::SteadyTime now, double random) noexcept {
  auto const chance = early_refresh_chance(facts, now);
  return chance > 0 && random <= chance;
}

}  // namespace weir::cache
