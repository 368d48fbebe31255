// The groups that a site or a route may override.
#include "description.hpp"
#include "weir/cache/key.hpp"

namespace weir::config {
namespace {

constexpr std::uint64_t gib = 1ULL << 30;

ListOf<Text> list_of(Check check, std::string takes, bool may_be_empty = true) {
  return {Text{.check = check}, std::move(takes), may_be_empty};
}

Group<cache::KeyRules> const& key_group() {
  using cache::KeyRules;
  static Group<KeyRules> const group = [] {
    Group<KeyRules> g("key");
    g.add("normalize_path", &KeyRules::normalize_path, Boolean{},
          "decode escapes of unreserved characters in the path; a site where it is on anywhere matches all its routes so");
    g.add("query_drop", &KeyRules::query_drop,
          Names{check_query_name, "list of names", "tracking", cache::tracking_parameters},
          "parameters left out, but of writes and bypassed requests; `utm_*` is a prefix, `tracking` a preset");
    g.add("query_keep", &KeyRules::query_keep, Names{check_query_name, "list of names", "", nullptr},
          "if not empty, only these parameters stay");
    g.add("query_sort", &KeyRules::query_sort, Boolean{}, "sort the parameters");
    g.add("headers", &KeyRules::headers, list_of(check_lower_field_name, "list of names"),
          "request fields that are part of the key");
    g.add("cookies", &KeyRules::cookies, list_of(check_cookie_name, "list of names"), "cookies that are part of the key");
    g.add("accept_encoding", &KeyRules::accept_encoding, list_of(check_accept_coding, "list of codings"),
          "codings that are offered to the origin, the best first");
    g.add("languages", &KeyRules::languages, list_of(check_language, "list of language tags"),
          "if not empty, Accept-Language is reduced to the best of these");
    g.add("max_vary_headers", &KeyRules::max_vary_headers, Count{1, 64, ""}, "a Vary with more names is not stored");
    g.add("max_variants", &KeyRules::max_variants, Count{1, 1024, ""}, "variants kept under one key");
    g.add("vary_allow", &KeyRules::vary_allow, list_of(check_vary_name, "list of `cookie`, `authorization`"),
          "fields of these that a Vary may name");
    return g;
  }();
  return group;
}

Group<Forward> const& forward_group() {
  static Group<Forward> const group = [] {
    Group<Forward> g("forward");
    g.add(
        "mode", &Forward::mode,
        Choice<ForwardMode>{{{"guarded", ForwardMode::guarded}, {"strict", ForwardMode::strict}, {"all", ForwardMode::all}}},
        "all but known poison, only what is keyed or allowed (of requests that may be cached), or everything");
    g.add("allow", &Forward::allow, list_of(check_lower_field_name, "list of names"),
          "strict: fields that are forwarded though not keyed; without `cookie` and `authorization` these are taken off");
    g.add("expose_tags", &Forward::expose_tags, Boolean{}, "leave surrogate tags in answers to clients");
    return g;
  }();
  return group;
}

Group<cache::CookieRules> const& cookies_group() {
  using cache::CookieMode;
  using cache::CookieRules;
  static Group<CookieRules> const group = [] {
    Group<CookieRules> g("cookies", CookieRules{CookieMode::credential, cache::analytics_cookies()});
    g.add("mode", &CookieRules::mode,
          Choice<CookieMode>{
              {{"credential", CookieMode::credential}, {"bypass", CookieMode::bypass}, {"ignore", CookieMode::ignore}}},
          "unkeyed cookies are credentials, bypass the cache, or are removed");
    g.add("ignore", &CookieRules::ignore, Names{check_cookie_name, "list of names", "analytics", cache::analytics_cookies},
          "cookies removed before forwarding; `_ga*` is a prefix, `analytics` a preset");
    return g;
  }();
  return group;
}

Group<HeaderEdits> const& edits_group() {
  static Group<HeaderEdits> const group = [] {
    Group<HeaderEdits> g("header_edits");
    g.add("set", &HeaderEdits::set, FieldLines{}, "fields that are set, in place of any of that name");
    g.add("remove", &HeaderEdits::remove, list_of(check_edited_field_name, "list of names"), "fields that are removed");
    return g;
  }();
  return group;
}

Group<Headers> const& headers_group() {
  static Group<Headers> const group = [] {
    Group<Headers> g("headers");
    g.add_group("request", &Headers::request, edits_group(), "edits before the key is built");
    g.add_group("response", &Headers::response, edits_group(), "edits as an answer is sent");
    return g;
  }();
  return group;
}

Group<cache::ClientRules> const& client_group() {
  using cache::ClientRules;
  static Group<ClientRules> const group = [] {
    Group<ClientRules> g("client");
    g.add("honor_revalidation", &ClientRules::honor_revalidation, Boolean{},
          "obey no-cache, max-age, min-fresh and max-stale of clients");
    return g;
  }();
  return group;
}

Group<cache::StorableRules> const& storable_group() {
  using cache::SetCookie;
  using cache::StorableRules;
  static Group<StorableRules> const group = [] {
    Group<StorableRules> g("storable");
    g.add("max_object", &StorableRules::max_object, Size{1, 16 * gib, ""}, "largest body that is stored or shared");
    g.add("error_max_ttl", &StorableRules::error_max_ttl, Span{0s, 24h},
          "longest lifetime of a stored 500, 502, 503 or 504");
    g.add("set_cookie", &StorableRules::set_cookie,
          Choice<SetCookie>{{{"refuse", SetCookie::refuse}, {"strip", SetCookie::strip}, {"store", SetCookie::store}}},
          "an answer with Set-Cookie is not stored, or without it, or with it");
    g.add("targeted", &StorableRules::targeted, list_of(check_field_name, "list of names"),
          "fields that decide before Cache-Control (RFC 9213)");
    g.add("targeted_strict", &StorableRules::targeted_strict, Boolean{},
          "private and no-store in Cache-Control bind even then");
    g.add("ignore_cache_control", &StorableRules::ignore_cache_control, Boolean{},
          "freshness.override_ttl holds for private and no-store too; dangerous");
    g.add("request_errors", &StorableRules::request_errors, Boolean{},
          "errors that tell of the request (401, 403, 431, ...), or answer an odd one, are stored too; any client can "
          "provoke them");
    return g;
  }();
  return group;
}

Group<cache::FreshnessRules> const& freshness_group() {
  using cache::FreshnessRules;
  static Group<FreshnessRules> const group = [] {
    Group<FreshnessRules> g("freshness");
    g.add("default_ttl", &FreshnessRules::default_ttl, Span{}, "lifetime where the origin gives none");
    g.add("jitter", &FreshnessRules::jitter, percent(0, 50, "off"),
          "percent by which lifetimes of 10 s or more are shortened at most");
    g.add("heuristic_max", &FreshnessRules::heuristic_max, Span{}, "longest lifetime guessed from Last-Modified");
    g.add("heuristic_percent", &FreshnessRules::heuristic_percent, percent(0, 100, "off"),
          "percent of the age since Last-Modified that is guessed");
    g.add("override_ttl", &FreshnessRules::override_ttl, Span{}, "lifetime whatever the origin says");
    g.add("keep", &FreshnessRules::keep, Span{}, "how long stale entries are kept for validation");
    g.add("default_stale_while_revalidate", &FreshnessRules::default_stale_while_revalidate, Span{},
          "window where the origin gives none");
    g.add("default_stale_if_error", &FreshnessRules::default_stale_if_error, Span{}, "window where the origin gives none");
    g.add("early_refresh", &FreshnessRules::early_refresh, Boolean{}, "refresh popular entries before they expire");
    return g;
  }();
  return group;
}

Group<Coalesce> const& coalesce_group() {
  static Group<Coalesce> const group = [] {
    auto const max_waiters = [](auto& c) -> auto& { return c.table.max_waiters; };
    auto const max_flights = [](auto& c) -> auto& { return c.table.max_flights; };
    auto const leader_max_age = [](auto& c) -> auto& { return c.table.leader_max_age; };
    Group<Coalesce> g("coalesce");
    g.add("leader_max_age", leader_max_age, Span{10ms, 1h}, "a fetch without progress for so long may be replaced");
    g.add("follower_max_wait", &Coalesce::follower_max_wait, Span{10ms, 1h}, "longest wait for another's head");
    g.add("max_waiters", max_waiters, Count{1, 1'000'000, ""}, "requests that wait on one key");
    g.add("max_flights", max_flights, Count{1, 1'000'000, ""}, "shared fetches under way");
    g.add("on_overflow", &Coalesce::on_overflow, Choice<Overflow>{{{"shed", Overflow::shed}, {"fetch", Overflow::fetch}}},
          "after max_waiters: a stale answer or 503, or a fetch of its own");
    g.add("hit_for_miss_ttl", &Coalesce::hit_for_miss_ttl, Span{0s, 24h},
          "how long it is remembered that a key cannot be shared");
    g.add("hold", &Coalesce::hold, Size{0, gib, ""},
          "bytes held back while a stale entry could still replace a fetch that breaks");
    g.add("hold_time", &Coalesce::hold_time, Span{0s, 1min}, "and how long at most");
    g.add("window_stall", &Coalesce::window_stall, Span{0s, 1min},
          "how long slow readers may delay a fetch that outgrew max_object");
    auto& bytes = g.add("max_bytes", &Coalesce::max_bytes, Size{1 << 20, 1024 * gib, "auto"},
                        "top level alone: with more in flights, new fetches are not shared; `auto`: a quarter of the store");
    bytes.read = [read = bytes.read](Reader& reader, Item const& item, Coalesce& coalesce) {
      if (reader.path().starts_with("sites"))
        return reader.mistake(item, "is of the whole process; it stands at the top level alone");
      read(reader, item, coalesce);
    };
    g.add("cluster", &Coalesce::cluster, Boolean{}, "one fetch among all nodes that share a Valkey store");
    g.add("cluster_max_wait", &Coalesce::cluster_max_wait, Span{10ms, 1h}, "longest wait for another node");
    return g;
  }();
  return group;
}

Group<Negative> const& negative_group() {
  static Group<Negative> const group = [] {
    Group<Negative> g("negative");
    g.add("ttl", &Negative::ttl, Span{0s, 1h}, "how long a failed key is answered without asking again");
    g.add("default_ttl", &Negative::default_ttl, Span{0s, 24h}, "lifetime of a 404 or 410 that gives none");
    return g;
  }();
  return group;
}

}  // namespace

Group<Policy> const& policy_group() {
  static Group<Policy> const group = [] {
    Policy initial;
    initial.cookies = cookies_group().initial();
    Group<Policy> g("policy", initial);
    g.add_group("key", &Policy::key, key_group(), "what makes two requests the same");
    g.add_group("forward", &Policy::forward, forward_group(), "what the origin sees");
    g.add_group("cookies", &Policy::cookies, cookies_group(), "cookies that are not part of the key");
    g.add_group("headers", &Policy::headers, headers_group(), "edits of header fields");
    g.add_group("client", &Policy::client, client_group(), "what clients may ask of the cache");
    g.add_group("storable", &Policy::storable, storable_group(), "what is stored");
    g.add_group("freshness", &Policy::freshness, freshness_group(), "how long it is fresh");
    g.add_group("coalesce", &Policy::coalesce, coalesce_group(), "one fetch for many requests");
    g.add_group("negative", &Policy::negative, negative_group(), "memory of failures");
    return g;
  }();
  return group;
}

Group<Policy> const& collapse_group() {
  static Group<Policy> const group = [] {
    auto const member = [](auto CollapseBody::*m) {
      return [m](auto& p) -> auto& { return p.collapse_body.*m; };
    };
    Group<Policy> g("collapse");
    g.add("key_body", member(&CollapseBody::key_body), Boolean{},
          "collapse QUERY, GET with a body, and POST where `methods` names it, by the body's digest");
    g.add("ttl", member(&CollapseBody::ttl), Span{0s, 1h}, "how long the answer is used after the flight");
    g.add("errors", member(&CollapseBody::errors), Boolean{}, "keep errors for that long too");
    g.add("max_body", member(&CollapseBody::max_body), Size{1, 16 << 20, ""}, "a larger body is forwarded alone");
    Choice<Collapse> const words{{{"on", Collapse::on}, {"off", Collapse::off}, {"strict", Collapse::strict}}};
    g.stands_for(
        [words](Reader& reader, Item const& item, Policy& policy) {
          if (item.is_scalar()) words.read(reader, item, policy.collapse);
          return item.is_scalar();
        },
        words.describe().schema);
    g.write_short([words](Policy const& policy) -> std::optional<Item> {
      if (policy.collapse_body.key_body) return std::nullopt;
      return words.write(policy.collapse);
    });
    g.check([](Reader& reader, Item const& item, Policy& policy) {
      if (!item.is_null() && !policy.collapse_body.key_body)
        reader.mistake(item, "a group here needs `key_body: true`; else write on, off or strict");
    });
    return g;
  }();
  return group;
}

}  // namespace weir::config
