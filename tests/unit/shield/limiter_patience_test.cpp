// Background work that waits for what foreground leaves (WRM-1), as transcripts.
#include <deque>

#include <gtest/gtest.h>

#include "stage.hpp"
#include "weir/shield/limiter.hpp"

namespace weir::shield {
namespace {

struct Bench {
  HeldWaker waker;
  Limiter limiter;
  explicit Bench(LimiterRules const& rules) : limiter(waker, rules) {}

  Acquire acquire(PermitWaiter& waiter, std::uint64_t partition, PermitClass permit_class = PermitClass::fetch) {
    waiter.partition = partition;
    waiter.permit_class = permit_class;
    return limiter.acquire(waiter);
  }
};

// WRM-1, LIM-2: patient background work waits until a permit is left over, behind whoever came before it, and only there.
TEST(LimiterPatience, patient_background_work_waits_for_what_is_left_over) {
  Bench bench({.max_concurrent = 4, .foreground_reserve = 50});
  std::deque<PermitWaiter> foreground(3), patient(3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bench.acquire(foreground[i], i), Acquire::granted);
  for (std::size_t i = 0; i < 3; ++i) {
    patient[i].patient = true;
    EXPECT_EQ(bench.acquire(patient[i], 10 + i, PermitClass::background), Acquire::queued);
  }
  EXPECT_EQ(bench.limiter.stats().patient, 3U);
  EXPECT_EQ(bench.limiter.stats().queued, 0U);
  foreground[0].permit.release();
  EXPECT_EQ(bench.waker.deliver(), 0U);  // two are taken: the rest is reserved
  foreground[1].permit.release();
  EXPECT_EQ(bench.waker.deliver(), 1U);
  EXPECT_TRUE(patient[0].permit);
  EXPECT_EQ(patient[0].permit.permit_class(), PermitClass::background);
  EXPECT_TRUE(bench.limiter.cancel(patient[1]));
  EXPECT_FALSE(bench.limiter.cancel(patient[1]));
  patient[0].permit.release();
  EXPECT_EQ(bench.waker.deliver(), 1U);
  EXPECT_TRUE(patient[2].permit);
  EXPECT_EQ(bench.limiter.stats().patient, 0U);
}

// WRM-1: nobody waits for a partition that has all it may have, and an origin that is not asked sends all away.
TEST(LimiterPatience, patient_background_work_is_skipped_or_refused) {
  Bench bench({.max_concurrent = 8, .max_per_partition = 2, .foreground_reserve = 50});
  PermitWaiter held, same, other, last;
  EXPECT_EQ(bench.acquire(held, 1, PermitClass::background), Acquire::granted);
  std::deque<PermitWaiter> foreground(3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bench.acquire(foreground[i], 20 + i), Acquire::granted);
  for (auto* const waiter : {&same, &other, &last}) waiter->patient = true;
  EXPECT_EQ(bench.acquire(same, 1, PermitClass::background), Acquire::queued);
  EXPECT_EQ(bench.acquire(other, 2, PermitClass::background), Acquire::queued);
  EXPECT_EQ(bench.acquire(last, 3, PermitClass::background), Acquire::queued);
  foreground[0].permit.release();
  EXPECT_EQ(bench.waker.deliver(), 1U);
  EXPECT_TRUE(other.permit);
  bench.limiter.refuse_all();
  EXPECT_EQ(bench.waker.deliver(), 2U);
  EXPECT_TRUE(same.refused && last.refused);
  EXPECT_FALSE(same.permit || last.permit);
}

}  // namespace
}  // namespace weir::shield
