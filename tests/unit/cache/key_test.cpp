// KEY-1 to KEY-4: what is keyed, what is alike, and that nothing else is.
#include <gtest/gtest.h>

#include <random>

#include "support/cases.hpp"
#include "unit/cache/wire_text.hpp"
#include "weir/cache/key.hpp"

namespace weir::cache::test {
namespace {

std::string key_of(WireRequest const& wire, KeyRules const& rules = {}, BodyDigest const* digest = nullptr) {
  std::string storage;
  auto const target = rewrite_target(wire.request, rules, storage);
  KeyBytes out;
  append_primary_key(wire.request, target, rules, digest, out);
  return std::string(view(out));
}

struct Pair {
  char const* name;
  char const* left;
  char const* right;
  bool alike;
  void (*rules)(KeyRules&) = [](KeyRules&) {};
};
void PrintTo(Pair const& pair, std::ostream* out) { *out << pair.name; }

class KeyPairs : public testing::TestWithParam<Pair> {};

TEST_P(KeyPairs, AreAlikeOrNot) {  // KEY-1, KEY-2, KEY-3, KEY-4
  KeyRules rules;
  GetParam().rules(rules);
  WireRequest const left(GetParam().left);
  WireRequest const right(GetParam().right);
  EXPECT_EQ(key_of(left, rules) == key_of(right, rules), GetParam().alike);
}

constexpr auto tenant = [](KeyRules& rules) { rules.headers = {"x-tenant"}; };
constexpr auto language = [](KeyRules& rules) { rules.cookies = {"lang"}; };

INSTANTIATE_TEST_SUITE_P(
    Table, KeyPairs,
    testing::Values(
        Pair{"get and head share", "GET /\nHost: a", "HEAD /\nHost: a", true},
        Pair{"post is its own class", "GET /\nHost: a", "POST /\nHost: a", false},
        Pair{"an unknown method G is not the class of GET", "GET /\nHost: a", "G /\nHost: a", false},
        Pair{"methods respect case", "POST /\nHost: a", "post /\nHost: a", false},
        Pair{"host ignores case", "GET /\nHost: Shop.Example", "GET /\nHost: shop.example", true},
        Pair{"default port", "GET /\nHost: a:80", "GET /\nHost: a", true},
        Pair{"empty port", "GET /\nHost: a:", "GET /\nHost: a", true},
        Pair{"another port", "GET /\nHost: a:81", "GET /\nHost: a", false},
        Pair{"443 is not http's port", "GET /\nHost: a:443", "GET /\nHost: a", false},
        Pair{"443 is https's port", "GET https://a:443/", "GET https://a/", true},
        Pair{"scheme ignores case and its port is found", "GET HTTPS://a:443/", "GET https://a/", true},
        Pair{"scheme is keyed", "GET https://a/", "GET http://a/", false},
        Pair{"trailing dot", "GET /\nHost: a.example.", "GET /\nHost: a.example", true},
        Pair{"absolute form is the same request", "GET http://a/x", "GET /x\nHost: a", true},
        Pair{"a request without a host has an empty one", "GET /", "GET /\nHost: a", false},
        Pair{"path byte for byte", "GET /A\nHost: a", "GET /a\nHost: a", false},
        Pair{"escapes are left alone", "GET /%7Ea\nHost: a", "GET /~a\nHost: a", false},
        Pair{"dot segments are left alone", "GET /x/../a\nHost: a", "GET /a\nHost: a", false},
        Pair{"double slashes are left alone", "GET //a\nHost: a", "GET /a\nHost: a", false},
        Pair{"an empty query is one", "GET /a?\nHost: a", "GET /a\nHost: a", false},
        Pair{"the query is keyed", "GET /a?x=1\nHost: a", "GET /a?x=2\nHost: a", false},
        Pair{"order of the query counts", "GET /a?x=1&y=2\nHost: a", "GET /a?y=2&x=1\nHost: a", false},
        Pair{"unkeyed fields do not count", "GET /\nHost: a\nX-Tenant: 1", "GET /\nHost: a", true},
        Pair{"keyed field", "GET /\nHost: a\nX-Tenant: 1", "GET /\nHost: a\nX-Tenant: 2", false, tenant},
        Pair{"keyed field: its name ignores case", "GET /\nHost: a\nX-TENANT: 1", "GET /\nHost: a\nx-tenant: 1", true,
             tenant},
        Pair{"keyed field absent and empty", "GET /\nHost: a\nX-Tenant:", "GET /\nHost: a", false, tenant},
        Pair{"keyed field on two lines", "GET /\nHost: a\nX-Tenant: 1\nX-Tenant: 2", "GET /\nHost: a\nX-Tenant: 1,2", true,
             tenant},
        Pair{"keyed cookie", "GET /\nHost: a\nCookie: lang=de", "GET /\nHost: a\nCookie: lang=en", false, language},
        Pair{"keyed cookie absent and empty", "GET /\nHost: a\nCookie: lang=", "GET /\nHost: a", false, language},
        Pair{"cookies beside the keyed one", "GET /\nHost: a\nCookie: s=1; lang=de", "GET /\nHost: a\nCookie: lang=de; s=2",
             true, language},
        Pair{"keyed cookie twice", "GET /\nHost: a\nCookie: lang=de; lang=en", "GET /\nHost: a\nCookie: lang=de", false,
             language},
        Pair{"cookie names respect case", "GET /\nHost: a\nCookie: Lang=de", "GET /\nHost: a\nCookie: lang=de", false,
             language}),
    row_name);

TEST(Key, NamesTheSameAsAPurgeByUrl) {  // KEY-1, PRG-1
  WireRequest const wire("GET /a?b\nHost: Shop.example:80");
  KeyBytes url;
  append_url_key("HTTP", "shop.example", {.path = "/a", .query = "b", .has_query = true}, url);
  EXPECT_EQ(key_of(wire), view(url));
}

TEST(Key, BodyDigestWithTypeAndCoding) {  // COA-12
  BodyDigest one{};
  BodyDigest other{};
  other[31] = 1;
  WireRequest const bare("QUERY /q\nHost: a");
  WireRequest const json("QUERY /q\nHost: a\nContent-Type: application/json");
  WireRequest const coded("QUERY /q\nHost: a\nContent-Encoding: application/json");
  EXPECT_NE(key_of(bare), key_of(bare, {}, &one));
  EXPECT_NE(key_of(bare, {}, &one), key_of(bare, {}, &other));
  EXPECT_NE(key_of(bare, {}, &one), key_of(json, {}, &one));
  EXPECT_NE(key_of(coded, {}, &one), key_of(json, {}, &one));
  EXPECT_EQ(key_of(json, {}, &one), key_of(json, {}, &one));
}

TEST(Key, IsDescribedForPeople) {
  KeyRules rules;
  rules.headers = {"x-tenant"};
  rules.cookies = {"lang"};
  EXPECT_EQ(describe_key(key_of(WireRequest("HEAD /a?b\nHost: A\nX-Tenant: t\nCookie: lang=d\xE9"), rules)),
            "GET http://a/a?b x-tenant=t cookie:lang=d\\xe9");
  EXPECT_EQ(describe_key(key_of(WireRequest("POST /a\nHost: a"))), "POST http://a/a");
  BodyDigest digest{};
  EXPECT_EQ(describe_key(key_of(WireRequest("QUERY /\nHost: a\nContent-Type: t/t\nContent-Encoding: br"), {}, &digest)),
            "QUERY http://a/ body=" + std::string(64, '0') + " content-type=t/t content-encoding=br");
  EXPECT_EQ(describe_key("not a key"), "");
}

TEST(Key, IsTakenApartForPeople) {  // OBS-3
  KeyRules rules;
  rules.headers = {"x-tenant", "x-none"};
  rules.cookies = {"lang"};
  std::vector<std::pair<std::string, std::optional<std::string>>> const parts{{"method", "GET"},
                                                                              {"scheme", "http"},
                                                                              {"host", "a"},
                                                                              {"path", "/a"},
                                                                              {"query", "b"},
                                                                              {"header x-tenant", "t"},
                                                                              {"header x-none", std::nullopt},
                                                                              {"cookie lang", "d\\xe9, f"}};
  EXPECT_EQ(key_parts(key_of(WireRequest("HEAD /a?b\nHost: A\nX-Tenant: t\nCookie: lang=d\xE9; lang=f"), rules)), parts);
}

TEST(Key, PartitionIsWithoutQueryAndKeyedFields) {  // LIM-2
  EXPECT_EQ(partition_of(key_of(WireRequest("GET /a/b?c\nHost: A"))), "http://a/a/b");
  EXPECT_EQ(partition_of(key_of(WireRequest("POST https://h:8443/x"))), "https://h:8443/x");
  EXPECT_EQ(partition_of("junk"), "");
}

TEST(Key, AuthorizationIsACredentialUnlessKeyed) {  // COA-8
  WireRequest const with("GET /\nHost: a\nAuthorization: Basic x");
  KeyRules keyed;
  keyed.headers = {"authorization"};
  EXPECT_TRUE(has_authorization_credential(with.fields(), {}));
  EXPECT_FALSE(has_authorization_credential(with.fields(), keyed));
  EXPECT_FALSE(has_authorization_credential(WireRequest("GET /\nHost: a").fields(), {}));
}

// ---- injectivity ----

// The keyed parts of a request, made of few letters so that parts often run into each other.
struct Drawn {
  std::string method, host, path;
  std::optional<std::string> query, tenant, shop;
  std::vector<std::string> cookies;
  bool operator==(Drawn const&) const = default;
};

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random_); }
  std::string text(std::string_view letters, std::uint32_t most) {
    std::string out;
    for (auto left = below(most + 1); left > 0; --left) out += letters[below(static_cast<std::uint32_t>(letters.size()))];
    return out;
  }
  std::optional<std::string> maybe(std::string_view letters) {
    if (below(3) == 0) return std::nullopt;
    return text(letters, 3);
  }
  std::vector<std::string> cookies() {
    std::vector<std::string> out(below(3));
    for (auto& cookie : out) cookie = text("ab", 2);
    return out;
  }
  Drawn request() {
    return {method(), "h" + text("ab", 2), "/" + text("av/n", 3), maybe("av&="), maybe("avhc"), maybe("avhc"), cookies()};
  }
  std::string method() {
    static constexpr char const* methods[] = {"GET", "POST", "G", "M", "QUERY"};
    return methods[below(5)];
  }
  Drawn change_one(Drawn drawn) {
    switch (below(7)) {
      case 0:
        drawn.method = method();
        break;
      case 1:
        drawn.host = "h" + text("ab", 2);
        break;
      case 2:
        drawn.path = "/" + text("av/n", 3);
        break;
      case 3:
        drawn.query = maybe("av&=");
        break;
      case 4:
        drawn.tenant = maybe("avhc");
        break;
      case 5:
        drawn.shop = maybe("avhc");
        break;
      default:
        drawn.cookies = cookies();
        break;
    }
    return drawn;
  }

 private:
  std::mt19937 random_;
};

std::string key_of(Drawn const& drawn) {
  KeyRules rules;
  rules.headers = {"tenant", "shop"};
  rules.cookies = {"c"};
  std::string text = drawn.method + " " + drawn.path + (drawn.query ? "?" + *drawn.query : "") + "\nHost: " + drawn.host;
  if (drawn.tenant) text += "\nTenant: " + *drawn.tenant;
  if (drawn.shop) text += "\nShop: " + *drawn.shop;
  for (auto const& cookie : drawn.cookies) text += "\nCookie: c=" + cookie;
  return key_of(WireRequest(text), rules);
}

TEST(Key, IsInjective) {  // KEY-1
  Draw draw(1);
  int differing = 0;
  int const cases = weir::test::drawn_cases(1'000'000);
  for (int i = 0; i < cases || differing < cases / 2; ++i) {
    auto const left = draw.request();
    auto const right = draw.change_one(left);
    differing += left != right ? 1 : 0;
    ASSERT_EQ(key_of(left) == key_of(right), left == right)
        << describe_key(key_of(left)) << " | " << describe_key(key_of(right));
  }
}

// ---- KEY-2, KEY-3 ----

struct Rewrite {
  char const* name;
  char const* target;
  char const* expected;
  void (*rules)(KeyRules&);
};
void PrintTo(Rewrite const& row, std::ostream* out) { *out << row.name; }

class Rewrites : public testing::TestWithParam<Rewrite> {};

TEST_P(Rewrites, Target) {  // KEY-2, KEY-3
  KeyRules rules;
  GetParam().rules(rules);
  WireRequest const wire("GET " + std::string(GetParam().target) + "\nHost: a");
  std::string storage;
  auto const target = rewrite_target(wire.request, rules, storage);
  EXPECT_EQ(std::string(target.path) + (target.has_query ? "?" + std::string(target.query) : ""), GetParam().expected);
  // What is right already is not copied.
  if (std::string_view(GetParam().target) == GetParam().expected && !rules.normalize_path) { EXPECT_TRUE(storage.empty()); }
  // A second pass changes nothing: the forwarded request has the key of the one that came.
  WireRequest const again("GET " + std::string(GetParam().expected) + "\nHost: a");
  std::string second;
  auto const twice = rewrite_target(again.request, rules, second);
  EXPECT_EQ(twice.path, target.path);
  EXPECT_EQ(twice.query, target.query);
  EXPECT_EQ(twice.has_query, target.has_query);
}

constexpr auto nothing = [](KeyRules&) {};
constexpr auto normalize = [](KeyRules& rules) { rules.normalize_path = true; };
constexpr auto tracking = [](KeyRules& rules) { rules.query_drop = tracking_parameters(); };
constexpr auto keep = [](KeyRules& rules) { rules.query_keep = {{"id", false}, {"p_", true}}; };
constexpr auto sorted = [](KeyRules& rules) { rules.query_sort = true; };

INSTANTIATE_TEST_SUITE_P(
    Table, Rewrites,
    testing::Values(Rewrite{"nothing to do", "/a?b&&c=%zz", "/a?b&&c=%zz", nothing},
                    Rewrite{"unreserved decoded, hex upper", "/%7e%41%2f%c3%A9//x?%7e", "/~A%2F%C3%A9//x?%7e", normalize},
                    Rewrite{"an escape at the end", "/a%2d", "/a-", normalize},
                    Rewrite{"dot segments stay", "/a/%2e%2E/b", "/a/../b", normalize},
                    Rewrite{"nothing to normalise", "/a/b", "/a/b", normalize},
                    Rewrite{"path and query together", "/%61?utm_source=1&x", "/a?x",
                            [](KeyRules& rules) {
                              rules.normalize_path = true;
                              rules.query_drop = tracking_parameters();
                            }},
                    Rewrite{"dropped by prefix and by name", "/?a=1&utm_source=x&gclid=y&b", "/?a=1&b", tracking},
                    Rewrite{"names are whole", "/?gclid2=1&xutm_a=2", "/?gclid2=1&xutm_a=2", tracking},
                    Rewrite{"names respect case", "/?UTM_source=1", "/?UTM_source=1", tracking},
                    Rewrite{"a query of which nothing is left is no query", "/a?utm_x", "/a", tracking},
                    Rewrite{"an empty query stays", "/a?", "/a?", tracking},
                    Rewrite{"empty segments stay", "/a?&utm_x&&b", "/a?&&b", tracking},
                    Rewrite{"kept by name and by prefix", "/?x=1&id=2&p_a=3&&idx=4", "/?id=2&p_a=3", keep},
                    Rewrite{"an empty query is nothing to keep from", "/?", "/?", keep},
                    Rewrite{"drop goes before keep", "/?id=1&p_a=2", "/?p_a=2",
                            [](KeyRules& rules) {
                              rules.query_drop = {{"id", false}};
                              rules.query_keep = {{"id", false}, {"p_", true}};
                            }},
                    Rewrite{"sorted by name", "/?b=1&a=2&c", "/?a=2&b=1&c", sorted},
                    Rewrite{"one name keeps its order", "/?b=2&a=1&b=1", "/?a=1&b=2&b=1", sorted},
                    Rewrite{"sorted already", "/?a=9&b=1", "/?a=9&b=1", sorted},
                    Rewrite{"sorted and dropped", "/?z&utm_a&a", "/?a&z",
                            [](KeyRules& rules) {
                              rules.query_sort = true;
                              rules.query_drop = tracking_parameters();
                            }}),
    row_name);

}  // namespace
}  // namespace weir::cache::test
