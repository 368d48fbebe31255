// When near entries were last checked against the shared store (VAL-2): a bounded table without locks. What falls out of it
// counts as never checked, which costs a question and nothing else. Owner: the store. Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "weir/base/clock.hpp"

namespace weir::store {

class CheckTable {
 public:
  // Room for about `entries`.
  explicit CheckTable(std::size_t entries);
  void note(std::uint64_t id, base::SteadyTime now) noexcept;
  // Since when at the latest it has not been checked; `Duration::max()`: not known to have been.
  base::Duration age(std::uint64_t id, base::SteadyTime now) const noexcept;

 private:
  std::size_t mask_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> slots_;  // the id's upper bits, then ms of the steady clock; 0: empty
};

}  // namespace weir::store
