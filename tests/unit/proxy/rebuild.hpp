// What the origin gets of a request, looked at from the origin's side: whether the key can be made again from it (FWD-2).
// Header alone, for the property test and the fuzz target.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "weir/cache/head.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/selecting_value.hpp"
#include "weir/http/accept.hpp"
#include "weir/http/target.hpp"
#include "weir/proxy/edits.hpp"
#include "weir/proxy/forward.hpp"

namespace weir::proxy::test {

// A request and what becomes of it, as an exchange does it.
struct Trip {
  Trip(http::Request asked, config::Policy const& policy, bool trusted, ForwardAs as = ForwardAs::canonical)
      : request(asked), requester{"192.0.2.7", trusted} {
    cache::KeyBytes host;
    http::append_normalized_host(request.authority, request.scheme, host);
    authority = cache::view(host);
    request.authority = authority;
    target = cache::rewrite_target(request, policy.key, rewritten);
    forwarded_fields(request, as, policy, requester, "weir-test", seen);
    auto as_forwarded = request;
    as_forwarded.fields = http::Fields(seen);
    cache::append_primary_key(as_forwarded, target, policy.key, nullptr, key);
    forward = make_forward(request, target, as, policy, {}, "origin:80", requester, "weir-test");
  }
  Trip(Trip const&) = delete;
  Trip& operator=(Trip const&) = delete;

  http::Request request;
  Requester requester;
  std::string authority, rewritten;
  cache::ForwardTarget target;
  std::vector<http::Field> seen;
  cache::KeyBytes key;
  ForwardRequest forward;
};

inline std::string selecting_value(http::Fields fields, std::string_view name, cache::KeyRules const& rules) {
  boost::container::small_vector<char, 256> value;
  return cache::append_selecting_value(fields, name, rules, value) ? "+" + std::string(value.data(), value.size()) : "-";
}

// The primary key, made from nothing but the forwarded request, as text.
inline std::string key_from_forwarded(ForwardRequest const& forward, cache::KeyRules const& rules) {
  auto const head = forward.head(nullptr);
  auto const fields = cache::parse_head_fields(head);
  http::Request again;
  again.method = forward.method;
  again.method_id = http::method_of(forward.method);
  again.fields = fields;
  again.scheme = again.fields.only(http::FieldId::x_forwarded_proto).value_or("?");
  again.authority = again.fields.only(http::FieldId::x_forwarded_host).value_or("");
  again.path = forward.path;
  again.query = forward.query;
  again.has_query = forward.has_query;
  std::string rewritten;
  auto const target = cache::rewrite_target(again, rules, rewritten);
  cache::KeyBytes key;
  cache::append_primary_key(again, target, rules, nullptr, key);
  return std::string(cache::view(key));
}

// Of a strict policy: a forwarded field that nothing lets through; empty if there is none.
inline std::string stowaway(ForwardRequest const& forward, config::Policy const& policy) {
  auto const has = [](std::vector<std::string> const& names, std::string_view name) {
    return std::any_of(names.begin(), names.end(), [&](auto const& one) { return http::equal_ignoring_case(one, name); });
  };
  std::vector<std::string> const needed{"accept-encoding", "x-forwarded-proto", "x-forwarded-host", "via",
                                        "cdn-loop",        "x-request-id"};
  bool const all_cookies = has(policy.forward.allow, "cookie") || has(policy.key.headers, "cookie");
  for (auto const& field : forward.fields.fields()) {
    if (has(needed, field.name) || has(policy.key.headers, field.name) || has(policy.forward.allow, field.name)) continue;
    if (is_set_by(policy.headers.request, field.name)) continue;
    if (field.id != http::FieldId::cookie) return std::string(field.name);
    std::string bad;
    cache::for_each_cookie(forward.fields.fields(), [&](cache::Cookie const& cookie) {
      if (!all_cookies && !has(policy.key.cookies, cookie.name)) bad = cookie.text;
      return bad.empty();
    });
    if (!bad.empty()) return "cookie " + bad;
  }
  return "";
}

// The forwarded head without what is new in every fetch.
inline std::string head_without_id(ForwardRequest const& forward) {
  auto head = forward.head(nullptr);
  if (auto const at = head.find("\r\nX-Request-Id: "); at != std::string::npos)
    head.erase(at, head.find("\r\n", at + 2) - at);
  return head;
}

}  // namespace weir::proxy::test
