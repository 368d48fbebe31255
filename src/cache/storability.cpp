#include "weir/cache/storability.hpp"

#include <algorithm>

#include "weir/cache/conditional.hpp"
#include "weir/cache/freshness.hpp"
#include "weir/cache/invalidation.hpp"
#include "weir/cache/policy.hpp"
#include "weir/cache/request_error.hpp"

namespace weir::cache {
namespace {

using http::FieldId;

// Everything a decision is made from. `exchange`: the fields that tell of this exchange, Age, Date and Via; those of the
// 304 where the response was validated.
struct Matter {
  Requester const& requester;
  http::Response const& response;
  http::Fields exchange;
  FetchTimes const& times;
  KeyRules const& key;
  StorableRules const& storable;
  FreshnessRules const& freshness;
  Policy policy;
  Lifetime lifetime;        // as the origin says it
  bool overridden = false;  // FRS-4

  http::CacheControl const& directives() const noexcept { return policy.directives; }
};

bool has_credentials(Requester const& requester) noexcept {
  return requester.has_authorization || requester.has_cookie_credential;
}

bool is_overridden(Matter const& m) noexcept {
  bool const stores_cookie = m.storable.set_cookie == SetCookie::store && m.response.fields.has(FieldId::set_cookie);
  return m.freshness.override_ttl && !has_credentials(m.requester) && (!stores_cookie || m.storable.ignore_cache_control);
}

bool is_shared_explicitly(http::CacheControl const& cc) noexcept { return cc.public_ || cc.s_maxage.has_value(); }

bool is_authorized(http::CacheControl const& cc) noexcept { return is_shared_explicitly(cc) || cc.must_revalidate; }

bool is_event_stream(http::Fields response) noexcept {
  auto const type = response.first(FieldId::content_type);
  return type && http::equal_ignoring_case(http::trim(type->substr(0, type->find(';'))), "text/event-stream");
}

bool has_validator(http::Fields response, base::WallTime received) noexcept {
  auto const etag = response.first(FieldId::etag);
  return (etag && !etag->empty()) || last_modified_of(response, received).has_value();
}

// RFC 9111 3: an expiration time, `public`, or a status for which a cache may guess; STO-1 wants something to guess from.
bool has_freshness(Matter const& m) noexcept {
  int const status = m.response.status;
  if (m.requester.kept_for) return !is_origin_error(status) || m.requester.keeps_errors;
  if (is_origin_error(status)) return m.lifetime.value > base::Duration::zero();  // never a guess
  if (m.lifetime.is_explicit || m.directives().public_) return true;
  if (!is_heuristically_cacheable(status)) return false;
  return m.overridden || m.directives().no_cache || m.freshness.default_ttl > base::Duration::zero() ||
         has_validator(m.response.fields, m.times.response.wall);
}

// RFC 9110 9.3.3: a POST's answer may stand for its target only if it says so. Not in a coding: it was asked for with
// whatever codings its client knows, a GET is asked for with one of ours (KEY-5). So it is with languages that the site
// names.
bool is_storable_post(Matter const& m) {
  auto const* request = m.requester.request;
  return m.response.status == 200 && m.lifetime.is_explicit && request != nullptr &&
         !m.response.fields.has(FieldId::content_encoding) &&
         (m.key.languages.empty() || !m.response.fields.list_contains(FieldId::vary, "accept-language")) &&
         content_location_is_target(*request, m.response);
}

// RFC 6585 3 to 6: MUST NOT. They tell of a client, so they leave no marker for the others.
bool is_never_stored(int status) noexcept { return status == 428 || status == 429 || status == 431 || status == 511; }

// A client's own conditions and range are in no key either: an answer to a request that carried them is that client's.
bool carries_conditions(http::Fields request) noexcept {
  return has_conditionals(request) || request.has(FieldId::if_range);
}

// What was asked with conditions or a range and says no more than what they come to: nothing of what others will get.
bool answers_conditions(Matter const& m) noexcept {
  int const status = m.response.status;
  return (status == 206 || status == 304 || status == 412 || status == 416) && carries_conditions(m.requester.fields);
}

NotStored status_refusal(Matter const& m) noexcept {
  int const status = m.response.status;
  if (status == 206) return NotStored::partial;
  if (status < 200 || status > 599 || status == 304 || m.policy.not_understood) return NotStored::status;
  return NotStored::unknown;
}

NotStored vary_refusal(VaryVerdict verdict) noexcept {
  switch (verdict) {
    case VaryVerdict::star:
      return NotStored::vary_star;
    case VaryVerdict::too_many:
    case VaryVerdict::malformed:
      return NotStored::vary_fields;
    case VaryVerdict::forbidden_field:
      return NotStored::vary_forbidden;
    case VaryVerdict::usable:
      break;
  }
  return NotStored::unknown;
}

// What in the response forbids it, whoever asked; `unknown` if nothing does.
NotStored response_refusal(Matter const& m, VaryNames const& vary) noexcept {
  if (auto const reason = status_refusal(m); reason != NotStored::unknown) return reason;
  if (m.directives().no_store) return NotStored::no_store;
  if (m.directives().private_) return NotStored::private_;
  if (is_event_stream(m.response.fields)) return NotStored::event_stream;
  bool const keeps_cookie = m.storable.set_cookie == SetCookie::store && !m.requester.kept_for;
  if (m.response.fields.has(FieldId::set_cookie) && !keeps_cookie && m.storable.set_cookie != SetCookie::strip)
    return NotStored::set_cookie;
  if (auto const reason = vary_refusal(vary.verdict); reason != NotStored::unknown) return reason;
  auto const& framing = m.response.framing;
  if (framing.kind == http::BodyKind::length && framing.length > m.storable.max_object) return NotStored::too_large;
  return has_freshness(m) ? NotStored::unknown : NotStored::no_freshness;
}

// What in the request forbids a response that others might have.
NotStored request_refusal(Matter const& m) {
  auto const& requester = m.requester;
  if (carries_conditions(requester.fields)) return NotStored::status;
  // What one client provokes is no answer to another.
  bool const takes_errors = m.storable.request_errors || requester.kept_for;
  if (is_never_stored(m.response.status) && !requester.kept_for) return NotStored::status;
  if (!takes_errors && is_request_error(m.response.status, requester.fields)) return NotStored::status;
  if (requester.no_store) return NotStored::request_no_store;
  if (requester.has_authorization && !is_authorized(m.directives())) return NotStored::authorization;
  if (requester.has_cookie_credential && !is_shared_explicitly(m.directives())) return NotStored::cookie;
  if (requester.identity_forbidden) return NotStored::identity_forbidden;
  return NotStored::unknown;
}

bool is_storable_method(Matter const& m) {
  switch (m.requester.method) {
    case http::Method::get:
    case http::Method::head:
      return true;
    case http::Method::post:
      return is_storable_post(m);
    default:
      return false;
  }
}

base::Duration final_lifetime(Matter const& m, double jitter) noexcept {
  auto lifetime = m.overridden ? clamp_delta(*m.freshness.override_ttl) : m.lifetime.value;
  if (is_origin_error(m.response.status)) lifetime = std::min(lifetime, clamp_delta(m.storable.error_max_ttl));
  return with_jitter(lifetime, m.freshness, jitter);
}

Facts facts_of(Matter const& m, double jitter) noexcept {
  auto const& cc = m.directives();
  auto const windows = stale_windows(cc, m.response.status, m.freshness);
  Facts facts;
  facts.status = static_cast<std::uint16_t>(m.response.status);
  facts.response_time = m.times.response.steady;
  facts.initial_age = initial_age(m.exchange, m.times.request, m.times.response);
  facts.lifetime = final_lifetime(m, jitter);
  facts.fetch_time = std::chrono::duration_cast<decltype(facts.fetch_time)>(std::clamp<base::Duration>(
      m.times.response.steady - m.times.request.steady, base::Duration::zero(), std::chrono::hours(1)));
  facts.stale_while_revalidate = windows.while_revalidate;
  facts.stale_if_error = windows.if_error;
  facts.purge_number = m.times.purge_number;
  facts.began = m.times.began;
  facts.no_cache = cc.no_cache && !m.overridden;
  facts.must_revalidate = cc.must_revalidate || cc.proxy_revalidate || cc.s_maxage.has_value();
  facts.forbids_incident_stale = cc.must_revalidate || cc.proxy_revalidate || cc.no_cache;
  facts.shared_explicitly = is_shared_explicitly(cc);
  facts.authorized = is_authorized(cc);
  facts.heuristic = m.lifetime.heuristic && !m.overridden;
  facts.lifetime_source = m.overridden ? LifetimeSource::override_ttl : m.lifetime.source;
  facts.immutable = cc.immutable;
  facts.policy_not_in_head = m.policy.not_in_head;
  facts.date = date_of(m.exchange, m.times.response.wall);
  return facts;
}

// COA-12. Nothing of it outlives `kept_for`: it is neither validated nor served stale.
void judge_keyed_read(Matter const& m, double jitter, Storability& s) noexcept {
  bool const stale = m.lifetime.is_explicit && m.lifetime.value <= s.facts.initial_age;
  bool const error = m.response.status >= 400;
  auto kept_for = clamp_delta(*m.requester.kept_for);
  if (is_origin_error(m.response.status)) kept_for = std::min(kept_for, clamp_delta(m.storable.error_max_ttl));
  s.keep = kept_for > base::Duration::zero() && (!error || m.requester.keeps_errors);
  s.fresh_on_arrival = s.store && (s.keep || (!s.facts.no_cache && !stale));
  s.facts.no_cache = s.facts.no_cache && !s.keep;
  s.facts.lifetime = s.facts.initial_age + with_jitter(kept_for, m.freshness, jitter);
  s.facts.lifetime_source = LifetimeSource::collapse_ttl;
  s.facts.stale_while_revalidate = s.facts.stale_if_error = base::Duration::zero();
}

Storability decide(Matter& m, double jitter) {
  m.lifetime = lifetime_from_origin(m.response.fields, m.response.status, m.policy, m.freshness, m.times.response.wall);
  m.overridden = is_overridden(m);
  Storability s;
  s.vary = vary_names(m.response.fields, m.key);
  s.facts = facts_of(m, jitter);
  s.fields_not_stored = m.directives().no_cache_fields;
  s.fields_not_stored.insert(s.fields_not_stored.end(), m.directives().private_fields.begin(),
                             m.directives().private_fields.end());
  s.strip_set_cookie = m.storable.set_cookie == SetCookie::strip && m.response.fields.has(FieldId::set_cookie);
  if (s.strip_set_cookie) s.fields_not_stored.emplace_back("set-cookie");

  if (!is_storable_method(m)) {
    s.reason = NotStored::method;
    return s;
  }
  s.reason = response_refusal(m, s.vary);
  s.response_caused = s.reason != NotStored::unknown && m.requester.method != http::Method::post &&
                      !has_credentials(m.requester) && !is_origin_error(m.response.status) && !answers_conditions(m);
  if (s.reason == NotStored::unknown) s.reason = request_refusal(m);
  s.store = s.share = s.reason == NotStored::unknown;
  s.fresh_on_arrival = s.store && !s.facts.no_cache && s.facts.lifetime > s.facts.initial_age;
  if (m.requester.kept_for) judge_keyed_read(m, jitter, s);
  return s;
}

}  // namespace

std::string_view label(NotStored reason) noexcept {
  switch (reason) {
    case NotStored::unknown:
      return "unknown";
    case NotStored::method:
      return "method";
    case NotStored::status:
      return "status";
    case NotStored::partial:
      return "partial";
    case NotStored::no_store:
      return "no-store";
    case NotStored::request_no_store:
      return "request-no-store";
    case NotStored::private_:
      return "private";
    case NotStored::authorization:
      return "authorization";
    case NotStored::cookie:
      return "cookie";
    case NotStored::set_cookie:
      return "set-cookie";
    case NotStored::vary_star:
      return "vary-star";
    case NotStored::vary_fields:
      return "vary-fields";
    case NotStored::vary_forbidden:
      return "vary-forbidden";
    case NotStored::no_freshness:
      return "no-freshness";
    case NotStored::too_large:
      return "too-large";
    case NotStored::event_stream:
      return "event-stream";
    case NotStored::identity_forbidden:
      return "identity-forbidden";
    case NotStored::invalidated:
      return "invalidated";
    case NotStored::broken:
      return "broken";
    case NotStored::memory:
      return "memory";
  }
  return "unknown";
}

Storability storability(Requester const& requester, http::Response const& response, FetchTimes const& times,
                        KeyRules const& key, StorableRules const& storable, FreshnessRules const& freshness, double jitter) {
  Matter matter{.requester = requester,
                .response = response,
                .exchange = response.fields,
                .times = times,
                .key = key,
                .storable = storable,
                .freshness = freshness,
                .policy = policy_of(response.fields, response.status, storable),
                .lifetime = {}};
  return decide(matter, jitter);
}

Storability storability_freshened(Requester const& requester, std::string_view stored_head, Facts const& stored,
                                  http::Response const& not_modified, FetchTimes const& times, KeyRules const& key,
                                  StorableRules const& storable, FreshnessRules const& freshness, double jitter) {
  auto const fields = freshened_fields(stored_head, not_modified.fields);
  http::Response merged;
  merged.status = stored.status;
  merged.fields = fields;
  auto policy = policy_of(merged.fields, merged.status, storable, &stored);
  // The lifetime that stays in force was shortened when it was stored.
  bool const stays = policy.not_in_head && !http::parse_targeted(merged.fields, "Weir-Cache-Control");
  Matter matter{.requester = requester,
                .response = merged,
                .exchange = not_modified.fields,
                .times = times,
                .key = key,
                .storable = storable,
                .freshness = freshness,
                .policy = std::move(policy),
                .lifetime = {}};
  auto said = decide(matter, stays ? 0 : jitter);
  // Which fields it kept for one requester is not stored: what it says nothing of now may be one of them, where the stored
  // head does not have it.
  if (stays) {
    auto const had = parse_head_fields(stored_head);
    for (auto const& field : not_modified.fields)
      if (field.id == http::FieldId::other && !http::Fields(had).first(field.name))
        said.fields_not_stored.emplace_back(field.name);
  }
  return said;
}

}  // namespace weir::cache
