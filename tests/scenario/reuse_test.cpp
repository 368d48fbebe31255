// Section 5: when a stored answer is used again, and what makes it go.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// SRV-1
TEST(Reuse, ConditionalsAreAnsweredFromTheStore) {
  ScriptedOrigin origin;
  auto const modified = http_date(-3600s);
  origin.answer(
      "/x",
      respond(200,
              {max_age(600), {"ETag", "\"e\""}, {"Last-Modified", modified}, {"Content-Type", "text/plain"}, {"X-Y", "z"}},
              "body"));
  Weir weir(origin);
  get(weir.port(), "/x");
  struct Case {
    Fields asked;
    int status;
  };
  Client client(weir.port());
  for (auto const& [asked, status] : std::vector<Case>{
           {{{"If-None-Match", "\"e\""}}, 304},
           {{{"If-None-Match", "W/\"e\""}}, 304},
           {{{"If-None-Match", "\"a\", \"e\""}}, 304},
           {{{"If-None-Match", "\"a\""}, {"If-None-Match", "\"e\""}}, 304},
           {{{"If-None-Match", "*"}}, 304},
           {{{"If-None-Match", "\"E\""}}, 200},
           {{{"If-None-Match", "e"}}, 200},
           {{{"If-None-Match", "\"a\""}, {"If-Modified-Since", modified}}, 200},
           {{{"If-Modified-Since", modified}}, 304},
           {{{"If-Modified-Since", http_date(-3700s)}}, 200},
           {{{"If-Modified-Since", "yesterday"}}, 200},
       }) {
    for (std::string const method : {"GET", "HEAD"}) {
      auto const response = client.request(method, "/x", asked);
      EXPECT_EQ(response.status, status) << asked[0] << response;
      EXPECT_EQ(response.body, status == 200 && method == "GET" ? "body" : "");
      EXPECT_EQ(response.value("ETag"), "\"e\"");
      EXPECT_GE(age(response), 0);
      if (status == 304) {
        EXPECT_FALSE(response.has("Content-Length") || response.has("Content-Type") || response.has("Transfer-Encoding"));
      }
    }
  }
  EXPECT_EQ(origin.calls(), 1U);
}

// RFC 9111 4.3.2: If-Match and If-Unmodified-Since are the origin's to judge: what is stored stands for it only once it has
// said that it still does.
TEST(Reuse, PreconditionsAreNotJudgedByWhatIsStored) {
  ScriptedOrigin origin;
  Fields const first{max_age(600), {"ETag", "\"1\""}}, second{max_age(600), {"ETag", "\"2\""}};
  origin.answer("/x", {respond(200, first, "one"), respond(304, first), respond(304, first), respond(200, second, "two")});
  Weir weir(origin);
  Client client(weir.port());
  EXPECT_EQ(client.get("/x").body, "one");
  EXPECT_EQ(client.get("/x", {{"If-Match", "\"1\""}}).body, "one");
  EXPECT_EQ(client.get("/x", {{"If-Unmodified-Since", http_date(-9s)}}).status, 200);
  EXPECT_EQ(client.get("/x", {{"If-Match", "\"2\""}}).body, "two");
  EXPECT_EQ(origin.calls(), 4U);
  EXPECT_TRUE(cache_status(client.get("/x")).hit());
}

// SRV-2
TEST(Reuse, ValidationMergesWhatA304MayChange) {
  ScriptedOrigin origin;
  auto const modified = http_date(-3600s);
  origin.answer("/x", {respond(200,
                               {max_age(60),
                                {"ETag", "\"e\""},
                                {"Last-Modified", modified},
                                {"X-A", "1"},
                                {"X-A", "2"},
                                {"X-B", "b"},
                                {"Content-Type", "text/plain"}},
                               "body"),
                       Script().head(304, {max_age(600),
                                           {"ETag", "\"e\""},
                                           {"X-A", "3"},
                                           {"X-C", "c"},
                                           {"Content-Length", "0"},
                                           {"Content-Encoding", "gzip"},
                                           {"Content-Type", "text/html"},
                                           {"Content-Range", "bytes 0-0/1"}})});
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  weir.turn(61s);
  for (int i = 0; i < 2; ++i) {
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "body");
    EXPECT_EQ(response.value("X-A"), "3");
    EXPECT_EQ(response.value("X-B"), "b");
    EXPECT_EQ(response.value("X-C"), "c");
    EXPECT_EQ(response.value("Content-Type"), "text/html");
    EXPECT_FALSE(response.has("Content-Encoding") || response.has("Content-Range"));
    EXPECT_LE(age(response), 1);
    if (i == 0) weir.turn(1s);
  }
  EXPECT_EQ(origin.last_request().value("If-None-Match"), "\"e\"");
  EXPECT_EQ(origin.last_request().value("If-Modified-Since"), modified);
  weir.turn(590s);
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
  EXPECT_EQ(origin.calls(), 2U);
}

// SRV-2, COA-5, STO-2: a 304 that says what is for one requester only is no answer for those who wait with him.
TEST(Reuse, NotModifiedForOneIsNotShared) {
  for (Field const& says : {Field{"Set-Cookie", "id="}, Field{"Cache-Control", "private"},
                            Field{"Cache-Control", "no-store"}, Field{"Vary", "*"}}) {
    ScriptedOrigin origin;
    Gate gate;
    std::atomic<int> calls = 0;
    origin.answer("/x", [&](Request const& request) {
      auto const number = std::to_string(++calls);
      if (number == "1") return respond(200, {max_age(60), {"ETag", "\"e\""}}, "public");
      Fields fields{{says.name, says.name == "Set-Cookie" ? says.value + number : says.value}, {"ETag", "\"e\""}};
      if (request.has("If-None-Match")) return Script().wait(gate).head(304, fields);
      return respond(200, fields, number);
    });
    Weir weir(origin, plain);
    get(weir.port(), "/x");
    weir.turn(61s);
    Burst burst(weir.port(), 10);
    burst.get("/x");
    ASSERT_TRUE(weir.waits_for_waiters(10));
    gate.open();
    burst.collect();
    std::set<std::string> answers;
    for (auto const& response : burst.responses()) {
      EXPECT_EQ(response.status, 200);
      EXPECT_EQ(response.value("Set-Cookie"), says.name == "Set-Cookie" ? "id=" + response.body : "");
      answers.insert(response.body);
    }
    EXPECT_EQ(answers.size(), 10U) << says.name << ": " << says.value;
    EXPECT_EQ(origin.calls(), 12U);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_FALSE(cache_status(get(weir.port(), "/x")).hit());
  }
}

// STO-2, STO-3: what is not stored of a 200 is not stored of a 304.
TEST(Reuse, NotModifiedBringsNoFieldsThatAreNotStored) {
  ScriptedOrigin origin;
  origin.answer(
      "/x",
      {respond(200, {max_age(60), {"ETag", "\"e\""}}, "body"),
       Script().head(
           304,
           {{"ETag", "\"e\""}, {"Cache-Control", "max-age=60, private=\"x-id\""}, {"X-Id", "1"}, {"Set-Cookie", "id=1"}})});
  Weir weir(origin, plain + "storable: {set_cookie: strip}\n");
  get(weir.port(), "/x");
  weir.turn(61s);
  for (int i = 0; i < 2; ++i) {
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(response.body, "body");
    EXPECT_FALSE(response.has("Set-Cookie") || response.has("X-Id"));
  }
  EXPECT_EQ(origin.calls(), 2U);
}

// KEY-6, SRV-2: a Vary that the stored response was not selected by; one that it was selected by costs nothing.
TEST(Reuse, NotModifiedWithAnotherVaryIsAskedAgain) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    Fields fields{max_age(60), {"ETag", "\"e\""}};
    if (request.has("X-User")) fields.push_back({"Vary", "X-User"});
    if (request.has("If-None-Match")) return Script().head(304, fields);
    return respond(200, fields, "for " + request.value("X-User"));
  });
  Weir weir(origin, plain);
  EXPECT_EQ(get(weir.port(), "/x").body, "for ");
  weir.turn(61s);
  EXPECT_EQ(get(weir.port(), "/x", {{"X-User", "a"}}).body, "for a");
  EXPECT_EQ(origin.calls(), 3U);
  EXPECT_EQ(get(weir.port(), "/x", {{"X-User", "b"}}).body, "for b");
  weir.turn(61s);
  auto const calls = origin.calls();
  EXPECT_EQ(get(weir.port(), "/x", {{"X-User", "a"}}).body, "for a");
  EXPECT_EQ(origin.calls(), calls + 1);
}

// SRV-1, SRV-2: the client's own conditional after the validation, and a 304 that keeps the old lifetime.
TEST(Reuse, ConditionalAfterAValidation) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, {max_age(60), {"ETag", "\"e\""}}, "body"), Script().head(304, {{"ETag", "\"e\""}})});
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  weir.turn(61s);
  auto const response = get(weir.port(), "/x", {{"If-None-Match", "\"e\""}});
  EXPECT_EQ(response.status, 304);
  EXPECT_EQ(get(weir.port(), "/x").body, "body");
  weir.turn(50s);
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
  EXPECT_EQ(origin.calls(), 2U);
}

// SRV-2: a 304 about something else is not merged; asked again without validators, even where it closed the connection.
TEST(Reuse, ForeignNotModifiedIsNotMerged) {
  for (bool const closes : {false, true}) {
    ScriptedOrigin origin;
    auto foreign = Script().head(304, {max_age(600), {"ETag", "\"other\""}, {closes ? "Connection" : "X-Y", "close"}});
    if (closes) foreign.close();
    origin.answer("/x", {respond(200, {max_age(60), {"ETag", "\"e\""}}, "one"), foreign,
                         respond(200, {max_age(60), {"ETag", "\"other\""}}, "two")});
    Weir weir(origin, plain);
    get(weir.port(), "/x");
    weir.turn(61s);
    auto const response = get(weir.port(), "/x");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "two");
    EXPECT_EQ(origin.calls(), 3U);
    EXPECT_FALSE(origin.last_request().has("If-None-Match"));
    EXPECT_EQ(get(weir.port(), "/x").body, "two");
  }
}

// SRV-4: what the origin tells somebody with credentials of a HEAD says nothing about everyone's entry.
TEST(Reuse, HeadWithCredentialsChangesNothingForOthers) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    return respond(200, {max_age(60), {"ETag", request.method == "HEAD" ? "\"mine\"" : "\"e\""}}, "body");
  });
  Weir weir(origin, plain);
  get(weir.port(), "/x");
  Client client(weir.port());
  EXPECT_EQ(client.request("HEAD", "/x", {{"Authorization", "a"}}).value("ETag"), "\"mine\"");
  EXPECT_TRUE(cache_status(client.get("/x")).hit());
  EXPECT_EQ(origin.calls(), 2U);
}

// SRV-5
TEST(Reuse, OnlyIfCached) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {max_age(60), {"Content-Length", "1"}}).body("x"));
  Weir weir(origin, plain);
  Field const only{"Cache-Control", "only-if-cached"};
  Client client(weir.port());
  EXPECT_EQ(client.get("/x", {only}).status, 504);
  EXPECT_EQ(origin.calls(), 0U);
  Client leader(weir.port());
  leader.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  EXPECT_EQ(client.get("/x", {only}).status, 504);  // it does not join
  gate.open();
  EXPECT_EQ(leader.read().status, 200);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(client.get("/x", {only}).body, "x");
  weir.turn(61s);  // which ends idle connections too
  EXPECT_EQ(get(weir.port(), "/x", {only}).status, 504);
  EXPECT_EQ(origin.calls(), 1U);
}

// SRV-5
TEST(Reuse, RequestWithNoStoreFollowsButNeverLeads) {
  ScriptedOrigin origin;
  Gate own, gate;
  Field const no_store{"Cache-Control", "no-store"};
  origin.answer("/x", [&](Request const& request) {
    return Script().wait(request.has("X-Own") ? own : gate).head(200, {max_age(60), {"Content-Length", "1"}}).body("x");
  });
  Weir weir(origin, plain);
  Client first(weir.port());
  first.send_request("GET", "/x", {no_store, {"X-Own", "1"}});
  ASSERT_TRUE(origin.waits_for_calls(1));
  Client second(weir.port()), third(weir.port());
  second.send_request("GET", "/x");
  ASSERT_TRUE(origin.waits_for_calls(2));  // it does not wait for the first one's
  third.send_request("GET", "/x", {no_store});
  ASSERT_TRUE(weir.waits_for_waiters(3));
  gate.open();
  EXPECT_EQ(second.read().status, 200);
  EXPECT_TRUE(cache_status(third.read()).collapsed());
  own.open();
  EXPECT_EQ(first.read().status, 200);
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_TRUE(cache_status(get(weir.port(), "/x", {no_store})).hit());
}

// SRV-5
TEST(Reuse, ClientsCannotForceTheOrigin) {
  for (bool const honors : {false, true}) {
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, {max_age(600)}, "x"));
    Weir weir(origin, plain + (honors ? "client: {honor_revalidation: true}\n" : ""));
    get(weir.port(), "/x");
    weir.turn(5s);
    for (std::string const words : {"no-cache", "max-age=0", "max-age=2", "min-fresh=1000"}) {
      EXPECT_EQ(cache_status(get(weir.port(), "/x", {{"Cache-Control", words}})).hit(), !honors) << words;
      weir.turn(5s);
    }
    EXPECT_EQ(origin.calls(), honors ? 5U : 1U);
  }
}

// STL-3: what must be validated and cannot be is 504; an invalidated answer is not stale, it is gone.
TEST(Reuse, WhatMustBeValidatedAndCannotBeIs504) {
  ScriptedOrigin origin;
  Field const tag{"ETag", "\"e\""};
  origin.answer("/must", respond(200, {{"Cache-Control", "max-age=60, stale-if-error=6000, must-revalidate"}, tag}, "x"));
  origin.answer("/may", respond(200, {{"Cache-Control", "max-age=60, stale-if-error=6000"}, tag}, "x"));
  Weir weir(origin, plain);
  for (std::string const target : {"/must", "/may"}) get(weir.port(), target);
  weir.turn(61s);
  Client client(weir.port());  // idle connections end with the turn
  origin.stop();
  EXPECT_EQ(client.get("/must").status, 504);
  EXPECT_EQ(cache_status(client.get("/may")).detail(), "stale-if-error");
  origin.start();
  EXPECT_EQ(client.request("POST", "/may").status, 200);
  origin.stop();
  EXPECT_EQ(client.get("/may").status, 502);
}

// SRV-6
TEST(Reuse, WritesInvalidateTheirTarget) {
  struct Case {
    std::string method;
    int status;
    bool invalidates;
  };
  for (auto const& [method, status, invalidates] : std::vector<Case>{{"POST", 200, true},
                                                                     {"PUT", 204, true},
                                                                     {"DELETE", 204, true},
                                                                     {"PATCH", 200, true},
                                                                     {"FOO", 200, true},
                                                                     {"POST", 303, true},
                                                                     {"POST", 404, false},
                                                                     {"PUT", 500, false},
                                                                     {"OPTIONS", 200, false},
                                                                     {"QUERY", 200, false},
                                                                     {"HEAD", 200, false}}) {
    SCOPED_TRACE(method + std::to_string(status));
    ScriptedOrigin origin;
    origin.answer_rest([status = status](Request const& request) {
      if (request.method == "GET") return respond(200, {max_age(600), {"ETag", "\"e\""}}, "x");
      return respond(status);
    });
    Weir weir(origin, plain);
    for (std::string const target : {"/x", "/x?q", "/y"}) get(weir.port(), target);
    Client client(weir.port());
    EXPECT_EQ(client.request(method, "/x").status, method == "HEAD" ? 200 : status);
    EXPECT_EQ(cache_status(client.get("/x")).hit(), !invalidates);
    EXPECT_TRUE(cache_status(client.get("/x?q")).hit());
    EXPECT_TRUE(cache_status(client.get("/y")).hit());
    EXPECT_TRUE(cache_status(client.get("/x")).hit());  // the record does not outlive the new entry
  }
}

// SRV-6, KEY-4, KEY-6: whatever else is in the key, the target is the target.
TEST(Reuse, WritesInvalidateEveryVariantOfTheirTarget) {
  for (bool const keyed : {false, true}) {
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, {max_age(600), {"Vary", keyed ? "Accept" : "X-Tenant"}}, "x"));
    Weir weir(origin, plain + (keyed ? "key: {headers: [x-tenant]}\n" : ""));
    Client client(weir.port());
    for (std::string const tenant : {"a", "b"}) client.get("/x", {{"X-Tenant", tenant}});
    EXPECT_TRUE(cache_status(client.get("/x", {{"X-Tenant", "a"}})).hit());
    client.request("POST", "/x", {{"X-Tenant", "a"}});
    EXPECT_FALSE(cache_status(client.get("/x", {{"X-Tenant", "a"}})).hit()) << keyed;
    EXPECT_FALSE(cache_status(client.get("/x", {{"X-Tenant", "b"}})).hit()) << keyed;
    for (std::string const tenant : {"a", "b"})  // and what came since is good
      EXPECT_TRUE(cache_status(client.get("/x", {{"X-Tenant", tenant}})).hit()) << keyed;
  }
}

// SRV-6
TEST(Reuse, WritesInvalidateTheirLocations) {
  ScriptedOrigin origin;
  origin.answer_rest([&](Request const& request) {
    if (request.method == "GET") return respond(200, {max_age(600)}, "x");
    return respond(201, {{"Location", "http://weir.test/d/new"}, {"Content-Location", "sub?q"}});
  });
  Weir weir(origin, plain);
  Client client(weir.port());
  for (std::string const target : {"/d/new", "/d/sub?q", "/d/x", "/sub?q"}) client.get(target);
  client.get("/d/new", {{"Host", "other.test"}});
  client.request("POST", "/d/x");
  EXPECT_FALSE(cache_status(client.get("/d/new")).hit());
  EXPECT_FALSE(cache_status(client.get("/d/sub?q")).hit());
  EXPECT_FALSE(cache_status(client.get("/d/x")).hit());
  EXPECT_TRUE(cache_status(client.get("/sub?q")).hit());
  EXPECT_TRUE(cache_status(client.get("/d/new", {{"Host", "other.test"}})).hit());
}

// SRV-7: each has a stream of its own, at once.
TEST(Reuse, EventStreamsAreNobodyElses) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer(
      "/events",
      Script()
          .head(200, {max_age(60), {"Content-Type", "Text/Event-Stream; charset=utf-8"}, {"Transfer-Encoding", "chunked"}})
          .chunk("data: 1\n\n")
          .wait(gate)
          .chunk("data: 2\n\n")
          .last_chunk());
  Weir weir(origin);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<Client>(weir.port()));
    clients.back()->send_request("GET", "/events");
    EXPECT_EQ(clients.back()->read_at_least(9).body, "data: 1\n\n");
  }
  EXPECT_EQ(origin.calls(), 5U);
  gate.open();
  for (auto& client : clients) EXPECT_EQ(client->read().body, "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(weir.entries(), 0U);
}

// KEY-6: each variant by its own words; what a field says about the same in other bytes is one.
TEST(Reuse, VariantsAreSelectedByTheirOwnVary) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    auto const lang = request.value("Accept-Language");
    auto const kind = request.value("X-Kind");
    return respond(200, {max_age(600), {"Vary", lang == "de" ? "Accept-Language, x-kind" : "accept-language"}},
                   lang + "|" + kind);
  });
  Weir weir(origin, plain);
  Client client(weir.port());
  auto const ask = [&](std::string const& lang, std::string const& kind) {
    return client.get("/x", {{"Accept-Language", lang}, {"X-Kind", kind}}).body;
  };
  EXPECT_EQ(ask("en", "1"), "en|1");
  EXPECT_EQ(ask("en", "2"), "en|1");  // its Vary does not name X-Kind
  EXPECT_EQ(ask("de", "1"), "de|1");
  EXPECT_EQ(ask("de", "2"), "de|2");
  EXPECT_EQ(ask("de", "1"), "de|1");
  EXPECT_EQ(ask("en", "3"), "en|1");
  EXPECT_EQ(client.get("/x").body, "|");
  EXPECT_EQ(client.get("/x", {{"Accept-Language", ""}}).body, "|");
  EXPECT_EQ(weir.entries(), 5U);
}

// KEY-6
TEST(Reuse, VariantsAreBoundedByLastUse) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    return respond(200, {max_age(600), {"Vary", "X-Kind"}}, request.value("X-Kind"));
  });
  Weir weir(origin, plain + "key: {max_variants: 3}\n");
  Client client(weir.port());
  auto const hit = [&](std::string const& kind) {
    auto const response = client.get("/x", {{"X-Kind", kind}});
    EXPECT_EQ(response.body, kind);
    return cache_status(response).hit();
  };
  for (std::string const kind : {"1", "2", "3"}) EXPECT_FALSE(hit(kind));
  EXPECT_TRUE(hit("1"));
  EXPECT_FALSE(hit("4"));
  EXPECT_EQ(weir.entries(), 3U);
  EXPECT_TRUE(hit("1"));
  EXPECT_TRUE(hit("3"));
  EXPECT_TRUE(hit("4"));
  EXPECT_FALSE(hit("2"));
  EXPECT_EQ(weir.entries(), 3U);
}

// KEY-6: allowed by name.
TEST(Reuse, VaryOnCookieCanBeAllowed) {
  ScriptedOrigin origin;
  origin.answer("/x", [](Request const& request) {
    return respond(200, {{"Cache-Control", "public, max-age=600"}, {"Vary", "Cookie"}}, request.value("Cookie"));
  });
  Weir weir(origin, plain + "key: {vary_allow: [cookie]}\n");
  Client client(weir.port());
  for (bool const hit : {false, true}) {
    for (std::string const cookie : {"s=1", "s=2"}) {
      auto const response = client.get("/x", {{"Cookie", cookie}});
      EXPECT_EQ(response.body, cookie);
      EXPECT_EQ(cache_status(response).hit(), hit);
    }
  }
}

}  // namespace
}  // namespace weir::test
