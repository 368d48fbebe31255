// A shared body that breaks off and goes on.
#include <gtest/gtest.h>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

std::string body_of(std::size_t size) {
  std::string body;
  for (std::size_t i = 0; i < size; ++i) body += static_cast<char>('a' + i * 7 % 26);
  return body;
}

std::string const body = body_of(100'000);
constexpr std::size_t broken_at = 40'000;

Fields whole() {
  return {{"Cache-Control", "max-age=60"}, {"ETag", "\"v1\""}, {"Content-Length", std::to_string(body.size())}};
}

Script breaks_off() { return Script().head(200, whole()).body(body.substr(0, broken_at)).reset(); }

Script rest(Fields fields, std::size_t from = broken_at) {
  fields.push_back({"Content-Length", std::to_string(body.size() - from)});
  return Script().head(206, fields).body(body.substr(from));
}

std::string place(std::size_t from, std::size_t complete) {
  return "bytes " + std::to_string(from) + '-' + std::to_string(body.size() - 1) + '/' + std::to_string(complete);
}

// REL-4, COA-10: 20 clients, one break, one more request for the rest: everyone gets all of it, and it is stored.
TEST(Resume, ABrokenBodyGoesOnForEverybody) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", {Script().wait(gate).head(200, whole()).body(body.substr(0, broken_at)).reset(),
                       rest({{"ETag", "\"v1\""}, {"Content-Range", place(broken_at, body.size())}})});
  Weir weir(origin);
  Burst burst(weir.port(), 20);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(20));
  gate.open();
  burst.collect();
  for (auto const& response : burst.responses()) {
    ASSERT_TRUE(response.complete);
    ASSERT_EQ(response.body, body);
  }
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(origin.last_request().value("Range"), "bytes=40000-");
  EXPECT_EQ(origin.last_request().value("If-Range"), "\"v1\"");
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
  EXPECT_EQ(weir.metric(R"(weir_origin_fetches_total{class="resume",result="ok"})"), 1);
}

// REL-4: a body in chunks is resumed too, and then has an end that is known.
TEST(Resume, AChunkedBodyGoesOn) {
  ScriptedOrigin origin;
  origin.answer("/x",
                {Script()
                     .head(200, {{"Cache-Control", "max-age=60"}, {"ETag", "\"v1\""}, {"Transfer-Encoding", "chunked"}})
                     .chunk(body.substr(0, broken_at))
                     .reset(),
                 rest({{"ETag", "\"v1\""}, {"Content-Range", place(broken_at, body.size())}})});
  Weir weir(origin);
  auto const response = get(weir.port(), "/x");
  EXPECT_TRUE(response.complete);
  EXPECT_EQ(response.body, body);
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(cache_status(get(weir.port(), "/x")).hit());
}

// REL-4: whatever is not the proven rest ends as broken, is asked for once, and is never stored.
TEST(Resume, AnythingElseEndsAsBroken) {
  auto const good = place(broken_at, body.size());
  struct Row {
    std::string name;
    Script second;
  };
  std::vector<Row> const rows{
      {"200", respond(200, {{"ETag", "\"v1\""}}, body)},
      {"another tag", rest({{"ETag", "\"v2\""}, {"Content-Range", good}})},
      {"weak tag", rest({{"ETag", "W/\"v1\""}, {"Content-Range", good}})},
      {"no tag", rest({{"Content-Range", good}})},
      {"another coding", rest({{"ETag", "\"v1\""}, {"Content-Range", good}, {"Content-Encoding", "gzip"}})},
      {"another place", rest({{"ETag", "\"v1\""}, {"Content-Range", place(broken_at - 1, body.size())}}, broken_at - 1)},
      {"another length", rest({{"ETag", "\"v1\""}, {"Content-Range", place(broken_at, body.size() + 5)}})},
      {"unknown length", rest({{"ETag", "\"v1\""}, {"Content-Range", "bytes 40000-99999/*"}})},
      {"416", respond(416)},
      {"broken again", Script()
                           .head(206, {{"ETag", "\"v1\""}, {"Content-Range", good}, {"Content-Length", "60000"}})
                           .body(body.substr(broken_at, 10'000))
                           .reset()},
      {"reset", reset()},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    ScriptedOrigin origin;
    origin.answer("/x", {breaks_off(), row.second, respond(200, {}, "next")});
    Weir weir(origin);
    EXPECT_FALSE(get(weir.port(), "/x").complete);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(weir.entries(), 0U);
    EXPECT_EQ(origin.calls(), 2U);
    EXPECT_EQ(get(weir.port(), "/x").body, "next");
  }
}

// REL-4: without a strong tag, or for an answer that is one client's own, there is no second request.
TEST(Resume, OnlySharedBodiesWithAStrongTag) {
  for (auto const& fields :
       {Fields{{"Cache-Control", "max-age=60"}, {"ETag", "W/\"v1\""}}, Fields{{"Cache-Control", "max-age=60"}},
        Fields{{"Cache-Control", "private"}, {"ETag", "\"v1\""}}}) {
    ScriptedOrigin origin;
    auto head = fields;
    head.push_back({"Content-Length", std::to_string(body.size())});
    origin.answer("/x", Script().head(200, head).body(body.substr(0, broken_at)).reset());
    Weir weir(origin);
    EXPECT_FALSE(get(weir.port(), "/x").complete);
    ASSERT_TRUE(weir.waits_until_no_flights());
    EXPECT_EQ(origin.calls(), 1U);
  }
}

}  // namespace
}  // namespace weir::test
