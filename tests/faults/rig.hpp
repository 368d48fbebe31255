// What every faulty exchange ends in (COA-6): all clients were answered or their connections closed, nothing whole is wrong,
// everything that was held is given back, and the next plain request is answered right.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "faults/interpose.hpp"
#include "scenario/answers.hpp"

namespace weir::test {

using namespace std::chrono_literals;

inline bool all_cases() { return std::getenv("WEIR_ALL_CASES") != nullptr; }

// What somebody still holds, by name; empty: nothing.
inline std::string held(Weir& weir) {
  std::string all;
  auto const say = [&all](char const* name, std::uint64_t count) {
    if (count != 0) all.append(name).append(" ").append(std::to_string(count)).append("; ");
  };
  auto& daemon = weir.daemon();
  say("flights", daemon.flights().flights());
  say("waiting", daemon.flights().waiting());
  say("fetches", daemon.shared().fetches_under_way.load());
  say("bytes of flights", daemon.shared().flight_bytes.load());
  say("sessions", daemon.sessions());
  for (auto const& [name, origin] : daemon.setup()->origins) {
    auto const stats = origin->limiter.stats();
    say("permits", stats.fetches + stats.background + stats.uploads + stats.streams);
    say("queued", stats.queued + stats.patient);
  }
  return all;
}

// Once all clients are gone.
inline void expect_quiet(Weir& weir) {
  EXPECT_TRUE(eventually([&] { return held(weir).empty(); }, Milliseconds(10'000))) << held(weir);
  EXPECT_EQ(weir.metric("weir_origin_inflight"), 0);
  EXPECT_EQ(weir.metric("weir_client_connections"), 0);
}

// Set where nothing that fails may be seen by a client.
inline bool must_be_whole = false;

// Answered, or told that there will be no answer.
inline void expect_answered(Response const& response, std::string const& body) {
  EXPECT_TRUE(response.complete || !must_be_whole) << response;
  EXPECT_NE(response.end, End::silence) << response;
  EXPECT_NE(response.end, End::malformed) << response;
  if (response.complete && (response.status == 200 || response.status == 206)) { EXPECT_EQ(response.body, body); }
}

// So many clients with one request each; every one that is answered whole gets `body`.
inline void ask_at_once(Weir& weir, std::vector<std::string> const& requests, std::string const& body,
                        std::function<void()> const& meanwhile = {}) {
  Burst burst(weir.port(), requests.size());
  burst.send_each([&](std::size_t client) { return requests[client]; });
  if (meanwhile) meanwhile();
  burst.collect();
  for (auto const& response : burst.responses()) expect_answered(response, body);
}

}  // namespace weir::test
