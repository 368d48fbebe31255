#include "key_record.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace weir::store {

KeyRecord::KeyRecord(std::string_view key, std::uint64_t hash) noexcept : key_size_(key.size()) {
  hook.hash = hash;
  std::copy(key.begin(), key.end(), reinterpret_cast<char*>(this + 1));
}

KeyRecord* KeyRecord::make(std::string_view key, std::uint64_t hash) noexcept {
  void* const memory = ::operator new(sizeof(KeyRecord) + key.size(), std::nothrow);
  return memory == nullptr ? nullptr : new (memory) KeyRecord(key, hash);
}

void KeyRecord::destroy(KeyRecord* record) noexcept {
  record->~KeyRecord();
  ::operator delete(record);
}

KeyRecord& KeyRecord::of(Hook& hook) noexcept {
  return *boost::intrusive::get_parent_from_member<KeyRecord, Hook>(&hook, &KeyRecord::hook);
}

std::size_t KeyRecord::footprint() const noexcept {
  constexpr std::size_t malloc_overhead = 16;
  std::size_t bytes = sizeof(KeyRecord) + key_size_ + malloc_overhead;
  if (names_.capacity() > 0) bytes += names_.capacity() * sizeof(std::string) + malloc_overhead;
  for (auto const& name : names_)
    bytes += name.capacity() > std::string().capacity() ? name.capacity() + malloc_overhead : 0;
  return bytes;
}

cache::Overrule KeyRecord::overrule(std::uint64_t purge_number) const noexcept {
  if (purge_number < invalid_.number) return {cache::Invalidation::invalid, invalid_.at};
  if (purge_number < soft_.number) return {cache::Invalidation::soft, soft_.at};
  return {};
}

void KeyRecord::add(cache::Invalidation mode, std::uint64_t number, base::SteadyTime now) noexcept {
  highest_ = std::max(highest_, number);
  if (mode == cache::Invalidation::invalid && invalid_.number < number) invalid_ = {number, now};
  if (mode == cache::Invalidation::soft && soft_.number < number) soft_ = {number, now};
}

void KeyRecord::announce(std::vector<std::string> const& names, base::SteadyTime until, base::SteadyTime now) noexcept {
  try {
    auto merged = announces(now) ? names_ : std::vector<std::string>();
    for (auto const& name : names) {
      if (std::find(merged.begin(), merged.end(), name) == merged.end()) merged.push_back(name);
    }
    if (merged.size() > max_announced_names) merged.erase(merged.begin(), merged.end() - max_announced_names);
    announced_until_ = std::max(announced_until_, until);
    names_ = std::move(merged);
  } catch (std::bad_alloc const&) {
    return;  // the spec is as it was: those who join by fewer names are sent on when the head comes
  }
}

}  // namespace weir::store
