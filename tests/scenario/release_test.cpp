// Whatever becomes of a fetch, everything that it held comes back. What is random here follows a seed that the test prints
// and WEIR_SEED repeats.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using Random = std::mt19937;

Fields const cached{{"Cache-Control", "max-age=30"}};

// What the origin does with `/<way>/<number>`.
std::vector<std::function<Script(Request const&)>> const& ways_out() {
  static std::string const body(3000, 'b');
  static std::vector<std::function<Script(Request const&)>> const all{
      [](Request const&) {
        return respond(200, {{"Cache-Control", "max-age=30"}, {"ETag", "\"v\""}}, body);
      },
      [](Request const& request) {
        return request.has("If-None-Match") ? respond(304, {{"ETag", "\"v\""}})
                                            : respond(200, {{"Cache-Control", "no-cache"}, {"ETag", "\"v\""}}, body);
      },
      [](Request const&) { return respond(404, cached, "none"); },
      [](Request const&) { return respond(403); },
      [](Request const&) { return respond(500, {}, "oops"); },
      [](Request const&) { return respond(503); },
      [](Request const&) {
        return respond(200, {{"Cache-Control", "private"}}, body);
      },
      [](Request const&) {
        return respond(200, {{"Cache-Control", "max-age=30"}, {"Set-Cookie", "a=b"}}, body);
      },
      [](Request const&) {
        return respond(200, {{"Cache-Control", "max-age=30"}, {"Vary", "Accept-Language"}}, body);
      },
      [](Request const&) {
        return respond_chunked(200, cached, {"one", "two"});
      },
      [](Request const&) { return respond_until_close(200, cached, body); },
      [](Request const&) { return reset(); },
      [](Request const&) { return close(); },
      [](Request const&) { return hang(); },
      [](Request const&) { return Script().send("no HTTP at all\r\n\r\n").close(); },
      [](Request const&) { return respond(200, cached, body).reset_after(1000); },
      [](Request const&) { return respond(200, cached, body).close_after(1000); },
      [](Request const&) {
        return Script().head(200, {{"Content-Length", "9"}}).body("half").hang();
      },
      [](Request const&) {
        return respond(200, {{"Cache-Control", "max-age=30"}, {"ETag", "\"v\""}}, body).close_after(2000);
      },
  };
  return all;
}

std::string random_request(Random& random) {
  auto const one_of = [&random](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  auto const target = '/' + std::to_string(one_of(ways_out().size())) + '/' + std::to_string(one_of(20));
  switch (one_of(10)) {
    case 0:
      return write_request("POST", target, {}, "body");
    case 1:
      return write_request("GET", target, {{"Authorization", "somebody"}});
    case 2:
      return write_request("GET", target, {{"Range", "bytes=10-19"}});
    case 3:
      return write_request("GET", target, {{"If-None-Match", "\"v\""}});
    case 4:
      return write_request("GET", target, {{"Cache-Control", "no-store"}});
    case 5:
      return write_request("GET", target, {{"Accept-Language", one_of(2) == 0 ? "de" : "en"}});
    default:
      return write_request("GET", target);
  }
}

// A thousand requests of all kinds at once, every fifth client gone before its answer, while time flies.
void one_round(Weir& weir, Random& random) {
  Burst burst(weir.port(), 1000);
  burst.send_each([&](std::size_t) { return random_request(random); });
  for (std::size_t client = 0; client < burst.size(); client += 5) {
    if (random() % 2 == 0)
      burst.reset(client);
    else
      burst.close(client);
  }
  std::jthread const hand([&weir](std::stop_token const& stop) {
    while (!stop.stop_requested()) {
      weir.turn(50ms);
      give_way();
    }
  });
  burst.collect();
}

bool all_came_back(Weir& weir) {
  auto& daemon = weir.daemon();
  auto const& shared = daemon.shared();
  auto const permits = daemon.setup()->origins.begin()->second->limiter.stats();
  return permits.fetches + permits.background + permits.uploads + permits.streams + permits.queued == 0 &&
         daemon.flights().flights() == 0 && daemon.flights().waiting() == 0 && shared.flight_bytes.load() == 0 &&
         shared.fetches_under_way.load() == 0 && daemon.sessions() == 0;
}

class Release : public testing::Test {
 protected:
  Release() {
    auto const* const given = std::getenv("WEIR_SEED");
    auto const seed = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
    std::printf("WEIR_SEED=%u\n", seed);
    random_.seed(seed);
    origin_.answer_rest([](Request const& request) {
      auto const way = std::strtoul(request.target.c_str() + 1, nullptr, 10);
      return ways_out().at(way)(request);
    });
  }

  Random random_;
  ScriptedOrigin origin_;
};

// COA-2, COA-6, LIM-1, LIM-2: every way out of a fetch gives back permit, flight, bytes and connection.
TEST_F(Release, EveryWayOutGivesEverythingBack) {
  Weir weir(origin_, "breaker: {enabled: false}");
  for (int round = 0; round < 8; ++round) {
    one_round(weir, random_);
    for (int i = 0; i < 8; ++i) weir.turn(10s);  // what nobody waits for ends in its own time
    ASSERT_TRUE(eventually([&] { return all_came_back(weir); })) << round;
  }
  EXPECT_GE(origin_.calls(), 1000U);
  EXPECT_TRUE(eventually([&] { return origin_.at_once() == 0; }));
  EXPECT_EQ(get(weir.port(), "/0/afterwards").status, 200);
}

// CB-1: nor does a probe get lost, however the fetch ends that holds it.
TEST_F(Release, EveryWayOutGivesTheProbeBack) {
  Weir weir(origin_, "breaker: {min_requests: 5}");
  for (int round = 0; round < 4; ++round) {
    one_round(weir, random_);
    for (int i = 0; i < 8; ++i) weir.turn(10s);
    ASSERT_TRUE(eventually([&] { return all_came_back(weir); })) << round;
    weir.turn(75s);  // open for at most a minute and its jitter since the last of them failed; the next one is its probe
    EXPECT_EQ(get(weir.port(), "/0/probe" + std::to_string(round)).status, 200);
    EXPECT_EQ(weir.metric("weir_breaker_state"), 0);
  }
  EXPECT_GT(weir.metric(R"(weir_breaker_transitions_total{to="half-open"})"), 0);
}

// COA-6, LCY-2: nor at an end in the middle of it all; the limiter asserts that nobody holds anything of it.
TEST_F(Release, ShutdownGivesEverythingBack) {
  auto weir = std::make_unique<Weir>(origin_);
  Burst burst(weir->port(), 200);
  burst.send_each([](std::size_t i) { return write_request("GET", (i % 2 ? "/13/" : "/17/") + std::to_string(i)); });
  ASSERT_TRUE(origin_.waits_for_calls(64));
  weir.reset();
  burst.collect();
  EXPECT_TRUE(eventually([&] { return origin_.at_once() == 0; }));
}

}  // namespace
}  // namespace weir::test
