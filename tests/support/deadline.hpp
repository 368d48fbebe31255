// Bounds of real time for waits in tests: a wait ends because something happened, and fails when its bound passes. No test
// is right because time passed. Threads: any.
#pragma once

#include <chrono>

namespace weir::test {

using Milliseconds = std::chrono::milliseconds;

inline constexpr Milliseconds patience{30'000};  // for anything that a peer owes us

class Deadline {
 public:
  explicit Deadline(Milliseconds bound) noexcept;
  bool passed() const noexcept { return left() <= Milliseconds{0}; }
  Milliseconds left() const noexcept;  // never negative
  int poll_timeout() const noexcept { return static_cast<int>(left().count()); }

 private:
  std::chrono::nanoseconds end_;
};

// Waits for a millisecond in the kernel, so that the threads under test get the processor.
void give_way() noexcept;

// True as soon as `predicate()` is; false when `bound` passed without it.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate&& predicate, Milliseconds bound = Milliseconds{20'000}) {
  for (Deadline deadline(bound); !predicate(); give_way())
    if (deadline.passed()) return predicate();
  return true;
}

}  // namespace weir::test
