// Ten thousand clients that wait for one key, and what each of them costs.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

// Of the whole process, in bytes. One arena, so that the counts of the first are those of all; zero under sanitizers.
std::size_t allocated() {
  auto const info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Both ends of every connection are this process's.
std::size_t as_many_as_fit() { return std::min<std::size_t>(10'000, (raise_descriptor_limit() - 500) / 2); }

// COA-1, COA-15, COA-16: that joining and leaving allocate nothing is for unit_shield's Allocations to show.
TEST(Crowd, TenThousandWaitForOneFetch) {
  auto const crowd_size = as_many_as_fit();
  ::mallopt(M_ARENA_MAX, 1);
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x",
                Script().wait(gate).head(200, {{"Cache-Control", "max-age=60"}, {"Content-Length", "4"}}).body("body"));
  Weir weir(origin);
  Burst crowd(weir.port(), crowd_size);
  ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == crowd_size; }));
  auto const idle = allocated();
  crowd.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(crowd_size));
  auto const waiting = allocated();
  std::printf("%zu waiters, %zu bytes each\n", crowd_size, (waiting - idle) / crowd_size);
  EXPECT_LE(waiting, idle + crowd_size * 4096);
  gate.open();
  crowd.collect();
  EXPECT_EQ(statuses(crowd.responses()), (std::map<int, std::size_t>{{200, crowd_size}}));
  EXPECT_EQ(origin.calls(), 1U);
  EXPECT_EQ(weir.coalesced(), crowd_size - 1);
}

}  // namespace
}  // namespace weir::test
