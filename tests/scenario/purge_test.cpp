// Purges by operators and by origins, against look-ups, fetches under way and waiting requests.
#include <gtest/gtest.h>

#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Fields cached(Fields more = {}) {
  more.push_back({"Cache-Control", "max-age=600, stale-if-error=600, stale-while-revalidate=600"});
  return more;
}

Script gated(Gate const& gate, Fields fields, std::string body) {
  fields.push_back({"Content-Length", std::to_string(body.size())});
  return Script().wait(gate).head(200, fields).body(std::move(body));
}

Response purge(Weir& weir, std::string const& order, Fields fields = {{"Content-Type", "application/json"}}) {
  return Client(weir.admin_port()).request("POST", "/v1/purge", fields, order);
}

// An origin whose answers count: "/a 1", "/a 2", ... `tags`: by path.
struct Counting {
  explicit Counting(Fields fields = {}) {
    origin.answer_rest([this, fields](Request const& request) {
      std::lock_guard const lock(mutex);
      auto with = cached(fields);
      return respond(200, with, request.target + ' ' + std::to_string(++calls[request.target]));
    });
  }
  std::mutex mutex;
  std::map<std::string, int> calls;
  ScriptedOrigin origin;
};

// PRG-1, OBS-3: what each way of naming reaches, hard.
TEST(Purge, ReachesWhatItNames) {
  struct Row {
    std::string order;
    std::vector<std::string> gone, left;
  };
  std::vector<std::string> const paths{"/a", "/a?x=1", "/a/b", "/a/b/c", "/z"};
  std::vector<Row> const rows{
      {R"("urls":["http://weir.test/a"])", {"/a"}, {"/a?x=1", "/a/b", "/z"}},
      {R"("urls":["https://WEIR.test/a?x=1"])", {"/a?x=1"}, {"/a"}},
      {R"("urls":["/a","/z"])", {"/a", "/z"}, {"/a/b"}},
      {R"("prefixes":["/a/"])", {"/a/b", "/a/b/c"}, {"/a", "/z"}},
      {R"("prefixes":["http://weir.test/"])", paths, {}},
      {R"("site":"default")", paths, {}},
      {R"("all":true)", paths, {}},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.order);
    Counting counting;
    Weir weir(counting.origin);
    for (auto const& path : paths) get(weir.port(), path);
    auto const dry = purge(weir, "{" + row.order + R"(,"mode":"hard","dry_run":true})");
    EXPECT_EQ(dry.status, 200);
    EXPECT_NE(dry.body.find("\"entries\":" + std::to_string(row.gone.size())), std::string::npos) << dry.body;
    for (auto const& path : paths) EXPECT_TRUE(cache_status(get(weir.port(), path)).hit());
    EXPECT_EQ(purge(weir, "{" + row.order + R"(,"mode":"hard"})").status, 200);
    for (auto const& path : row.left) EXPECT_TRUE(cache_status(get(weir.port(), path)).hit()) << path;
    for (auto const& path : row.gone) {
      EXPECT_EQ(get(weir.port(), path).body, path + " 2");
      EXPECT_EQ(cache_status(get(weir.port(), path)).hit(), true) << path;  // what came after it lives
    }
    EXPECT_EQ(weir.metric(R"(weir_purges_total{mode="hard"})"), 1);
  }
}

// PRG-1, PRG-2, KEY-2: a path may be named as clients write it, wherever it is keyed in another way.
TEST(Purge, ReachesNormalizedPaths) {
  struct Row {
    std::string order, prefix;
    bool normalizes;
  };
  for (auto const& row : std::vector<Row>{
           {R"("urls":["http://weir.test/%7eann/x/a"])", "", true},
           {R"("prefixes":["http://weir.test/%7eann/x/"])", "prefix weir.test/~ann/x/", true},
           {R"("prefixes":["/%7Eann/"])", "prefix site default/~ann/", true},
           {R"("prefixes":["/~ann/"])", "", true},
           {R"("prefixes":["/%7eann/x/"])", "prefix site default/%7eann/x/", false},
       }) {
    SCOPED_TRACE(row.order);
    Counting counting;
    Weir weir(counting.origin, row.normalizes ? "key: {normalize_path: true}" : "");
    get(weir.port(), "/%7eann/x/a");
    get(weir.port(), "/ann/x/a");
    auto const purged = purge(weir, "{" + row.order + R"(,"mode":"hard"})");
    EXPECT_NE(purged.body.find(row.prefix), std::string::npos) << purged.body;
    EXPECT_FALSE(cache_status(get(weir.port(), "/%7eann/x/a")).hit());
    EXPECT_TRUE(cache_status(get(weir.port(), "/ann/x/a")).hit());
    EXPECT_EQ(counting.origin.calls(), 3U);
  }
}

// PRG-1: tags and groups, not shown to clients unless told so.
TEST(Purge, ByTagAndGroup) {
  for (auto const& fields :
       {Fields{{"Surrogate-Key", "red green"}}, Fields{{"Cache-Tag", "blue,red"}}, Fields{{"Cache-Groups", "\"red\""}}}) {
    Counting counting(fields);
    Weir weir(counting.origin);
    auto const first = get(weir.port(), "/a");
    EXPECT_FALSE(first.has(fields[0].name));
    purge(weir, R"({"tags":["yellow"],"mode":"hard"})");
    EXPECT_TRUE(cache_status(get(weir.port(), "/a")).hit());
    purge(weir, R"({"tags":["red"],"mode":"hard"})");
    EXPECT_EQ(get(weir.port(), "/a").body, "/a 2");
  }
}

// PRG-1, STL-1: soft is the default: stale from now, its windows run from now, one refresh follows.
TEST(Purge, SoftMakesStale) {
  Counting counting;
  Weir weir(counting.origin);
  get(weir.port(), "/a");
  EXPECT_EQ(purge(weir, R"({"all":true})").status, 200);
  auto const stale = get(weir.port(), "/a");
  EXPECT_EQ(stale.body, "/a 1");
  EXPECT_EQ(cache_status(stale).detail(), "stale-while-revalidate");
  ASSERT_TRUE(counting.origin.waits_for_calls(2));
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(get(weir.port(), "/a").body, "/a 2");
  EXPECT_EQ(weir.metric(R"(weir_purges_total{mode="soft"})"), 1);
}

// PRG-1, STL-3: what was purged hard is not even a stale answer for a failing origin, nor a validator.
TEST(Purge, HardLeavesNothingToFallBackOn) {
  ScriptedOrigin origin;
  origin.answer("/a", {respond(200, cached({{"ETag", "\"1\""}}), "old"), respond(503)});
  Weir weir(origin);
  get(weir.port(), "/a");
  purge(weir, R"({"urls":["/a"],"mode":"hard"})");
  EXPECT_EQ(get(weir.port(), "/a").status, 503);
  EXPECT_FALSE(origin.last_request().has("If-None-Match"));
}

// COA-14, PRG-1: who comes after a purge does not join what began before it; who came before it is served.
TEST(Purge, NobodyJoinsWhatBeganBefore) {
  for (auto const* order : {R"({"all":true,"mode":"hard"})", R"({"urls":["/a"],"mode":"soft"})"}) {
    ScriptedOrigin origin;
    Gate first, second;
    origin.answer("/a", {gated(first, cached(), "old"), gated(second, cached(), "new")});
    Weir weir(origin);
    Burst before(weir.port(), 10), after(weir.port(), 10);
    before.get("/a");
    ASSERT_TRUE(weir.waits_for_waiters(10));
    ASSERT_TRUE(origin.waits_for_calls(1));
    ASSERT_EQ(purge(weir, order).status, 200);
    after.get("/a");
    ASSERT_TRUE(weir.waits_for_waiters(20));
    ASSERT_TRUE(origin.waits_for_calls(2));
    second.open();
    after.collect();
    for (auto const& response : after.responses()) ASSERT_EQ(response.body, "new");
    first.open();
    before.collect();
    EXPECT_EQ(statuses(before.responses()), (std::map<int, std::size_t>{{200, 10}}));
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(get(weir.port(), "/a").body, "new");
    EXPECT_EQ(origin.calls(), 2U);
  }
}

// COA-14, COA-5: what only the answer tells (its tags) is seen at the head: those who came after the purge go on together,
// with one fetch more.
TEST(Purge, ATagIsSeenAtTheHead) {
  ScriptedOrigin origin;
  Gate first, second;
  origin.answer("/a", {gated(first, cached({{"Surrogate-Key", "red"}}), "old"), gated(second, cached(), "new")});
  Weir weir(origin);
  Burst before(weir.port(), 10), after(weir.port(), 10);
  before.get("/a");
  ASSERT_TRUE(weir.waits_for_waiters(10));
  ASSERT_TRUE(origin.waits_for_calls(1));
  purge(weir, R"({"tags":["red"],"mode":"hard"})");
  after.get("/a");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  first.open();
  before.collect();
  for (auto const& response : before.responses()) ASSERT_EQ(response.body, "old");
  ASSERT_TRUE(weir.waits_for_waiters(10));
  second.open();
  after.collect();
  for (auto const& response : after.responses()) ASSERT_EQ(response.body, "new");
  EXPECT_EQ(get(weir.port(), "/a").body, "new");
  EXPECT_EQ(origin.calls(), 2U);
}

// COA-14: who came between two purges of one tag is not given what began before the first.
TEST(Purge, ALaterPurgeHidesNoEarlierOne) {
  ScriptedOrigin origin;
  Gate first;
  origin.answer("/a", {gated(first, cached({{"Surrogate-Key", "red"}}), "old"), respond(200, cached(), "new")});
  Weir weir(origin);
  Burst before(weir.port(), 1), between(weir.port(), 10);
  before.get("/a");
  ASSERT_TRUE(origin.waits_for_calls(1));
  purge(weir, R"({"tags":["red"],"mode":"hard"})");
  between.get("/a");
  ASSERT_TRUE(weir.waits_for_waiters(11));
  purge(weir, R"({"tags":["red"],"mode":"hard"})");
  first.open();
  before.collect();
  between.collect();
  EXPECT_EQ(before.responses().front().body, "old");
  for (auto const& response : between.responses()) ASSERT_EQ(response.body, "new");
  EXPECT_EQ(origin.calls(), 2U);
}

// SRV-6, RFC 9875: an answer to an unsafe request invalidates groups of its own origin.
TEST(Purge, AnOriginInvalidatesItsGroups) {
  ScriptedOrigin origin;
  origin.answer("/a", {respond(200, cached({{"Cache-Groups", "\"g\", \"h\""}}), "1"), respond(200, cached(), "2")});
  origin.answer("/b", respond(200, cached({{"Cache-Groups", "\"h\""}}), "b"));
  origin.answer("/edit", respond(200, {{"Cache-Group-Invalidation", "\"g\""}}, "done"));
  Weir weir(origin);
  for (auto const* path : {"/a", "/b", "/a", "/b"}) get(weir.port(), path);
  EXPECT_EQ(origin.calls(), 2U);
  Client(weir.port()).request("POST", "/edit", {}, "x");
  EXPECT_EQ(get(weir.port(), "/a").body, "2");
  EXPECT_TRUE(cache_status(get(weir.port(), "/b")).hit());
  EXPECT_EQ(weir.metric(R"(weir_purges_total{mode="invalid"})"), 1);
}

// PRG-1: 100,000 purges: bounded memory, and nothing that was purged is served.
TEST(Purge, AHundredThousandStayBounded) {
  Counting counting;
  Weir weir(counting.origin, "purge: {max_epochs: 1000}");
  for (int i = 0; i < 20; ++i) get(weir.port(), "/" + std::to_string(i));
  auto const& settings = *weir.daemon().workers().front()->local().settings;
  for (int i = 0; i < 100'000; ++i) {
    proxy::PurgeOrder order;
    order.urls = {"/" + std::to_string(i)};
    order.mode = cache::Invalidation::hard;
    ASSERT_NE(proxy::purge(weir.daemon().shared(), settings, order).number, 0U);
  }
  EXPECT_EQ(weir.daemon().shared().epochs.size(), 1000U);
  for (int i = 0; i < 20; ++i) {
    auto const path = "/" + std::to_string(i);
    EXPECT_EQ(get(weir.port(), path).body, path + " 2");
  }
}

// OBS-5, PRG-1: every mistake is told, and nothing is done.
TEST(Purge, MistakesAreTold) {
  Counting counting;
  Weir weir(counting.origin);
  get(weir.port(), "/a");
  for (auto const* order :
       {"", "[]", "{}", R"({"url":["/a"]})", R"({"urls":"/a"})", R"({"urls":["a"]})", R"({"prefixes":["/a"]})",
        R"({"site":"none"})", R"({"all":true,"mode":"gentle"})", R"({"tags":[""]})", R"({"urls":["*"]})"})
    EXPECT_EQ(purge(weir, order).status, 400) << order;
  EXPECT_EQ(purge(weir, R"({"all":true})", {{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(purge(weir, R"({"all":true})", {{"Content-Type", "application/json"}, {"Origin", "http://evil"}}).status, 403);
  EXPECT_TRUE(cache_status(get(weir.port(), "/a")).hit());
}

// PRG-3: PURGE is for those on the list, which is empty as shipped.
TEST(Purge, TheMethodIsForThoseOnTheList) {
  Counting counting;
  {
    Weir weir(counting.origin);
    get(weir.port(), "/a");
    EXPECT_EQ(Client(weir.port()).request("PURGE", "/a").status, 405);
    EXPECT_TRUE(cache_status(get(weir.port(), "/a")).hit());
  }
  {
    Weir weir(counting.origin, "purge: {allow: [\"10.0.0.0/8\"]}");
    EXPECT_EQ(Client(weir.port()).request("PURGE", "/a").status, 405);
  }
  Weir weir(counting.origin, "purge: {allow: [\"127.0.0.1\"]}");
  get(weir.port(), "/a?x=1");
  auto const answer = Client(weir.port()).request("PURGE", "/a?x=1", {{"Weir-Purge", "hard"}});
  EXPECT_TRUE(answer.body.starts_with("purge ") && answer.body.ends_with(", hard: url weir.test/a?x=1\n")) << answer.body;
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(weir.outcome(observe::Outcome::purge), 1U);
  auto const calls = counting.origin.calls();
  EXPECT_FALSE(cache_status(get(weir.port(), "/a?x=1")).hit());
  EXPECT_EQ(counting.origin.calls(), calls + 1);
}

// COA-14, PRG-1: however a fetch, joins and purges interleave, nobody who asks after a hard purge has returned gets what the
// origin had begun to send before it.
TEST(Purge, NoInterleavingServesWhatWasPurged) {
  ScriptedOrigin origin;
  std::atomic<int> version{0};
  origin.answer_rest([&version](Request const&) {
    return respond(200, cached({{"Surrogate-Key", "red"}}), std::to_string(version.load()));
  });
  Weir weir(origin);
  std::atomic<int> floor{0};
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      Client client(weir.port());
      while (!over.load()) {
        int const least = floor.load();
        auto const response = client.get("/a");
        if (response.status != 200 || std::stoi(response.body) < least) wrong.fetch_add(1);
      }
    });
  }
  char const* const orders[]{R"({"urls":["/a"],"mode":"hard"})", R"({"tags":["red"],"mode":"hard"})",
                             R"({"prefixes":["/"],"mode":"hard"})", R"({"all":true,"mode":"hard"})"};
  for (int round = 1; round <= 400; ++round) {
    version.store(round);
    EXPECT_EQ(purge(weir, orders[round % 4]).status, 200);
    floor.store(round);
  }
  over.store(true);
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace weir::test
