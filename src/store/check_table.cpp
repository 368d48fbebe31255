#include "check_table.hpp"

#include <algorithm>
#include <bit>

namespace weir::store {
namespace {

using std::chrono::milliseconds;

// Two years of milliseconds; a stamp older than that would be believed again.
constexpr std::uint64_t stamp_part = (std::uint64_t{1} << 36U) - 1, id_part = ~stamp_part;

std::uint64_t stamp_of(base::SteadyTime now) noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count()) & stamp_part;
}

}  // namespace

CheckTable::CheckTable(std::size_t entries)
    : mask_(std::bit_ceil(std::max<std::size_t>(entries, 1024)) - 1),
      slots_(std::make_unique<std::atomic<std::uint64_t>[]>(mask_ + 1)) {}

// Two places for each id: its own, or the one checked longest ago.
void CheckTable::note(std::uint64_t id, base::SteadyTime now) noexcept {
  auto& first = slots_[id & mask_];
  auto& second = slots_[(id & mask_) ^ 1U];
  auto const a = first.load(std::memory_order_relaxed);
  auto const b = second.load(std::memory_order_relaxed);
  bool const in_first = ((a ^ id) & id_part) == 0;
  bool const in_second = ((b ^ id) & id_part) == 0;
  auto& slot = in_first || (!in_second && (a & stamp_part) <= (b & stamp_part)) ? first : second;
  slot.store((id & id_part) | stamp_of(now), std::memory_order_relaxed);
}

base::Duration CheckTable::age(std::uint64_t id, base::SteadyTime now) const noexcept {
  for (auto const index : {id & mask_, (id & mask_) ^ 1U}) {
    auto const slot = slots_[index].load(std::memory_order_relaxed);
    if (slot == 0 || ((slot ^ id) & id_part) != 0) continue;
    auto const age = (stamp_of(now) - slot) & stamp_part;
    return milliseconds(age > stamp_part / 2 ? 0 : age);  // another thread's clock may be a little ahead
  }
  return base::Duration::max();
}

}  // namespace weir::store
