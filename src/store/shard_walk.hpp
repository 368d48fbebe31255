// The one walk over what stands under a primary key (KEY-1: the whole key is compared, never a hash alone).
#pragma once

#include "shard.hpp"

namespace weir::store {

template <class OnEntry, class OnRecord>
void Shard::for_each(std::string_view key, std::uint64_t hash, OnEntry&& on_entry, OnRecord&& on_record) const {
  for (Hook *hook = index_.first(hash), *next = nullptr; hook != nullptr; hook = next) {
    next = hook->next;
    if (hook->hash != hash) continue;
    if (place_of(*hook) == Place::record) {
      auto& record = KeyRecord::of(*hook);
      if (record.key() == key) on_record(record);
    } else {
      auto const& entry = entry_of(*hook);
      if (entry.key() == key) on_entry(entry);
    }
  }
}

}  // namespace weir::store
