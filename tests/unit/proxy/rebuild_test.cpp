// FWD-2's property: the key can be rebuilt from the forwarded request alone, for drawn configurations and requests.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "support/cases.hpp"
#include "unit/proxy/rebuild.hpp"
#include "weir/config/load.hpp"

namespace weir::proxy::test {
namespace {

constexpr int configurations = 250;
int const requests_each = weir::test::drawn_cases(4'000);

using Values = std::vector<std::string_view>;

Values const names{"X-Tenant",
                   "x-kind",
                   "Accept-Language",
                   "Authorization",
                   "User-Agent",
                   "Accept",
                   "Referer",
                   "X-Host",
                   "X-Forwarded-For",
                   "X-Forwarded-Host",
                   "x-forwarded-proto",
                   "Forwarded",
                   "X-Original-URL",
                   "Connection",
                   "TE",
                   "Cache-Control",
                   "Pragma",
                   "If-None-Match",
                   "Range",
                   "Accept-Encoding",
                   "X-Request-Id",
                   "traceparent",
                   "tracestate",
                   "Via",
                   "CDN-Loop",
                   "Origin",
                   "X-Real-IP",
                   "Expect",
                   "X-Custom",
                   "Cookie",
                   "Cookie",
                   "Keep-Alive",
                   "Proxy-Authorization",
                   "Host",
                   "Transfer-Encoding",
                   "Content-Length",
                   "Upgrade",
                   "If-Range"};
Values const values{"",
                    "a",
                    "b",
                    "A",
                    "a, b",
                    "a,b",
                    " a",
                    "\"a, b\"",
                    "\"a",
                    "de",
                    "de, en;q=0.5",
                    "en;q=0.5,de",
                    "de;q=x",
                    "fr-CH, fr;q=0.9, *;q=0.1",
                    "gzip",
                    "br;q=0.1, gzip",
                    "identity;q=0",
                    "*",
                    "x-tenant, X-Kind",
                    "close, accept-language, cookie",
                    "keep-alive",
                    "http",
                    "https",
                    "evil.test",
                    "10.0.0.1",
                    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                    "lang=de",
                    "lang=fr; cur=e; s=1",
                    "_ga=1; s=2",
                    "cur=e; lang=de; lang=fr",
                    "lang",
                    "=x",
                    "; ;lang=",
                    "_gid=1",
                    "max-age=0",
                    "bytes=0-1",
                    "\x80\xff"};
Values const hosts{"a.test", "A.test", "a.test.", "a.test:80", "a.test:443", "a.test:81", "b.test", "[::1]", "[::1]:80", ""};
Values const paths{"/", "/a", "/%61", "/a/../b", "/%2F%zz", "//"};
Values const queries{"", "a=1", "b=2&a=1", "utm_x=1&a", "&&a", "c&b&a", "a=2&a=1", "utm_x"};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() >> 33U) % bound; }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }
  std::string_view one_of(Values const& list) { return list[below(list.size())]; }
  std::string some_of(Values const& list) {
    std::string out;
    for (auto const& one : list)
      if (chance(3)) out.append(out.empty() ? "" : ", ").append(one);
    return out;
  }

  config::Policy policy(std::string_view mode, bool with_allowed) {
    std::string yaml = "version: 1\norigins: {o: {url: \"http://o\"}}\n";
    yaml += "forward: {mode: " + std::string(mode);
    if (with_allowed)
      yaml += ", allow: [" + some_of({"x-kind", "accept-language", "cookie", "user-agent", "x-request-id"}) + "]";
    yaml +=
        "}\nkey:\n  headers: [" +
        some_of({"x-tenant", "x-kind", "accept-language", "authorization", "cookie", "x-host", "accept-encoding", "via"}) +
        "]\n  cookies: [" + some_of({"cur", "lang", "_ga"}) + "]\n  languages: [" + some_of({"de", "en", "fr-ch"}) +
        "]\n  query_drop: [" + some_of({"tracking", "b"}) + "]\n  query_sort: " + (chance(2) ? "true" : "false") +
        "\n  normalize_path: " + (chance(2) ? "true" : "false") +
        "\ncookies: {mode: " + std::string(one_of({"credential", "ignore"})) + "}\n";
    auto loaded = config::load({"drawn.yaml", yaml, {}, {}, "", {}});
    if (!loaded.settings) throw std::runtime_error(yaml + loaded.mistakes.front().text());
    return loaded.settings->sites.front().policy;
  }

  struct Request {
    http::Request request;
    std::vector<http::Field> fields;
    bool trusted = false;
  };
  void request(Request& out) {
    auto& request = out.request;
    request.method = one_of({"GET", "HEAD"});
    request.method_id = http::method_of(request.method);
    request.scheme = one_of({"http", "https"});
    request.authority = one_of(hosts);
    request.path = one_of(paths);
    request.has_query = chance(2);
    request.query = request.has_query ? one_of(queries) : std::string_view();
    out.trusted = chance(2);
    out.fields.clear();
    for (auto left = below(8); left > 0; --left) add(out.fields);
    request.fields = out.fields;
  }
  void add(std::vector<http::Field>& fields) {
    auto const name = one_of(names);
    fields.push_back({http::field_id(name), name, http::trim(one_of(values))});
  }

 private:
  std::mt19937_64 random_;
};

std::string text_of(http::Request const& request, http::Fields forwarded) {
  std::string out(request.method);
  out.append(" ").append(request.scheme).append("://").append(request.authority).append(request.path);
  out.append("?").append(request.query);
  for (auto const& field : request.fields) out.append("\n  ").append(field.name).append(": ").append(field.value);
  out += "\nforwarded";
  for (auto const& field : forwarded) out.append("\n  ").append(field.name).append(": ").append(field.value);
  return out;
}

// FWD-2, KEY-1 to KEY-5: a million requests.
TEST(Rebuild, KeyFromTheForwardedRequestAlone) {
  Draw draw(1);
  Draw::Request drawn;
  for (int i = 0; i < configurations; ++i) {
    auto const policy = draw.policy("strict", true);
    for (int j = 0; j < requests_each; ++j) {
      draw.request(drawn);
      Trip const trip(drawn.request, policy, drawn.trusted);
      ASSERT_EQ(key_from_forwarded(trip.forward, policy.key), cache::view(trip.key))
          << text_of(trip.request, trip.forward.fields.fields());
      ASSERT_EQ(stowaway(trip.forward, policy), "") << text_of(trip.request, trip.forward.fields.fields());
    }
  }
}

// FWD-2: where nothing is allowed, equal keys and codings are equal requests: nothing else of the client gets through.
TEST(Rebuild, EqualKeysAreEqualRequests) {
  Draw draw(2);
  Draw::Request left, right;
  int alike = 0;
  for (int i = 0; i < configurations; ++i) {
    auto const policy = draw.policy("strict", false);
    for (int j = 0; j < requests_each / 4; ++j) {
      draw.request(left);
      right = left;
      for (auto more = draw.below(4); more > 0; --more) draw.add(right.fields);
      if (!right.fields.empty() && draw.chance(2)) right.fields.erase(right.fields.begin());
      right.request.fields = right.fields;
      Trip const one(left.request, policy, left.trusted);
      Trip const other(right.request, policy, draw.chance(2));
      bool const same = cache::view(one.key) == cache::view(other.key) &&
                        selecting_value(one.seen, "accept-encoding", policy.key) ==
                            selecting_value(other.seen, "accept-encoding", policy.key) &&
                        !http::choose_coding(left.request.fields, policy.key.accept_encoding).identity_forbidden &&
                        !http::choose_coding(right.request.fields, policy.key.accept_encoding).identity_forbidden;
      if (!same) continue;
      ++alike;
      ASSERT_EQ(head_without_id(one.forward), head_without_id(other.forward)) << text_of(other.request, other.seen);
    }
  }
  EXPECT_GT(alike, configurations * requests_each / 16);
}

// KEY-6, FWD-1: in every mode a variant is selected by what the origin got.
TEST(Rebuild, SelectingValuesAreThoseThatAreForwarded) {
  Draw draw(3);
  Draw::Request drawn;
  for (int i = 0; i < configurations; ++i) {
    auto const policy = draw.policy(draw.one_of({"guarded", "strict", "all"}), true);
    for (int j = 0; j < requests_each / 4; ++j) {
      draw.request(drawn);
      Trip const trip(drawn.request, policy, drawn.trusted);
      for (auto const name : names) {
        auto const selected = selecting_value(trip.seen, http::lower(name), policy.key);
        auto const got = selecting_value(trip.forward.fields.fields(), http::lower(name), policy.key);
        bool const composed = name == "Forwarded" || name == "X-Request-Id";
        if (composed && selected != got) continue;  // then it selects for nobody
        ASSERT_EQ(selected, got) << name << " " << text_of(trip.request, trip.forward.fields.fields());
      }
    }
  }
}

}  // namespace
}  // namespace weir::proxy::test
