// SPEC section 12: groups marked * at the top, in a site and in a route; an origin over the top-level groups.
#include <gmock/gmock.h>

#include "loading.hpp"
#include "weir/cache/key.hpp"

namespace weir::config::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Settings settings_of(Loaded const& loaded) {
  EXPECT_TRUE(loaded.settings) << all_of(loaded);
  return loaded.settings.value_or(Settings{});
}

TEST(Inheritance, ASiteOverridesTheTopAndARouteItsSiteKeyByKey) {
  // The order in the file does not matter: `coalesce` at the top stands behind the sites.
  Settings const s = settings_of(load(more(R"(sites:
  - hosts: [a]
    routes:
      - {path: "/x", coalesce: {hold_time: 3s}, storable: {set_cookie: strip}}
      - {path: "/y"}
    coalesce: {hold: 2KiB}
    headers: {response: {remove: [Server]}}
  - hosts: [b]
coalesce: {hold: 1KiB, follower_max_wait: 2s}
headers: {request: {set: {A: b}}}
)")));
  Policy const& a = s.sites.at(0).policy;
  EXPECT_EQ(a.coalesce.hold, 2048U);
  EXPECT_EQ(a.coalesce.follower_max_wait, 2s);
  EXPECT_THAT(a.headers.request.set, SizeIs(1));
  EXPECT_THAT(a.headers.response.remove, ElementsAre("Server"));
  Policy const& x = s.sites[0].routes.at(0).policy;
  EXPECT_EQ(x.coalesce.hold, 2048U);
  EXPECT_EQ(x.coalesce.hold_time, 3s);
  EXPECT_EQ(x.storable.set_cookie, cache::SetCookie::strip);
  EXPECT_THAT(x.headers.response.remove, ElementsAre("Server"));
  Policy const& y = s.sites[0].routes.at(1).policy;
  EXPECT_EQ(y.coalesce.hold_time, 1s);
  EXPECT_EQ(y.storable.set_cookie, cache::SetCookie::refuse);
  EXPECT_EQ(s.sites.at(1).policy.coalesce.hold, 1024U);
  EXPECT_THAT(s.sites[1].policy.headers.response.remove, IsEmpty());
}

TEST(Inheritance, AnOriginOverridesLimiterBreakerAndTimeouts) {
  Settings const s = settings_of(load(file(R"(version: 1
origins:
  a: {url: "http://a", limiter: {max_concurrent: 5}, breaker: on, timeouts: {connect: 1s}}
  b: {servers: ["https://B:8443/", "https://c"], balance: least_connections, health_check: {path: /up}, retries: 1, pool: {idle: off}}
limiter: {max_concurrent: 7, max_queue_wait: 2s, partition: client}
breaker: off
timeouts: {origin: 20s, store: 9ms}
)")));
  Origin const &a = s.origins.at("a"), &b = s.origins.at("b");
  EXPECT_EQ(a.limiter.max_concurrent, 5U);
  EXPECT_EQ(a.max_queue_wait, 2s);
  EXPECT_EQ(a.partition, Partition::client);
  EXPECT_TRUE(a.breaker.enabled);
  EXPECT_EQ(a.timeouts.connect, 1s);
  EXPECT_EQ(a.timeouts.origin, 20s);
  EXPECT_FALSE(a.health_check);
  EXPECT_EQ(b.limiter.max_concurrent, 7U);
  EXPECT_FALSE(b.breaker.enabled);
  EXPECT_EQ(b.timeouts.connect, 3s);
  EXPECT_THAT(b.servers, ElementsAre("https://b:8443", "https://c"));
  ASSERT_TRUE(b.health_check);
  EXPECT_EQ(b.health_check->path, "/up");
  EXPECT_EQ(b.pool.idle, 0U);
  EXPECT_EQ(s.timeouts.store, 9ms);
}

TEST(Routes, CacheAndCollapse) {
  Settings const s = settings_of(load(more(R"(sites:
  - routes:
      - {path: "/account/*", cache: off}
      - {path: "/search", methods: [POST, QUERY], collapse: {key_body: true, ttl: 100ms, max_body: 1KiB}}
      - {path: "/random", collapse: false}
      - {path: "/strict", collapse: strict}
)")));
  auto const& routes = s.sites.at(0).routes;
  ASSERT_EQ(routes.size(), 4U);
  EXPECT_FALSE(routes[0].policy.cache);
  EXPECT_THAT(routes[1].methods, ElementsAre("POST", "QUERY"));
  EXPECT_TRUE(routes[1].policy.collapse_body.key_body);
  EXPECT_EQ(routes[1].policy.collapse_body.ttl, 100ms);
  EXPECT_EQ(routes[1].policy.collapse_body.max_body, 1024U);
  EXPECT_EQ(routes[2].policy.collapse, Collapse::off);
  EXPECT_EQ(routes[3].policy.collapse, Collapse::strict);
  EXPECT_TRUE(s.sites[0].policy.cache);
}

TEST(Sites, HostsAreBroughtIntoTheirOneForm) {
  Settings const s =
      settings_of(load(more("sites: [{hosts: [Shop.Example., \"*.SHOP.example\"], redirect: https}, {hosts: [\"*\"]}]\n")));
  EXPECT_EQ(s.sites.at(0).name, "shop.example");
  EXPECT_THAT(s.sites[0].hosts, ElementsAre("shop.example", "*.shop.example"));
  EXPECT_EQ(s.sites[0].redirect, "https");
  EXPECT_EQ(s.sites[0].origin, "app");
  EXPECT_EQ(s.sites.at(1).name, "default");
  EXPECT_THAT(s.sites[1].hosts, IsEmpty());
}

TEST(Presets, StandForTheirNames) {  // KEY-3, FWD-3
  Settings const defaults = settings_of(load(more("")));
  EXPECT_EQ(defaults.defaults.cookies.ignore.size(), cache::analytics_cookies().size());
  Settings const s =
      settings_of(load(more("key: {query_drop: [a*, tracking, b], headers: [X-Tenant]}\ncookies: {ignore: []}\n")));
  auto const& drop = s.defaults.key.query_drop;
  ASSERT_EQ(drop.size(), cache::tracking_parameters().size() + 2);
  EXPECT_TRUE(drop.front().prefix);
  EXPECT_EQ(drop.front().text, "a");
  EXPECT_EQ(drop.back().text, "b");
  EXPECT_FALSE(drop.back().prefix);
  EXPECT_THAT(s.defaults.key.headers, ElementsAre("x-tenant"));
  EXPECT_THAT(s.defaults.cookies.ignore, IsEmpty());
}

TEST(Off, AndFalseMeanTheSame) {
  for (std::string const word : {"off", "false", "\"off\""}) {
    Settings const s =
        settings_of(load(more("breaker: " + word + "\nmiss_rate: {enabled: " + word + "}\nadmin: {listen: " + word +
                              "}\nfreshness: {override_ttl: " + word + ", keep: " + word + "}\nlog: {level: " + word +
                              ", access_file: " + word + "}\nlimits: {connections_per_address: " + word + "}\n")));
    EXPECT_FALSE(s.origins.at("app").breaker.enabled);
    EXPECT_FALSE(s.miss_rate.enabled);
    EXPECT_EQ(s.admin.listen, "off");
    EXPECT_FALSE(s.defaults.freshness.override_ttl);
    EXPECT_EQ(s.defaults.freshness.keep, 0s);
    EXPECT_EQ(s.log.level, "off");
    EXPECT_EQ(s.log.access_file, "");
    EXPECT_EQ(s.limits.connections_per_address, 0U);
  }
  EXPECT_EQ(settings_of(load(more("freshness: {override_ttl: 0s}"))).defaults.freshness.override_ttl, Duration{});
}

TEST(Listen, HasAShortAndALongForm) {
  Settings const s =
      settings_of(load(more("listen: [\"[::1]:80\", {address: \"0.0.0.0:443\", tls: {certificates: [{cert: /c, key: /k}]}, "
                            "proxy_protocol: on}, \"unix:/run/w\", {address: \"unix:/run/x\", mode: \"666\"}]\n"
                            "trusted_proxies: [10.0.0.0/8]\n")));
  ASSERT_EQ(s.listen.size(), 4U);
  EXPECT_EQ(s.listen[0].address, "[::1]:80");
  EXPECT_FALSE(s.listen[0].tls);
  ASSERT_TRUE(s.listen[1].tls);
  ASSERT_EQ(s.listen[1].tls->certificates.size(), 1U);
  auto const& certificate = s.listen[1].tls->certificates[0];
  EXPECT_EQ(certificate.key, "/k");
  EXPECT_EQ(certificate.where.line, 3);
  EXPECT_EQ(certificate.where.path, "listen[1].tls.certificates[0]");
  EXPECT_EQ(s.listen[1].tls->min_version, TlsVersion::v1_2);
  EXPECT_EQ(s.listen[2].mode, 0660U);
  EXPECT_EQ(s.listen[3].mode, 0666U);
  EXPECT_TRUE(s.listen[1].proxy_protocol);
}

}  // namespace
}  // namespace weir::config::test
