// A loop of Google Benchmark with the number of allocations beside it.
#pragma once

#include <benchmark/benchmark.h>

#include "allocations.hpp"

namespace weir::bench {

// `work` runs a few times before, so that buffers have grown and every key that is counted was seen.
template <class Work>
void measure(benchmark::State& state, Work work) {
  for (int i = 0; i < 64; ++i) work();
  auto const before = allocations();
  for (auto _ : state) work();
  auto const made = static_cast<double>(allocations() - before);
  state.counters["allocations"] = benchmark::Counter(made, benchmark::Counter::kAvgIterations);
}

// Numbers without a pattern, the same in every run.
class Numbers {
 public:
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    return state_ ^= state_ << 17U;
  }

 private:
  std::uint64_t state_ = 88172645463325252ULL;
};

}  // namespace weir::bench
