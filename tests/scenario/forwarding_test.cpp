// Section 3: what makes two requests one, and what the origin gets to see of them.
#include <gtest/gtest.h>

#include <sys/socket.h>

#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// An origin whose cacheable answers say what was asked: method, host and target.
void echo(ScriptedOrigin& origin) {
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}},
                   request.method + " " + request.value("Host") + " " + request.target);
  });
}

// KEY-1, KEY-2: none of these is another, asked twice each.
TEST(Forwarding, DifferentRequestsNeverShare) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, "key: {headers: [x-tenant]}\n");
  std::vector<std::pair<std::string, Fields>> requests;
  for (std::string const target :
       {"/",    "//",   "/?",      "/a",   "/A",     "/a/",    "/a?",      "/a?b", "/a?b=", "/a?b&",        "/a%3Fb",
        "/%61", "/./a", "/b/../a", "/a;b", "/a?b&c", "/a?c&b", "/a?b%26c", "/a?B", "/a=b",  "/a?x-tenant=t"})
    for (std::string const host : {"a.test", "b.test", "a.test:81", "a", "aa.test"})
      requests.push_back({target, {{"Host", host}}});
  for (std::string const tenant : {"", "t", "T", "t, u", "t:u", "ta"})
    requests.push_back({"/a", {{"Host", "a.test"}, {"X-Tenant", tenant}}});
  Client client(weir.port());
  std::map<std::string, std::size_t> seen;
  for (int round = 0; round < 2; ++round) {
    for (auto const& [target, fields] : requests) {
      auto const response = client.get(target, fields);
      EXPECT_EQ(response.body, "GET " + fields[0].value + " " + target);
      EXPECT_EQ(cache_status(response).hit(), round == 1) << target << fields.back();
    }
  }
  EXPECT_EQ(origin.calls(), requests.size());
  EXPECT_EQ(weir.entries(), requests.size());
}

// KEY-2: what is the same is one.
TEST(Forwarding, SameRequestsShare) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin);
  Client client(weir.port());
  for (std::string const host : {"a.test", "A.TEST", "a.test.", "a.test:80", "A.test.:80", "a.test:080"})
    EXPECT_EQ(client.get("/a", {{"Host", host}}).body, "GET a.test /a") << host;
  EXPECT_EQ(client.request("HEAD", "/a", {{"Host", "a.test"}}).status, 200);
  EXPECT_EQ(origin.calls(), 1U);
}

// KEY-2
TEST(Forwarding, PathIsNormalizedOnlyWhenAsked) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, "key: {normalize_path: true}\n");
  Client client(weir.port());
  EXPECT_EQ(client.get("/%61%2f%7E/../b").body, client.get("/a%2F~/../b").body);
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_NE(client.get("/a/~/../b").body, client.get("/b").body);
  EXPECT_EQ(origin.calls(), 3U);
}

// KEY-3: what is keyed is what is forwarded.
TEST(Forwarding, QueryIsRewritten) {
  struct Row {
    std::string rules, asked, forwarded;
  };
  for (Row const& row : std::vector<Row>{
           {"query_drop: [utm_*, fbclid]", "/x?utm_source=a&b=1&fbclid&utm_=&c", "/x?b=1&c"},
           {"query_drop: [tracking]", "/x?utm_source=a&gclid=2&b=1", "/x?b=1"},
           {"query_drop: [a]", "/x?a=1", "/x"},
           {"query_drop: [a]", "/x?a", "/x"},
           {"query_drop: [a]", "/x?%61=1&A=2&aa=3&=a", "/x?%61=1&A=2&aa=3&=a"},
           {"query_keep: [id, p*]", "/x?z=1&id=2&page=3&ID=4&p", "/x?id=2&page=3&p"},
           {"query_sort: true", "/x?b=2&a=1&b=1&c", "/x?a=1&b=2&b=1&c"},
           {"query_drop: [a], query_sort: true", "/x?c=1&a=2&b=3", "/x?b=3&c=1"},
           {"query_sort: false", "/x?b&a&&", "/x?b&a&&"},
       }) {
    SCOPED_TRACE(row.rules + " " + row.asked);
    ScriptedOrigin origin;
    echo(origin);
    Weir weir(origin, "key: {" + row.rules + "}\n");
    EXPECT_EQ(get(weir.port(), row.asked).body, "GET weir.test " + row.forwarded);
    EXPECT_TRUE(cache_status(get(weir.port(), row.forwarded)).hit());
    Client client(weir.port());
    client.request("POST", row.asked);
    EXPECT_EQ(origin.last_request().target, row.asked);                 // FWD-4: whole, as nothing of it is keyed
    EXPECT_FALSE(cache_status(get(weir.port(), row.forwarded)).hit());  // SRV-6
  }
}

// FWD-1
TEST(Forwarding, EndToEndFieldsPassAndOthersDoNot) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {{"Cache-Control", "no-store"}}, "x"); });
  Weir weir(origin);
  Client client(weir.port());
  for (std::string const method : {"GET", "POST"}) {
    client.request(method, "/x",
                   {{"Connection", "close-not, X-Hop,keep-alive"},
                    {"Keep-Alive", "300"},
                    {"X-Hop", "1"},
                    {"TE", "trailers"},
                    {"Trailer", "T"},
                    {"Proxy-Authorization", "Basic x"},
                    {"Proxy-Connection", "keep-alive"},
                    {"X-End", "1"},
                    {"X-End", "2"},
                    {"x-cAsE", "3"},
                    {"User-Agent", "agent"},
                    {"Accept", "a/b"},
                    {"Via", "1.1 other"}});
    auto const seen = origin.last_request();
    for (std::string const gone :
         {"Connection", "Keep-Alive", "X-Hop", "TE", "Trailer", "Proxy-Authorization", "Proxy-Connection"})
      EXPECT_FALSE(seen.has(gone)) << gone;
    EXPECT_EQ(seen.value("X-End"), "1, 2");
    EXPECT_EQ(seen.value("X-Case"), "3");
    EXPECT_EQ(seen.value("User-Agent"), "agent");
    EXPECT_EQ(seen.value("Accept"), "a/b");
    EXPECT_EQ(seen.value("Via"), "1.1 other, 1.1 weir");
  }
}

// FWD-1
TEST(Forwarding, PoisonousFieldsAreDropped) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {{"Cache-Control", "no-store"}}, "x"); });
  Weir weir(origin);
  Fields fields;
  std::vector<std::string> const names{"X-Original-URL",         "x-rewrite-url",
                                       "X-HTTP-Method-Override", "X-HTTP-Method",
                                       "X-Method-Override",      "X-Forwarded-Scheme",
                                       "X-Forwarded-Server",     "X-Forwarded-Port",
                                       "X-Forwarded-Prefix",     "X-HOST",
                                       "X-Original-Host",        "X-Forwarded-Ssl",
                                       "Front-End-Https",        "Proxy"};
  for (auto const& name : names) fields.push_back({name, "evil"});
  for (std::string const name : {"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"})
    fields.push_back({name, "evil"});
  Client client(weir.port());
  for (std::string const method : {"GET", "POST"}) {
    client.request(method, "/x", fields);
    auto const seen = origin.last_request();
    for (auto const& name : names) EXPECT_FALSE(seen.has(name)) << name;
    EXPECT_EQ(seen.head.find("evil"), std::string::npos) << seen;
    EXPECT_EQ(seen.value("X-Forwarded-For"), "127.0.0.1");
    EXPECT_EQ(seen.value("X-Forwarded-Proto"), "http");
    EXPECT_EQ(seen.value("X-Forwarded-Host"), "weir.test");
    EXPECT_EQ(seen.value("Forwarded"), "for=127.0.0.1;host=\"weir.test\";proto=http");
  }
}

// FWD-1
TEST(Forwarding, TrustedProxiesAreBelieved) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, "trusted_proxies: [127.0.0.0/30]\n");
  Client client(weir.port());
  client.get("/x", {{"X-Forwarded-For", "10.1.1.1"},
                    {"X-Forwarded-Proto", "https"},
                    {"X-Forwarded-Host", "b.test"},
                    {"Forwarded", "for=10.1.1.1"}});
  auto const seen = origin.last_request();
  EXPECT_EQ(seen.value("X-Forwarded-For"), "10.1.1.1, 127.0.0.1");
  EXPECT_EQ(seen.value("X-Forwarded-Proto"), "https");
  EXPECT_EQ(seen.value("X-Forwarded-Host"), "b.test");
  EXPECT_TRUE(seen.value("Forwarded").starts_with("for=10.1.1.1, for=127.0.0.1")) << seen;
}

// KEY-4, FWD-1: `Connection` cannot take a keyed field away between the key and the origin.
TEST(Forwarding, KeyedFieldsCannotBeMadeHopByHop) {
  ScriptedOrigin origin;
  std::atomic<bool> shared{true};
  origin.answer_rest([&](Request const& request) {
    return respond(200, {{"Cache-Control", shared ? "max-age=60" : "private"}},
                   request.value("X-Tenant") + request.value("X-Host"));
  });
  Weir weir(origin, "key: {headers: [x-tenant, x-host, x-forwarded-for]}\n");
  Client client(weir.port());
  Fields const plain{{"X-Tenant", "a"}, {"X-Host", "h"}};
  Fields const hidden{{"Connection", "X-Tenant, X-Host"}, {"X-Tenant", "a"}, {"X-Host", "h"}};
  client.get("/x", hidden);
  EXPECT_EQ(client.get("/x", plain).body, "ah");
  shared = false;
  client.get("/marked", plain);
  shared = true;
  client.get("/marked", hidden);  // on a marker, whose end a storable answer is
  EXPECT_EQ(client.get("/marked", plain).body, "ah");
  client.get("/x", {{"X-Forwarded-For", "10.1.1.1"}});  // keyed or not, who is not trusted is not believed
  EXPECT_EQ(origin.last_request().value("X-Forwarded-For"), "127.0.0.1");
}

// KEY-6, FWD-1: nor one that selects.
TEST(Forwarding, SelectingFieldsCannotBeMadeHopByHop) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=60"}, {"Vary", "Accept-Language, X-Kind"}},
                   request.value("Accept-Language") + request.value("X-Kind"));
  });
  Weir weir(origin);
  Client client(weir.port());
  for (int i = 0; i < 2; ++i)
    client.get("/x", {{"Connection", "Accept-Language, X-Kind"}, {"Accept-Language", "de"}, {"X-Kind", "k"}});
  EXPECT_EQ(client.get("/x", {{"Accept-Language", "de"}, {"X-Kind", "k"}}).body, "dek");
  EXPECT_EQ(client.get("/x").body, "");
}

// FWD-4: nothing of them is keyed, so nothing of their target is rewritten, though a write invalidates what is keyed.
TEST(Forwarding, BypassedAndUnsafeTargetsAreNotRewritten) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=600"}}, request.target);
  });
  Weir weir(origin,
            "key: {query_keep: [id], normalize_path: true}\n"
            "sites: [{routes: [{path: \"/off/*\", cache: off}]}]\n");
  EXPECT_EQ(get(weir.port(), "/x?id=1&token=t").body, "/x?id=1");
  EXPECT_EQ(Client(weir.port()).request("POST", "/%78?token=t&id=1", {}, "x").body, "/%78?token=t&id=1");
  EXPECT_FALSE(cache_status(get(weir.port(), "/x?id=1")).hit());
  EXPECT_EQ(get(weir.port(), "/off/%78?b&a").body, "/off/%78?b&a");
}

// FWD-4, SRV-1
TEST(Forwarding, BypassedAndUnsafeRequestsGoWhole) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) {
    return respond(200, {{"Cache-Control", "max-age=60"}, {"ETag", "\"a\""}}, "whole");
  });
  Weir weir(origin, "sites: [{hosts: [], origin: default, routes: [{path: \"/off/*\", cache: off}]}]\n");
  Client client(weir.port());
  Fields const fields{{"Range", "bytes=0-1"},
                      {"If-None-Match", "\"a\""},
                      {"If-Range", "\"a\""},
                      {"Accept-Encoding", "zstd, gzip;q=0.5"},
                      {"Cookie", "_ga=1; s=2"}};
  for (auto const& [method, target] : std::vector<std::pair<std::string, std::string>>{
           {"GET", "/off/x"}, {"HEAD", "/off/x"}, {"PUT", "/x"}, {"OPTIONS", "/x"}}) {
    EXPECT_EQ(client.request(method, target, fields).status, 200);
    auto const seen = origin.last_request();
    EXPECT_EQ(seen.method, method);
    for (auto const& field : fields) EXPECT_EQ(seen.value(field.name), field.value) << method;
  }
  EXPECT_EQ(weir.entries(), 0U);
}

// FWD-4
TEST(Forwarding, GetWithABodyIsForwardedAndNeverCached) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) {
    return respond(200, {{"Cache-Control", "max-age=60"}}, request.method + request.body);
  });
  Weir weir(origin);
  Client client(weir.port());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.request("GET", "/x", {}, "body").body, "GETbody");
  EXPECT_EQ(weir.entries(), 0U);
  EXPECT_EQ(client.get("/x").body, "GET");
  EXPECT_EQ(client.request("GET", "/x", {}, "body").body, "GETbody");
  EXPECT_EQ(client.request("GET", "/x", {{"Content-Length", "0"}}).body, "GET");  // no body is no body
  EXPECT_EQ(origin.calls(), 4U);
}

// FWD-5
TEST(Forwarding, TraceFieldsPassIfWellFormed) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {{"Cache-Control", "no-store"}}, "x"); });
  Weir weir(origin);
  Client client(weir.port());
  std::string const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  client.get("/x", {{"traceparent", parent}, {"tracestate", "a=1"}, {"tracestate", "b=2"}, {"X-Request-Id", "abc-1"}});
  EXPECT_EQ(origin.last_request().value("traceparent"), parent);
  EXPECT_EQ(origin.last_request().value("tracestate"), "a=1, b=2");
  EXPECT_EQ(origin.last_request().value("X-Request-Id"), "abc-1");
  std::set<std::string> made;
  for (auto const& bad : {"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"s, parent + "x", "ff" + parent.substr(2),
                          "00"s, parent + ", " + parent, "00-00000000000000000000000000000000-b7ad6b7169203331-01"s,
                          "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"s}) {
    client.get("/x", {{"traceparent", bad}, {"tracestate", "a=1"}, {"X-Request-Id", "a b"}});
    auto const seen = origin.last_request();
    EXPECT_FALSE(seen.has("traceparent") || seen.has("tracestate")) << bad;
    EXPECT_EQ(seen.value("X-Request-Id").find(' '), std::string::npos);
    made.insert(seen.value("X-Request-Id"));
  }
  client.get("/x");
  made.insert(origin.last_request().value("X-Request-Id"));
  EXPECT_EQ(made.size(), 8U);
  EXPECT_FALSE(made.contains(""));
}

// FWD-6
TEST(Forwarding, OwnLoopMarkGets508BeforeAnyLookup) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, "instance: one\n");
  Client client(weir.port());
  EXPECT_EQ(client.get("/x").status, 200);
  EXPECT_EQ(origin.last_request().value("CDN-Loop"), "weir-one");
  for (std::string const mark : {"weir-one", "other, weir-one;a=\"b,c\"", "WEIR-ONE", "other ,weir-one ; x"}) {
    auto const response = client.get("/x", {{"CDN-Loop", "foo"}, {"CDN-Loop", mark}});
    EXPECT_EQ(response.status, 508) << mark;
    EXPECT_EQ(response.value("Proxy-Status"), "Weir; error=proxy_loop_detected");
  }
  EXPECT_EQ(client.request("POST", "/x", {{"CDN-Loop", "weir-one"}}).status, 508);
  EXPECT_EQ(origin.calls(), 1U);
  client.get("/y", {{"CDN-Loop", "weir-oneself, other;v=\"weir-one\""}});
  EXPECT_EQ(origin.last_request().value("CDN-Loop"), "weir-oneself, other;v=\"weir-one\", weir-one");
}

// FWD-6: the origin is Weir's own address; 508 at once, whatever is asked, and nothing keeps going round.
TEST(Forwarding, OriginThatIsWeirItself) {
  std::uint16_t free = 0;
  {
    auto const listener = listen_on();
    free = local_port(listener);
  }
  auto const own = "127.0.0.1:" + std::to_string(free);
  Weir weir("http://" + own, "", own);
  Client client(weir.port());
  for (std::string const method : {"GET", "HEAD", "POST", "OPTIONS"}) {
    EXPECT_EQ(client.request(method, "/x").status, 508) << method;
    EXPECT_EQ(client.request(method, "/x", {{"Authorization", "a"}}).status, 508) << method;
  }
  Burst burst(weir.port(), 50);
  burst.get("/burst");
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{508, 50}}));
  EXPECT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(weir.entries(), 0U);
}

// FWD-6: two Weirs in front of each other.
TEST(Forwarding, TwoWeirsInACircle) {
  std::uint16_t free = 0;
  {
    auto const listener = listen_on();
    free = local_port(listener);
  }
  auto const second = "127.0.0.1:" + std::to_string(free);
  Weir first("http://" + second, "instance: one\n");
  Weir other("http://127.0.0.1:" + std::to_string(first.port()), "instance: two\n", second);
  EXPECT_EQ(get(first.port(), "/x").status, 508);
  EXPECT_EQ(get(other.port(), "/y").status, 508);
  EXPECT_TRUE(first.waits_until_no_flights());
}

}  // namespace
}  // namespace weir::test
