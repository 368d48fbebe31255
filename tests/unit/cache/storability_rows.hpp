// Rows of the table of what may be stored. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/storability.hpp"

namespace weir::cache::test::storing {

struct Rules {
  KeyRules key;
  StorableRules storable;
  FreshnessRules freshness;
};

struct Row {
  char const* name;
  char const* request;  // Cookie is taken for a credential
  char const* response;
  NotStored reason;  // `unknown`: stored
  // What else is told of it: 'm' leaves a marker, 'f' is fresh on arrival, 's' shared explicitly, 'a' authorized,
  // 'r' must revalidate, 'n' no-cache.
  std::string_view traits = "";
  void (*rules)(Rules&) = [](Rules&) {};
};
inline void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

inline Storability decide(WireRequest const& wire, WireResponse const& response, Rules const& rules) {
  Requester requester;
  requester.method = wire.request.method_id;
  requester.fields = wire.fields();
  requester.has_authorization = wire.fields().has(http::FieldId::authorization);
  requester.has_cookie_credential = wire.fields().has(http::FieldId::cookie);
  requester.no_store = wire.fields().list_contains(http::FieldId::cache_control, "no-store");
  requester.identity_forbidden = wire.fields().first("X-Identity-Forbidden").has_value();
  requester.request = &wire.request;
  FetchTimes const times{.request = after(-2s), .response = noon, .purge_number = 5, .began = 6};
  return storability(requester, response.response, times, rules.key, rules.storable, rules.freshness, 0);
}

inline std::string traits_of(Storability const& s) {
  std::string out;
  if (s.response_caused) out += 'm';
  if (s.fresh_on_arrival) out += 'f';
  if (!s.store) return out;
  if (s.facts.shared_explicitly) out += 's';
  if (s.facts.authorized) out += 'a';
  if (s.facts.must_revalidate) out += 'r';
  if (s.facts.no_cache) out += 'n';
  return out;
}

class StorabilityOf : public testing::TestWithParam<Row> {};

using N = NotStored;
inline constexpr auto stored = NotStored::unknown;
inline constexpr auto get = "GET /\nHost: a";
inline constexpr auto default_ttl = [](Rules& rules) { rules.freshness.default_ttl = 5s; };
inline constexpr auto override_ttl = [](Rules& rules) { rules.freshness.override_ttl = 60s; };
inline constexpr auto forced = [](Rules& rules) {
  rules.freshness.override_ttl = 60s;
  rules.storable.ignore_cache_control = true;
};
inline constexpr auto strip = [](Rules& rules) { rules.storable.set_cookie = SetCookie::strip; };
inline constexpr auto keep_cookie = [](Rules& rules) { rules.storable.set_cookie = SetCookie::store; };
inline constexpr auto all_errors = [](Rules& rules) { rules.storable.request_errors = true; };
inline constexpr auto languages = [](Rules& rules) { rules.key.languages = {"en", "de"}; };
inline constexpr auto lax = [](Rules& rules) { rules.storable.targeted_strict = false; };

}  // namespace weir::cache::test::storing
