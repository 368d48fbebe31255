// Another configuration under a running Weir (LCY-2): what changes, what stays, and what is refused.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Field const fresh{"Cache-Control", "max-age=600"};
std::string mark(std::string const& word) { return "headers: {response: {set: {X-Mark: " + word + "}}}\n"; }
std::string const bad = "listne: []\nlimiter: {max_concurrent: many}\n";
using None = std::vector<std::string>;

// LCY-2: requests from now on get the new settings, on connections that were there; one that waits keeps those that it began
// with; what is stored stays.
TEST(Reload, TakesNewSettingsAndKeepsWhatIsThere) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", respond(200, {fresh}, "hello"));
  origin.answer("/slow", Script().wait(gate).head(200, {fresh, {"Content-Length", "4"}}).body("slow"));
  Weir weir(origin, mark("one"));
  Client client(weir.port()), waiting(weir.port());
  EXPECT_EQ(client.get("/x").value("X-Mark"), "one");
  waiting.send_request("GET", "/slow");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  EXPECT_EQ(weir.reload(mark("two")), None());
  auto const hit = client.get("/x");
  EXPECT_EQ(hit.value("X-Mark"), "two");
  EXPECT_TRUE(cache_status(hit).hit());
  gate.open();
  EXPECT_EQ(waiting.read().value("X-Mark"), "one");
  EXPECT_EQ(waiting.get("/slow").value("X-Mark"), "two");
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(weir.metric("weir_config_reloads_total{result=\"ok\"}"), 1);
}

// LCY-2: every mistake is listed, and nothing has changed.
TEST(Reload, RefusesABadConfigurationWhole) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {fresh}, "hello"));
  Weir weir(origin, mark("one"));
  Client client(weir.port());
  EXPECT_EQ(client.get("/x").status, 200);
  weir.edit(mark("two") + bad);
  auto const answer = Client(weir.admin_port()).request("POST", "/v1/reload");
  EXPECT_EQ(answer.status, 422);
  for (auto const* const part : {"\"path\":\"listne\"", "\"path\":\"limiter.max_concurrent\"", "\"line\":3"})
    EXPECT_NE(answer.body.find(part), std::string::npos) << part << ' ' << answer.body;
  EXPECT_EQ(client.get("/x").value("X-Mark"), "one");
  EXPECT_EQ(weir.metric("weir_config_reloads_total{result=\"bad\"}"), 1);
  weir.edit(mark("two"));
  EXPECT_EQ(Client(weir.admin_port()).request("POST", "/v1/reload").body, "{\"reloaded\":true,\"warnings\":[]}\n");
  EXPECT_EQ(client.get("/x").value("X-Mark"), "two");
}

// LCY-2: what is fixed at the start is refused by name, all at once.
TEST(Reload, RefusesWhatCannotChange) {
  ScriptedOrigin origin;
  Weir weir(origin);
  std::string const fixed = ": cannot change while Weir runs; restart it for that";
  EXPECT_EQ(weir.reload("workers: 3\nstore: {type: valkey, address: \"127.0.0.1:1\"}\n"),
            (std::vector<std::string>{"workers" + fixed, "store.type" + fixed, "store.address" + fixed}));
  EXPECT_EQ(weir.reload("store: {allow_evictable: true}\n"), std::vector<std::string>{"store.allow_evictable" + fixed});
  auto other = weir.daemon().setup()->settings;
  other.admin.listen = "127.0.0.1:1";
  auto const refused = weir.daemon().reload({std::move(other), {}, {}}).mistakes;
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused.front().path, "admin.listen");
}

// LCY-2: a new address opens; one that is gone takes nobody, and its connections end with the answer that they are owed.
TEST(Reload, AddressesComeAndGo) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {fresh, {"Content-Length", "5"}}).body("hello"));
  Weir weir(origin);
  Client asking(weir.port()), idle(weir.port());
  asking.send_request("GET", "/x");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 2; }));
  EXPECT_EQ(weir.reload("listen: [\"127.0.0.2:0\", \"127.0.0.1:0\"]\n"), None());
  auto const addresses = weir.daemon().addresses();
  ASSERT_EQ(addresses.size(), 2U);
  EXPECT_EQ(weir.reload("listen: [\"127.0.0.2:0\"]\n"), None());
  EXPECT_TRUE(idle.waits_until_closed());
  EXPECT_TRUE(eventually([&] { return !connect_to(weir.port()); }));
  gate.open();
  EXPECT_EQ(asking.read().value("Connection"), "close");
  auto const port = static_cast<std::uint16_t>(std::stoul(addresses.back().substr(addresses.back().rfind(':') + 1)));
  EXPECT_TRUE(addresses.back().starts_with("127.0.0.2:"));
  Client other(port, {.address = "127.0.0.2"});
  EXPECT_TRUE(cache_status(other.get("/x")).hit());
}

// LCY-2: an address that cannot be opened is a mistake, too.
TEST(Reload, RefusesAnAddressThatIsTaken) {
  ScriptedOrigin origin;
  Weir weir(origin);
  auto const taken = "127.0.0.1:" + std::to_string(origin.port());
  auto const mistakes = weir.reload("listen: [\"127.0.0.1:0\", \"127.0.0.2:0\", \"" + taken + "\"]\n");
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_TRUE(mistakes.front().starts_with("listen[2]: cannot listen on " + taken)) << mistakes.front();
  EXPECT_EQ(weir.daemon().addresses().size(), 1U);
  EXPECT_EQ(get(weir.port(), "/x").status, 404);
}

// LCY-2, LIM-1: the limiter is the same, with its queue, under new rules.
TEST(Reload, TheLimiterStays) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const&) { return Script().wait(gate).head(200, {fresh, {"Content-Length", "0"}}); });
  Weir weir(origin, "limiter: {max_concurrent: 1}\n");
  Burst burst(weir.port(), 3);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  auto const queued = [&] { return weir.metric("weir_limiter_queue_depth"); };
  ASSERT_TRUE(eventually([&] { return queued() == 2; }));
  EXPECT_EQ(weir.reload("limiter: {max_concurrent: 2}\n"), None());
  ASSERT_TRUE(origin.waits_for_calls(2));
  EXPECT_EQ(queued(), 1);
  gate.open();
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 3}}));
  EXPECT_EQ(origin.most_at_once(), 2U);
}

// LCY-2, CB-1, REL-1: an open breaker stays open, and connections to the origin stay.
TEST(Reload, BreakerAndPoolsStay) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "no-store"}}, "hello"));
  origin.answer("/bad", respond(503));
  std::string const rules = "breaker: {min_requests: 2, open: 60s}\n";
  Weir weir(origin, rules);
  Client client(weir.port());
  EXPECT_EQ(client.get("/x").status, 200);
  EXPECT_EQ(weir.reload(rules + mark("one")), None());
  EXPECT_EQ(client.get("/x").value("X-Mark"), "one");
  EXPECT_EQ(origin.connections(), 1U);
  for (int i = 0; i < 4; ++i) client.get("/bad");
  auto const calls = origin.calls();
  EXPECT_EQ(weir.metric("weir_breaker_state"), 2);
  EXPECT_EQ(weir.reload(rules + mark("two")), None());
  EXPECT_EQ(client.get("/x").status, 503);
  EXPECT_EQ(weir.metric("weir_breaker_state"), 2);
  EXPECT_EQ(origin.calls(), calls);
}

// LCY-2: an origin at another address; a fetch under way ends where it began, and its connection is not used again. A site
// and an origin that are new are served and counted.
TEST(Reload, OriginsMoveAndCome) {
  ScriptedOrigin origin, next;
  Gate gate;
  origin.answer("/slow", Script().wait(gate).head(200, {fresh, {"Content-Length", "3"}}).body("old"));
  next.answer_rest([](Request const&) { return respond(200, {fresh}, "new"); });
  auto const at = [](ScriptedOrigin const& where) { return "origins: {app: {url: \"" + where.url() + "\"}}\n"; };
  auto const sites = [](std::string const& more) { return "sites: [{hosts: [weir.test], origin: app}" + more + "]\n"; };
  Weir weir(origin, at(origin) + sites(""));
  Client slow(weir.port());
  slow.send_request("GET", "/slow");
  ASSERT_TRUE(origin.waits_for_calls(1));
  EXPECT_EQ(weir.reload(at(next) + sites(", {hosts: [other.test], origin: app}")), None());
  EXPECT_EQ(get(weir.port(), "/a").body, "new");
  EXPECT_EQ(get(weir.port(), "/a", {{"Host", "other.test"}}).body, "new");
  EXPECT_EQ(weir.metric("weir_requests_total{site=\"other.test\",outcome=\"miss\"}"), 1);
  gate.open();
  EXPECT_EQ(slow.read().body, "old");
  EXPECT_EQ(slow.get("/slow").body, "old");  // stored
  EXPECT_EQ(slow.get("/b").body, "new");
  EXPECT_EQ(origin.calls(), 1U);
}

// LCY-2, OBS-2: what the breaker of an origin has counted stays counted when the origin goes, and when it comes again.
TEST(Reload, CountersOfAnOriginThatGoesStay) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(503); });
  auto const app = "origins: {app: {url: \"" + origin.url() + "\"}}\nsites: [{origin: app}]\nbreaker: {min_requests: 1}\n";
  auto const other =
      "origins: {other: {url: \"" + origin.url() + "\"}}\nsites: [{origin: other}]\nbreaker: {min_requests: 1}\n";
  Weir weir(std::string(), app);
  double opened = 0;
  for (auto const& next : {other, app, app, other}) {
    opened += weir.metric(R"(weir_breaker_state)") == 0 ? 1 : 0;
    get(weir.port(), "/x");
    EXPECT_EQ(weir.metric(R"(weir_breaker_transitions_total{to="open"})"), opened);
    EXPECT_EQ(weir.reload(next), None());
    EXPECT_EQ(weir.metric(R"(weir_breaker_transitions_total{to="open"})"), opened);
  }
  EXPECT_EQ(opened, 3);
}

// LCY-2: an address moves to all of the machine's and back, on its port, in one reload each; nobody is turned away.
TEST(Reload, AnAddressMovesToAllAndBack) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {fresh}, "hello"));
  Weir weir(origin);
  auto const port = weir.port();
  auto const listens = [&](std::string const& host) { return "listen: [\"" + host + ":" + std::to_string(port) + "\"]\n"; };
  EXPECT_EQ(weir.reload(listens("0.0.0.0")), None());
  EXPECT_EQ(Client(port, {.address = "127.0.0.2"}).get("/x").body, "hello");
  EXPECT_EQ(Client(port).get("/x").body, "hello");
  EXPECT_EQ(weir.reload(listens("127.0.0.1")), None());
  EXPECT_EQ(Client(port).get("/x").body, "hello");
  EXPECT_TRUE(eventually([&] { return !connect_to(port, {.address = "127.0.0.2"}); }));
  EXPECT_EQ(origin.calls(), 1U);
}

// LCY-2: an address that is written in another way is bound as it was, and goes on.
TEST(Reload, AnAddressMayBeWrittenAnew) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {fresh}, "hello"));
  Weir weir(origin, "listen: [\"[::1]:0\"]\n");
  auto const port = std::to_string(weir.port());
  for (auto const* const host : {"[::1]:", "[0:0:0:0:0:0:0:1]:"}) {
    EXPECT_EQ(weir.reload(std::string("listen: [\"") + host + port + "\"]\n"), None());
    for (auto const& worker : weir.daemon().workers())
      ASSERT_TRUE(eventually([&] { return worker->listeners() == 1; })) << host;
    EXPECT_EQ(Client(weir.port(), {.address = "::1"}).get("/x").body, "hello") << host;
  }
  EXPECT_EQ(weir.daemon().addresses(), std::vector<std::string>{"[::1]:" + port});
}

// LCY-2: of two at once, what was read later stays. The later one cannot end before the first, so the wait is for nothing.
TEST(Reload, WhatWasReadLastStays) {
  ScriptedOrigin origin;
  auto settings = Weir(origin).daemon().setup()->settings;
  std::atomic<std::uint32_t> file{1};
  std::atomic<int> reads{0};
  std::future<admin::Reloaded> later;
  daemon::Daemon* running = nullptr;
  daemon::Daemon daemon(settings, [&] {
    settings.limits.header_count = file.load();
    config::Loaded loaded{settings, {}, {}};
    if (reads.fetch_add(1) != 0) return loaded;
    file = 2;
    later = std::async(std::launch::async, [&] { return running->reload(); });
    later.wait_for(200ms);
    return loaded;
  });
  running = &daemon;
  EXPECT_TRUE(daemon.reload().mistakes.empty());
  EXPECT_TRUE(later.get().mistakes.empty());
  EXPECT_EQ(daemon.setup()->settings.limits.header_count, 2U);
}

// LCY-2: authorities that cannot be read are a mistake with its place, as they are for `--test`.
TEST(Reload, RefusesAuthoritiesThatAreNotThere) {
  ScriptedOrigin origin;
  Weir weir(origin);
  std::string const tls = "origins: {other: {url: \"https://127.0.0.1:1\", tls: {ca_file: /does/not/exist}}}\n";
  for (auto const& [yaml, count] : {std::pair<std::string, std::size_t>{tls, 1}, {tls + "listne: 1\n", 2}}) {
    weir.edit(yaml + "sites: [{origin: other}]\n");
    auto const mistakes = weir.daemon().reload().mistakes;
    ASSERT_EQ(mistakes.size(), count);
    auto const& told = mistakes.back();
    EXPECT_EQ(told.path, "origins.other.tls.ca_file") << told.text();
    EXPECT_EQ(std::pair(told.line, told.column), std::pair(2, 62)) << told.text();
  }
}

// LCY-2: what belongs to the whole file and what is fixed are told together, so that one look mends all.
TEST(Reload, TellsMistakesOfEveryKindAtOnce) {
  ScriptedOrigin origin;
  Weir weir(origin);
  auto const mistakes = weir.reload(bad + "workers: 7\nstore: {typ: valkey}\n");
  std::set<std::string> paths;
  for (auto const& mistake : mistakes) paths.insert(mistake.substr(0, mistake.find(": ")));
  EXPECT_EQ(paths, (std::set<std::string>{"listne", "limiter.max_concurrent", "store.typ", "workers"}));
}

// What clients of one kind do until all of it is over. False: an answer was not what it should be.
using Step = std::function<bool(int)>;

bool is_good(Response const& answer) {
  return answer.status == 200 && answer.body == "hello" && !answer.value("X-Mark").empty() &&
         answer.value("Connection").empty();
}

std::vector<Step> steps(Weir& weir, std::vector<std::unique_ptr<Client>>& clients) {
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Client>(weir.port()));
  auto const path = [](int i) { return "/" + std::to_string(i % 50); };
  return {
      [&clients, path](int i) { return is_good(clients[0]->get(path(i))); },
      [&clients](int) { return is_good(clients[1]->request("POST", "/p", {}, std::string(10'000, 'x'))); },
      [&clients](int i) { return is_good(clients[2]->get("/miss" + std::to_string(i))); },
      [&clients, path](int i) {
        for (int n = 0; n < 8; ++n) clients[3]->send_request("GET", path(i + n));
        bool good = true;
        for (int n = 0; n < 8; ++n) good &= is_good(clients[3]->read());
        return good;
      },
      [&weir, path](int i) { return is_good(get(weir.port(), path(i))); },
  };
}

// LCY-2: a hundred times under load, good and bad files by turns: hits, misses, uploads, pipelines and new connections are
// all answered, and nothing is fetched again.
TEST(Reload, AHundredTimesUnderLoadNothingIsLost) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {fresh}, "hello"); });
  Weir weir(origin, mark("m0"));
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> answers{0}, wrong{0};
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::thread> threads;
  for (auto const& step : steps(weir, clients)) {
    threads.emplace_back([&, step] {
      for (int i = 0; !over.load(); ++i, ++answers)
        if (!step(i)) ++wrong;
    });
  }
  for (int i = 1; i <= 100; ++i) {
    auto const before = answers.load();
    bool const good = i % 2 != 0;
    EXPECT_EQ(weir.reload(mark("m" + std::to_string(i)) + (good ? "" : bad)).size(), good ? 0U : 2U);
    ASSERT_TRUE(eventually([&] { return answers.load() > before + 20; }));
  }
  over.store(true);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0U);
  for (int i = 0; i < 50; ++i) EXPECT_LE(origin.calls("/" + std::to_string(i)), 1U);
  EXPECT_EQ(weir.metric("weir_config_reloads_total{result=\"ok\"}"), 50);
  EXPECT_EQ(weir.metric("weir_config_reloads_total{result=\"bad\"}"), 50);
}

}  // namespace
}  // namespace weir::test
