// Whether a load would see what it looks for.
#include <gtest/gtest.h>

#include "load/stage.hpp"

namespace weir::load {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime now{1000s};

std::string judged(std::string body, base::Duration oldest = 10s, SteadyTime not_before = {}) {
  Ask ask{"/x/1"};
  ask.not_before = not_before;
  Response response;
  response.status = 200;
  response.body = std::move(body);
  return judge_body({ask, response, now}, oldest);
}

TEST(Judge, SeesWhatIsWrongWithABody) {
  auto const good = stamped_body("/x/1", now - 9s, 1024);
  ASSERT_EQ(good.size(), 1024U);
  EXPECT_EQ(judged(good), "");
  EXPECT_NE(judged(good, 8s), "");             // too old
  EXPECT_NE(judged(good, 10s, now - 5s), "");  // purged since
  EXPECT_NE(judged(good.substr(0, 1023)), "");
  EXPECT_NE(judged(good + "a"), "");
  EXPECT_NE(judged(good.substr(0, 1000) + std::string(24, '-')), "");
  EXPECT_NE(judged(stamped_body("/x/2", now, 1024)), "");
  EXPECT_NE(judged(stamped_body("/x/11", now, 1024)), "");
  EXPECT_NE(judged(""), "");
}

TEST(Judge, KnowsHowSlowMostWere) {
  Latencies latencies;
  for (int i = 1; i <= 100; ++i) latencies.add(Milliseconds(i));
  EXPECT_NEAR(latencies.milliseconds(0.5), 51, 2);
  EXPECT_NEAR(latencies.milliseconds(0.99), 100, 4);
}

}  // namespace
}  // namespace weir::load
