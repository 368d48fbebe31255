// FWD-3: what cookies do to caching, as browsers send them.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"
#include "scenario/log_file.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

std::string const wide = plain + "limiter: {max_concurrent: 512, max_per_partition: 512, max_partition_share: 100}\n";
std::string const analytics =
    "_ga=GA1.2.1029384756.1700000000; _gid=GA1.2.5; _gat_UA-1=1; _gcl_au=1.1.2; _fbp=fb.1.1.2; __utmz=1.2; _hjid=a-b; "
    "_pk_id.1.1fff=a.1";

// Pages for whoever asks, assets for everyone; both say what cookies the origin saw.
void shop(ScriptedOrigin& origin) {
  origin.answer_rest([](Request const& request) {
    bool const asset = request.target.starts_with("/asset");
    return respond(200, {{"Cache-Control", asset ? "public, max-age=60" : "max-age=60"}, {"ETag", "\"e\""}},
                   "for [" + request.value("Cookie") + "]");
  });
}

// FWD-3: what analytics set changes nothing.
TEST(Cookies, AnalyticsChangeNothing) {
  ScriptedOrigin origin;
  shop(origin);
  Weir weir(origin, plain);
  Client client(weir.port());
  for (int i = 0; i < 3; ++i) {
    auto const page = client.get("/page", {{"Cookie", analytics + std::to_string(i)}});
    EXPECT_EQ(page.body, "for []");
    EXPECT_EQ(cache_status(page).hit(), i > 0);
    ASSERT_TRUE(weir.waits_until_no_flights());
  }
  EXPECT_TRUE(cache_status(client.get("/page")).hit());
  EXPECT_EQ(origin.calls(), 1U);
  Burst burst(weir.port(), 200);
  Gate gate;
  origin.answer("/cold", Script().wait(gate).head(200, {max_age(60), {"Content-Length", "1"}}).body("x"));
  burst.send_each([](std::size_t i) { return write_request("GET", "/cold", {{"Cookie", analytics + std::to_string(i)}}); });
  ASSERT_TRUE(weir.waits_for_waiters(200));
  gate.open();
  burst.collect();
  EXPECT_EQ(origin.calls("/cold"), 1U);
  EXPECT_EQ(weir.coalesced(), 199U);
}

// FWD-3, COA-8: a session: pages come from the origin and belong to that user alone, assets are hits.
TEST(Cookies, SessionOfALoggedInUser) {
  ScriptedOrigin origin;
  shop(origin);
  Weir weir(origin, plain);
  Client guest(weir.port()), ann(weir.port()), bob(weir.port());
  guest.get("/page");
  guest.get("/asset");
  ASSERT_TRUE(weir.waits_until_no_flights());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ann.get("/page", {{"Cookie", analytics + "; session=ann"}}).body, "for [session=ann]");
    EXPECT_EQ(bob.get("/page", {{"Cookie", "session=bob; " + analytics}}).body, "for [session=bob]");
    EXPECT_TRUE(cache_status(ann.get("/asset", {{"Cookie", "session=ann"}})).hit());
  }
  EXPECT_EQ(ann.get("/asset-cold", {{"Cookie", "session=ann"}}).body, "for [session=ann]");  // public: the origin's word
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(cache_status(bob.get("/asset-cold", {{"Cookie", "session=bob"}})).hit());
  EXPECT_EQ(guest.get("/page").body, "for []");
  EXPECT_EQ(origin.calls("/page"), 5U);
  EXPECT_EQ(origin.calls("/asset"), 1U);
  EXPECT_EQ(origin.calls("/asset-cold"), 1U);
  EXPECT_EQ(weir.metric("weir_not_stored_total{reason=\"cookie\"}"), 4);
}

struct Count {
  std::string target;
  bool known;           // an entry is there, and has expired
  std::size_t users;    // of 200 clients, those with a login cookie
  std::size_t fetches;  // what it costs the origin
};

// FWD-3, COA-1, COA-8: what a burst costs, cold and expired, with and without login cookies.
TEST(Cookies, Bursts) {
  for (auto const& row : std::vector<Count>{{"/page", false, 0, 1},
                                            {"/page", true, 0, 1},
                                            {"/page", false, 200, 200},
                                            {"/page", true, 200, 200},
                                            {"/page", false, 100, 101},
                                            {"/page", true, 100, 101},
                                            {"/asset", false, 200, 200},
                                            {"/asset", false, 100, 101},
                                            {"/asset", true, 200, 1},
                                            {"/asset", true, 100, 1}}) {
    SCOPED_TRACE(row.target + (row.known ? " known " : " cold ") + std::to_string(row.users));
    ScriptedOrigin origin;
    shop(origin);
    Weir weir(origin, wide);
    if (row.known) get(weir.port(), row.target);
    ASSERT_TRUE(weir.waits_until_no_flights());
    weir.turn(61s);
    Gate gate;
    origin.answer(row.target, [&](Request const& request) {
      std::string const body = "for [" + request.value("Cookie") + "]";
      return Script()
          .wait(gate)
          .head(200, {{"Cache-Control", row.target == "/asset" ? "public, max-age=60" : "max-age=60"},
                      {"Content-Length", std::to_string(body.size())}})
          .body(body);
    });
    Burst burst(weir.port(), 200);
    burst.send_each([&](std::size_t i) {
      return write_request(
          "GET", row.target,
          i < row.users ? Fields{{"Cookie", "session=u" + std::to_string(i)}} : Fields{{"Cookie", analytics}});
    });
    ASSERT_TRUE(weir.waits_for_waiters(200));
    ASSERT_TRUE(origin.waits_for_calls(row.fetches + (row.known ? 1 : 0)));
    gate.open();
    burst.collect();
    auto const responses = burst.responses();
    EXPECT_EQ(origin.calls(row.target), row.fetches + (row.known ? 1U : 0U));
    if (row.fetches == 1) continue;
    for (std::size_t i = 0; i < 200; ++i)
      EXPECT_EQ(responses[i].body, i < row.users ? "for [session=u" + std::to_string(i) + "]" : "for []");
  }
}

// FWD-3, FWD-4
TEST(Cookies, ModeBypassAndModeIgnore) {
  for (std::string const mode : {"bypass", "ignore"}) {
    ScriptedOrigin origin;
    shop(origin);
    Weir weir(origin, plain + "cookies: {mode: " + mode + "}\n");
    Client client(weir.port());
    for (std::string const target : {"/page", "/asset"}) {
      client.get(target);
      ASSERT_TRUE(weir.waits_until_no_flights());
      auto const user = client.get(target, {{"Cookie", "_ga=1; session=ann"}, {"If-None-Match", "\"e\""}});
      EXPECT_EQ(cache_status(user).hit(), mode == "ignore");
      EXPECT_EQ(cache_status(user).fwd(), mode == "ignore" ? "" : "bypass");
      EXPECT_TRUE(cache_status(client.get(target, {{"Cookie", "_ga=1"}})).hit()) << "analytics bypass nothing";
      EXPECT_EQ(client.get(target, {{"Cookie", "a=b"}, {"Cache-Control", "only-if-cached"}}).status,
                mode == "ignore" ? 200 : 504);
    }
    EXPECT_EQ(origin.calls(), mode == "ignore" ? 2U : 4U);
    if (mode == "ignore") continue;
    EXPECT_EQ(origin.last_request().value("Cookie"), "_ga=1; session=ann");  // whole
    EXPECT_EQ(origin.last_request().value("If-None-Match"), "\"e\"");
    client.get("/asset-cold", {{"Cookie", "session=ann"}});
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_FALSE(cache_status(client.get("/asset-cold")).hit());
  }
}

// KEY-4, COA-8: a keyed cookie splits and shares; keyed as a field, equal sessions share.
TEST(Cookies, KeyedCookiesShare) {
  ScriptedOrigin origin;
  shop(origin);
  Weir weir(origin, plain + "key: {cookies: [lang]}\n");
  Client client(weir.port());
  for (int i = 0; i < 2; ++i) {
    for (std::string const lang : {"de", "en"}) {
      auto const page = client.get("/page", {{"Cookie", "_ga=" + std::to_string(i) + "; lang=" + lang}});
      EXPECT_EQ(page.body, "for [lang=" + lang + "]");
      EXPECT_EQ(cache_status(page).hit(), i == 1);
      ASSERT_TRUE(weir.waits_until_no_flights());
    }
  }
  EXPECT_EQ(client.get("/page", {{"Cookie", "lang=de; session=ann"}}).body, "for [lang=de; session=ann]");
  EXPECT_EQ(origin.calls(), 3U);
  Weir sessions(origin, plain + "key: {headers: [cookie]}\n");
  Client other(sessions.port());
  for (int i = 0; i < 2; ++i) {
    for (std::string const user : {"ann", "bob"}) {
      EXPECT_EQ(other.get("/page", {{"Cookie", "session=" + user}}).body, "for [session=" + user + "]");
      ASSERT_TRUE(sessions.waits_until_no_flights());
    }
  }
  EXPECT_EQ(origin.calls(), 5U);
}

// COA-5, COA-8: an error page that was made for one user's cookie stays with that user.
TEST(Cookies, ErrorOfOneUserIsNotShown) {
  ScriptedOrigin origin;
  shop(origin);
  Weir weir(origin, wide);
  get(weir.port(), "/asset");
  ASSERT_TRUE(weir.waits_until_no_flights());
  weir.turn(61s);
  Gate gate;
  origin.answer("/asset", Script().wait(gate).head(500, {{"Content-Length", "3"}}).body("ann"));
  Client ann(weir.port());
  ann.send_request("GET", "/asset", {{"Cookie", "session=ann"}});
  ASSERT_TRUE(origin.waits_for_calls(2));
  Burst burst(weir.port(), 20);
  burst.get("/asset");
  ASSERT_TRUE(weir.waits_for_waiters(21));
  gate.open();
  burst.collect();
  EXPECT_EQ(ann.read().body, "ann");
  for (auto const& response : burst.responses()) {
    EXPECT_EQ(response.status, 500);
    EXPECT_EQ(response.body.find("ann"), std::string::npos);
  }
}

// FWD-3, OBS-3: the names are in the statistics, and once an hour in the log while they are over a fifth. Never a value.
TEST(Cookies, NamesBehindCredentials) {
  Log log;
  ScriptedOrigin origin;
  shop(origin);
  Weir weir(origin, plain);
  for (std::size_t hour = 1; hour < 3; ++hour) {
    Client client(weir.port());
    for (int i = 0; i < 6; ++i) client.get("/page", {{"Cookie", "_ga=9; session=secret; cart=" + std::to_string(i)}});
    for (int i = 0; i < 4; ++i) client.get("/page", {{"Cookie", "cart=secret"}});
    for (int i = 0; i < 10; ++i) client.get("/page");
    auto const times = [&](int n) { return std::to_string(n * static_cast<int>(hour)); };
    auto const stats = get(weir.admin_port(), "/v1/stats").body;
    EXPECT_NE(stats.find("\"cookies\":{\"requests\":" + times(20) + ",\"with_credential\":" + times(10) +
                         ",\"names\":[{\"name\":\"cart\",\"requests\":" + times(10) +
                         "},{\"name\":\"session\",\"requests\":" + times(6) + "}]}"),
              std::string::npos)
        << stats;
    weir.turn(3601s);
    ASSERT_TRUE(eventually([&] { return log.count("cookie-credentials") == hour; })) << log.text();
  }
  EXPECT_NE(log.text().find("cart, session"), std::string::npos) << log.text();
  EXPECT_EQ(log.count("secret"), 0U);
}

// FWD-2: strict takes cookies off that nobody named, and says once which.
TEST(Cookies, StrictSaysWhatItStrips) {
  Log log;
  ScriptedOrigin origin;
  shop(origin);
  Weir weir(origin, plain + "forward: {mode: strict}\nkey: {cookies: [lang]}\n");
  Client client(weir.port());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(client.get("/page", {{"Cookie", "_ga=1; lang=de; session=secret" + std::to_string(i)}}).body, "for [lang=de]");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(origin.calls(), 1U);
  weir.turn(301s);
  ASSERT_TRUE(eventually([&] { return log.count("strict-strips-cookies") == 1; })) << log.text();
  EXPECT_FALSE(weir.daemon().shared().stripped_cookies.watching());
  EXPECT_EQ(log.count("session"), 1U);
  for (std::string const not_said : {"secret", "_ga", "lang"}) EXPECT_EQ(log.count(not_said), 0U) << log.text();
}

}  // namespace
}  // namespace weir::test
