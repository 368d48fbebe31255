// Poisoning: an origin that shows a field of the request on a page that may be cached, and two clients.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

// A request, answered, and its fetch over: what comes next finds what it left.
Response settled(Weir& weir, std::string const& target, Fields const& fields = {}) {
  auto response = get(weir.port(), target, fields);
  EXPECT_TRUE(weir.waits_until_no_flights());
  return response;
}

struct Probe {
  std::string field;
  std::string value = "evil";  // shown on the page if the origin gets it
};

// Known to poison, or a claim about who the client is: an origin never gets them from strangers.
std::vector<Probe> const known{{"X-Original-URL", "/evil"},
                               {"X-Rewrite-URL", "/evil"},
                               {"X-Override-URL", "/evil"},
                               {"X-HTTP-Method-Override", "EVIL"},
                               {"X-HTTP-Method", "EVIL"},
                               {"X-Method-Override", "EVIL"},
                               {"X-Forwarded-Scheme"},
                               {"X-Forwarded-Server", "evil.test"},
                               {"X-Forwarded-Port", "6666"},
                               {"X-Forwarded-Prefix", "/evil"},
                               {"X-Forwarded-Ssl"},
                               {"X-Forwarded-By"},
                               {"X-Forwarded", "for=evil"},
                               {"X-Forwarded-Host", "evil.test"},
                               {"X-Forwarded-Proto", "evil"},
                               {"X-Forwarded-For", "6.6.6.6"},
                               {"Forwarded", "for=evil"},
                               {"X-Host", "evil.test"},
                               {"X-Original-Host", "evil.test"},
                               {"X-Backend-Host", "evil.test"},
                               {"X-URL-Scheme", "evil"},
                               {"Front-End-Https", "evil"},
                               {"Proxy", "evil"},
                               {"X-Real-IP", "6.6.6.6"},
                               {"True-Client-IP", "6.6.6.6"},
                               {"CF-Connecting-IP", "6.6.6.6"},
                               {"X-Client-IP", "6.6.6.6"},
                               {"X-Remote-IP", "6.6.6.6"},
                               {"X-Originating-IP", "6.6.6.6"},
                               {"X-Original-Forwarded-For", "6.6.6.6"},
                               {"WL-Proxy-Client-IP", "6.6.6.6"},
                               {"Proxy-Client-IP", "6.6.6.6"},
                               {"Fly-Client-IP", "6.6.6.6"},
                               {"CF-Connecting-IPv6", "2001:db8::6"},
                               {"X-Azure-ClientIP", "6.6.6.6"},
                               {"X-Envoy-External-Address", "6.6.6.6"},
                               {"DO-Connecting-IP", "6.6.6.6"},
                               {"Forwarded-For", "6.6.6.6"}};
// Nobody can know what an origin does with these.
std::vector<Probe> const unknown{{"User-Agent"},
                                 {"Referer"},
                                 {"Origin"},
                                 {"Accept"},
                                 {"Accept-Language"},
                                 {"Accept-Charset"},
                                 {"X-Requested-With"},
                                 {"X-Custom"},
                                 {"Cache-Control"},
                                 {"Pragma"},
                                 {"DNT"},
                                 {"Save-Data"},
                                 {"X-Request-Id"},
                                 {"X-Amz-Website"},
                                 {"Via", "1.1 evil"},
                                 {"CDN-Loop"},
                                 {"From"},
                                 {"X-Api-Version"},
                                 {"Cookie", "_ga=evil"},
                                 {"If-None-Match", "\"evil\""},
                                 {"Range", "bytes=66-77"}};

// An origin that shows what it got of a field; `names_it`: its Vary says so.
void show(ScriptedOrigin& origin, std::string const& field, bool names_it = false) {
  origin.answer_rest([=](Request const& request) {
    Fields fields{max_age(600)};
    if (names_it) fields.push_back({"Vary", field});
    return respond(200, fields, "page [" + request.value(field) + "]");
  });
}

bool has(Request const& request, Probe const& probe) { return request.head.find(probe.value) != std::string::npos; }

// FWD-1: in guarded mode the known ones reach nobody.
TEST(Poison, KnownFieldsReachNoOriginInGuardedMode) {
  for (auto const& probe : known) {
    SCOPED_TRACE(probe.field);
    ScriptedOrigin origin;
    show(origin, probe.field);
    Weir weir(origin, plain);
    auto const first = settled(weir, "/page", {{probe.field, probe.value}});
    auto const second = settled(weir, "/page");
    EXPECT_FALSE(has(origin.last_request(), probe)) << origin.last_request();
    EXPECT_EQ(second.body.find(probe.value), std::string::npos);
    EXPECT_TRUE(cache_status(second).hit());  // and they split nothing
    EXPECT_EQ(first.body, second.body);
  }
}

// FWD-2: in strict mode none does.
TEST(Poison, NoFieldReachesTheOriginInStrictMode) {
  EXPECT_GE(known.size() + unknown.size(), 40U);
  for (auto const* list : {&known, &unknown}) {
    for (auto const& probe : *list) {
      SCOPED_TRACE(probe.field);
      ScriptedOrigin origin;
      show(origin, probe.field);
      Weir weir(origin, plain + "forward: {mode: strict}\n");
      settled(weir, "/page", {{probe.field, probe.value}, {"Connection", probe.field}});
      settled(weir, "/page", {{probe.field, probe.value}});
      EXPECT_FALSE(has(origin.last_request(), probe)) << origin.last_request();
      auto const second = settled(weir, "/page");
      EXPECT_TRUE(cache_status(second).hit());
      EXPECT_EQ(second.body.find(probe.value), std::string::npos);
      EXPECT_EQ(origin.calls(), 1U);
    }
  }
}

// FWD-2, STO-5: nor on a marker or with credentials, where requests go as they came.
TEST(Poison, NoFieldIsStoredOnAMarkerInStrictMode) {
  for (auto const* list : {&known, &unknown}) {
    for (auto const& probe : *list) {
      SCOPED_TRACE(probe.field);
      ScriptedOrigin origin;
      origin.answer_rest([](Request const&) { return respond(200, {{"Cache-Control", "private"}}, "x"); });
      Weir weir(origin, plain + "forward: {mode: strict}\n");
      settled(weir, "/page");
      show(origin, probe.field);
      settled(weir, "/page", {{probe.field, probe.value}});
      EXPECT_EQ(settled(weir, "/page").body.find(probe.value), std::string::npos);
    }
  }
}

// KEY-6, FWD-1: a page that names the field is split by what the origin got; no client gets another's.
TEST(Poison, FieldsInVarySplit) {
  for (std::string const mode : {"guarded", "strict", "all"}) {
    for (auto const* list : {&known, &unknown}) {
      for (auto const& probe : *list) {
        if (probe.field == "Cookie") continue;  // KEY-6: not stored
        SCOPED_TRACE(mode + " " + probe.field);
        ScriptedOrigin origin;
        show(origin, probe.field, true);
        Weir weir(origin, plain + "forward: {mode: " + mode + "}\n");
        auto const first = settled(weir, "/page", {{probe.field, probe.value}});
        auto const second = settled(weir, "/page");
        EXPECT_EQ(second.body.find(probe.value), std::string::npos);
        EXPECT_EQ(settled(weir, "/page", {{probe.field, probe.value}}).body.find(probe.value) != std::string::npos,
                  first.body.find(probe.value) != std::string::npos);
      }
    }
  }
}

// FWD-1, FWD-2: keyed or allowed by name, they pass, and what is keyed splits.
TEST(Poison, NamedFieldsPass) {
  for (auto const& [mode, list] : std::vector<std::pair<std::string, std::string>>{
           {"guarded", "key: {headers: [x-host, x-custom]}\n"}, {"strict", "key: {headers: [x-host, x-custom]}\n"}}) {
    for (std::string const field : {"X-Host", "X-Custom"}) {
      ScriptedOrigin origin;
      show(origin, field);
      Weir weir(origin, plain + "forward: {mode: " + mode + "}\n" + list);
      EXPECT_EQ(settled(weir, "/page", {{field, "a"}}).body, "page [a]");
      EXPECT_EQ(settled(weir, "/page").body, "page []");
      EXPECT_EQ(settled(weir, "/page", {{field, "b"}, {"Connection", field}}).body, "page [b]");
      EXPECT_EQ(origin.calls(), 3U);
    }
  }
  ScriptedOrigin origin;
  show(origin, "User-Agent");
  Weir weir(origin, plain + "forward: {mode: strict, allow: [user-agent]}\n");
  EXPECT_EQ(settled(weir, "/page", {{"User-Agent", "a"}}).body, "page [a]");
}

// FWD-2: credentials that strict mode takes off are none.
TEST(Poison, StrictTakesOffAuthorization) {
  ScriptedOrigin origin;
  show(origin, "Authorization");
  Weir weir(origin, plain + "forward: {mode: strict}\n");
  EXPECT_EQ(settled(weir, "/page", {{"Authorization", "Basic a"}}).body, "page []");
  EXPECT_TRUE(cache_status(settled(weir, "/page", {{"Authorization", "Basic b"}})).hit());
  Weir allowed(origin, plain + "forward: {mode: strict, allow: [authorization]}\n");
  for (std::string const user : {"Basic a", "Basic b"})
    EXPECT_EQ(settled(allowed, "/page", {{"Authorization", user}}).body, "page [" + user + "]");
  EXPECT_EQ(allowed.entries(), 0U);
}

// FWD-4: what is not cacheable goes whole, in strict mode too.
TEST(Poison, StrictIsForCacheableRequestsAlone) {
  ScriptedOrigin origin;
  show(origin, "X-Custom");
  Weir weir(origin, plain + "forward: {mode: strict}\n");
  Client client(weir.port());
  EXPECT_EQ(client.request("POST", "/page", {{"X-Custom", "a"}, {"Cookie", "s=1"}, {"X-Host", "evil"}}).body, "page [a]");
  EXPECT_EQ(origin.last_request().value("Cookie"), "s=1");
  EXPECT_FALSE(origin.last_request().has("X-Host"));
}

// KEY-2: nor does the spelling of the host get there.
TEST(Poison, HostIsForwardedAsItIsKeyed) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) {
    return respond(200, {max_age(60)}, request.value("Host") + " " + request.value("X-Forwarded-Host"));
  });
  Weir weir(origin, plain);
  for (std::string const host : {"Shop.TEST.:80", "shop.test", "shop.test."})
    EXPECT_EQ(settled(weir, "/page", {{"Host", host}}).body, "shop.test shop.test");
  EXPECT_EQ(origin.calls(), 1U);
}

// FWD-1: what a proxy that we trust says of the client's scheme is keyed: a redirect to https is not for those who are
// there.
TEST(Poison, SchemeOfATrustedProxyIsKeyed) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {max_age(60)}, request.value("X-Forwarded-Proto")); });
  Weir weir(origin, plain + "trusted_proxies: [127.0.0.1]\n");
  for (int i = 0; i < 2; ++i)
    for (std::string const scheme : {"http", "https"})
      EXPECT_EQ(settled(weir, "/page", {{"X-Forwarded-Proto", scheme}, {"X-Real-IP", "10.1.1.1"}}).body, scheme);
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(origin.last_request().value("X-Real-IP"), "10.1.1.1");
}

// FWD-1, STO-1: what a POST leaves for GET is keyed by what the origin was told, not by what the client claimed.
TEST(Poison, PostIsKeyedAsItWasForwarded) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    return respond(200, {max_age(60), {"Content-Location", "/x"}}, request.method + " " + request.value("X-Forwarded-For"));
  });
  Weir weir(origin, plain + "key: {headers: [x-forwarded-for]}\n");
  Client client(weir.port());
  client.request("POST", "/x", {{"X-Forwarded-For", "6.6.6.6"}}, "body");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(settled(weir, "/x").body, "POST 127.0.0.1");
  EXPECT_EQ(settled(weir, "/x", {{"X-Forwarded-For", "6.6.6.6"}}).body, "POST 127.0.0.1");
}

}  // namespace
}  // namespace weir::test
