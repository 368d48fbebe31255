// What a shard remembers of a key beside its entries. See key_record.hpp.
#include <algorithm>

#include "shard.hpp"
#include "shard_walk.hpp"

namespace weir::store {

void Shard::announce_vary(std::string_view key, std::uint64_t hash, std::vector<std::string> const& names,
                          base::SteadyTime until) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  if (until <= seen_ || names.empty()) return;
  KeyRecord* const record = find_or_make_record(key, hash);
  if (record == nullptr) return;  // no memory: those who join by the primary key are sent on when the head comes
  auto const before = record->footprint();
  record->announce(names, until, seen_);
  auto const after = record->footprint();
  records_.reweigh(before, after);
  budget_.account.add(after);
  budget_.account.subtract(before);
  bound_records(*record, released);
}

void Shard::remember_failure(std::string_view key, std::uint64_t hash, Failed failed, base::SteadyTime until,
                             base::Now now) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  see(now);
  if (until <= now.steady) return;
  KeyRecord* const record = find_or_make_record(key, hash);
  if (record == nullptr) return;  // no memory: the next request asks the origin again
  record->failed = failed;
  record->failed_until = until;
  bound_records(*record, released);
}

std::size_t Shard::invalidate(std::string_view key, std::uint64_t hash, cache::Invalidation mode, std::uint64_t number,
                              base::SteadyTime record_until, base::Now now) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  see(now);
  if (mode == cache::Invalidation::none) return 0;
  std::size_t hit = 0;
  bool overrules_some = false;
  KeyRecord* record = nullptr;
  for_each(
      key, hash,
      [&](cache::StoredResponse const& entry) {
        if (entry.hook.keep_until <= now.steady) return expire(entry, released);
        if (entry.facts().purge_number >= number) return;
        ++hit;
        if (mode == cache::Invalidation::hard)
          drop(entry, released);
        else
          overrules_some = true;
      },
      [&](KeyRecord& of_key) { record = &of_key; });

  if (record == nullptr) {
    if (!overrules_some && record_until <= now.steady) return hit;
    record = find_or_make_record(key, hash);
    if (record == nullptr) {
      forget_safely(key, hash, number, record_until, released);
      return hit;
    }
  }
  record->marker_until = record->failed_until = {};
  record->remember_until = std::max(record->remember_until, record_until);
  record->add(mode, number, now.steady);
  bound_records(*record, released);
  return hit;
}

Variants Shard::variants(std::string_view key, std::uint64_t hash, base::Now now) const {
  Variants found;
  std::lock_guard const lock(mutex_);
  KeyRecord const* record = nullptr;
  for_each(
      key, hash,
      [&](cache::StoredResponse const& entry) {
        if (entry.hook.keep_until > now.steady) found.entries.push_back({cache::Entry(&entry), {}, entry.hook.keep_until});
      },
      [&](KeyRecord const& of_key) { record = &of_key; });
  if (record == nullptr) return found;
  for (auto& variant : found.entries) variant.overrule = record->overrule(variant.entry->facts().purge_number);
  found.marked_until = record->marker_until;
  found.failed_until = record->failed_until;
  found.failed = record->failed;
  return found;
}

KeyRecord* Shard::find_record(std::string_view key, std::uint64_t hash) noexcept {
  KeyRecord* found = nullptr;
  for_each(
      key, hash, [](cache::StoredResponse const&) {}, [&](KeyRecord& record) { found = &record; });
  return found;
}

KeyRecord* Shard::find_or_make_record(std::string_view key, std::uint64_t hash) noexcept {
  KeyRecord* record = find_record(key, hash);
  if (record != nullptr) {  // to the end of the line: it is of use again
    records_.remove(record->hook, record->footprint());
    records_.push_back(record->hook, record->footprint());
    return record;
  }
  record = KeyRecord::make(key, hash);
  if (record == nullptr) return nullptr;
  records_.push_back(record->hook, record->footprint());
  insert_into_index(record->hook);
  budget_.account.add(record->footprint());
  return record;
}

void Shard::drop_record(KeyRecord& record) noexcept {
  auto const bytes = record.footprint();
  records_.remove(record.hook, bytes);
  index_.remove(record.hook);
  budget_.account.subtract(bytes);
  KeyRecord::destroy(&record);
}

void Shard::bound_records(KeyRecord const& except, Released& released) noexcept {
  auto const bound = std::max(least_record_bytes, budget_.max_bytes / record_share / shard_count);
  while (records_.bytes() > bound && &records_.front() != &except.hook) {
    auto& oldest = KeyRecord::of(records_.front());
    forget_safely(oldest.key(), oldest.hook.hash, oldest.highest(), oldest.remember_until, released);
    drop_record(oldest);
  }
}

bool Shard::is_idle(KeyRecord& record, base::SteadyTime now) noexcept {
  if (!record.idle(now)) return false;
  bool overrules_some = false;
  for_each(
      record.key(), record.hook.hash,
      [&](cache::StoredResponse const& entry) { overrules_some |= record.overrules(entry.facts().purge_number); },
      [](KeyRecord const&) {});
  return !overrules_some;
}

void Shard::forget_safely(std::string_view key, std::uint64_t hash, std::uint64_t number, base::SteadyTime until,
                          Released& released) noexcept {
  for_each(
      key, hash,
      [&](cache::StoredResponse const& entry) {
        if (entry.facts().purge_number < number) drop(entry, released);
      },
      [](KeyRecord const&) {});
  if (until <= seen_ || number == 0) return;
  floor_number_ = std::max(floor_number_, number);
  floor_until_ = std::max(floor_until_, until);
}

}  // namespace weir::store
