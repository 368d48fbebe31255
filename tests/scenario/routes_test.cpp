// Which route a request has: one for all that have its key, however they are written.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

// Its pages say what it got, and are for everyone.
void echo(ScriptedOrigin& origin) {
  origin.answer_rest([](Request const& request) {
    auto const evil = request.value("X-Evil");
    return respond(200, {{"Cache-Control", "s-maxage=600"}},
                   request.method + ' ' + request.target + (evil.empty() ? "" : " " + std::string(evil)));
  });
}

std::string site(std::string const& routes, std::string const& more = "") {
  return plain + "sites: [{origin: default, " + more + "routes: [" + routes + "]}]\n";
}
std::string const normalizes = "key: {normalize_path: true}, ";
std::string const strict = "forward: {mode: strict}";

// KEY-2, FWD-2, FWD-3: an escape leads nobody around a route to what is stored behind it.
TEST(Routes, MatchThePathThatIsKeyed) {
  struct Row {
    char const* name;
    std::string yaml;
    std::string asked, page;  // `page`: what everyone gets of it afterwards
    bool stored;
  };
  for (auto const& row : std::vector<Row>{
           {"strict", site("{path: \"/api/*\", " + strict + "}", normalizes), "/%61pi/x", "GET /api/x", true},
           {"exact", site("{path: \"/api/x\", " + strict + "}", normalizes), "/api/%78", "GET /api/x", true},
           {"not cached", site("{path: \"/api/*\", cache: off}", normalizes), "/%61pi/x", "GET /%61pi/x", false},
           {"the route alone is not normalised",
            site("{path: \"/api/*\", key: {normalize_path: false}, " + strict + "}", normalizes), "/%61pi/x", "GET /%61pi/x",
            true},
           {"another route is normalised",
            site("{path: \"/z/*\", key: {normalize_path: true}}, {path: \"/api/*\", cache: off}"), "/%61pi/x",
            "GET /%61pi/x", false},
           {"the route's own escapes", site("{path: \"/%61p%c3*\", " + strict + "}", normalizes), "/ap%C3%a9",
            "GET /ap%C3%A9", true},
           {"nothing is normalised", site("{path: \"/%61pi/*\", " + strict + "}"), "/%61pi/x", "GET /%61pi/x", true},
       }) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    echo(origin);
    Weir weir(origin, row.yaml);
    auto const first = get(weir.port(), row.asked, {{"X-Evil", "evil"}});
    EXPECT_EQ(first.body, row.page + (row.stored ? "" : " evil"));
    auto const second = get(weir.port(), row.asked);
    EXPECT_EQ(second.body, row.page);
    EXPECT_EQ(cache_status(second).hit(), row.stored);
  }
}

// KEY-2, PRG-1, SRV-6, WRM-1: whoever names a URL means the route that its readers have.
TEST(Routes, AreTheSameForWhoeverNamesAUrl) {
  std::string const yaml =
      site("{path: \"/api/*\", key: {query_drop: [a]}}, {path: \"/post\", key: {normalize_path: true}}") +
      "purge: {allow: [127.0.0.0/8]}\n";
  auto const order = [](Weir& weir, std::string const& path, std::string const& text) {
    return Client(weir.admin_port()).request("POST", path, {{"Content-Type", "application/json"}}, text).status;
  };
  struct Row {
    char const* name;
    std::function<void(Weir&)> act;
  };
  for (auto const& row : std::vector<Row>{
           {"purge",
            [&](Weir& weir) { order(weir, "/v1/purge", R"({"urls":["http://weir.test/%61pi/x?a=1"],"mode":"hard"})"); }},
           {"PURGE",
            [&](Weir& weir) {
              Client(weir.port()).request("PURGE", "/%61pi/x?a=1", {{"Weir-Purge", "hard"}});
            }},
           {"unsafe", [&](Weir& weir) { Client(weir.port()).request("POST", "/%61pi/x?a=1"); }},
           {"Location", [&](Weir& weir) { Client(weir.port()).request("POST", "/post"); }},
       }) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    echo(origin);
    origin.answer("/post", respond(200, {{"Location", "/%61pi/x?a=1"}}));
    Weir weir(origin, yaml);
    EXPECT_EQ(get(weir.port(), "/%61pi/x?a=1").body, "GET /%61pi/x");
    EXPECT_TRUE(cache_status(get(weir.port(), "/%61pi/x")).hit());
    row.act(weir);
    EXPECT_FALSE(cache_status(get(weir.port(), "/%61pi/x")).hit());
  }
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, yaml);
  EXPECT_EQ(order(weir, "/v1/warm", R"({"urls":["http://weir.test/%61pi/x?a=1"]})"), 202);
  ASSERT_TRUE(origin.waits_for_calls(1));
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(origin.last_request().target, "/%61pi/x");
  EXPECT_TRUE(cache_status(get(weir.port(), "/%61pi/x")).hit());
}

// KEY-2: HEAD and GET have one key, and so one route.
TEST(Routes, OfGetAreOfHeadToo) {
  ScriptedOrigin origin;
  echo(origin);
  Weir weir(origin, site("{path: \"/a\", methods: [GET], " + strict + "}, {path: \"/b\", methods: [POST], cache: off}"));
  Client client(weir.port());
  for (std::string const path : {"/a", "/b"}) {
    client.request("HEAD", path, {{"X-Evil", "evil"}});
    ASSERT_TRUE(weir.waits_until_no_flights());
    auto const page = client.get(path);
    EXPECT_EQ(page.body, path == "/a" ? "GET /a" : "GET /b evil");
    EXPECT_TRUE(cache_status(page).hit());
  }
}

}  // namespace
}  // namespace weir::test
