#include "support/deadline.hpp"

#include <poll.h>
#include <time.h>

#include <algorithm>

namespace weir::test {

namespace {

std::chrono::nanoseconds monotonic_time() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Deadline::Deadline(Milliseconds bound) noexcept : end_(monotonic_time() + bound) {}

Milliseconds Deadline::left() const noexcept {
  return std::max(Milliseconds{0}, std::chrono::ceil<Milliseconds>(end_ - monotonic_time()));
}

void give_way() noexcept {
  timespec const millisecond{0, 1'000'000};
  ::ppoll(nullptr, 0, &millisecond, nullptr);
}

}  // namespace weir::test
