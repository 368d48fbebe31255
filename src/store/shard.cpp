#include "shard.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "shard_walk.hpp"
#include "weir/base/assert.hpp"
#include "weir/cache/vary.hpp"

namespace weir::store {
namespace {

constexpr std::uint8_t max_frequency = 3;
// A new entry that was used this often while in the small queue moves to the main one instead of leaving.
constexpr std::uint8_t promoting_frequency = 2;
// Second chances given for one victim, so that one hold of the mutex is short; after them the next in line goes.
constexpr std::size_t max_second_chances = 256;

bool fits(cache::StoredResponse const& entry, Question const& question) noexcept {
  if (entry.selector().empty()) return true;
  if (question.rules == nullptr) return false;
  try {
    return cache::selects(question.request, entry.selector(), *question.rules);
  } catch (std::bad_alloc const&) {
    return false;  // what could not be compared is not used
  }
}

// Whether it answers without the origin: then no marker stands beside it.
bool is_live(cache::StoredResponse const& entry, cache::Overrule const& overrule, base::SteadyTime now) noexcept {
  auto const& facts = entry.facts();
  return overrule.mode == cache::Invalidation::none && !facts.no_cache && cache::current_age(facts, now) < facts.lifetime;
}

void count_use(Hook& hook) noexcept {
  auto const frequency = hook.frequency.load(std::memory_order_relaxed);
  if (frequency < max_frequency) hook.frequency.store(frequency + 1, std::memory_order_relaxed);
}

// What goes with an entry: itself and, for a refresh, the one that owns the body.
std::size_t weight(cache::StoredResponse const& entry) noexcept {
  auto const* const owner = entry.body_owner();
  return entry.footprint() + (owner != &entry ? owner->footprint() : 0);
}

}  // namespace

Shard::Shard(Budget& budget) noexcept : budget_(budget) {}

Shard::~Shard() {
  for (Fifo* queue : {&small_, &main_}) {
    while (!queue->empty()) {
      Released released;
      drop(entry_of(queue->front()), released);
    }
  }
  while (!records_.empty()) drop_record(KeyRecord::of(records_.front()));
  budget_.account.subtract(index_.footprint());
}

Lookup Shard::peek(Question const& question, base::Now now) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  see(now);
  Lookup found;
  cache::StoredResponse const* best = nullptr;
  KeyRecord* record = nullptr;
  for_each(
      question.key, question.hash,
      [&](cache::StoredResponse const& entry) {
        if (entry.hook.keep_until <= now.steady) return expire(entry, released);
        found.has_vary_spec |= !entry.selector().empty();
        if (fits(entry, question) && (best == nullptr || best->facts().began < entry.facts().began)) best = &entry;
      },
      [&](KeyRecord& of_key) { record = &of_key; });

  if (best != nullptr) {
    if (!question.looks_only) {
      count_use(best->hook);
      if (found.has_vary_spec) index_.move_to_front(best->hook);
    }
    found.entry = best;
  }
  if (record != nullptr) {
    if (best != nullptr) found.overrule = record->overrule(best->facts().purge_number);
    found.has_vary_spec |= record->announces(now.steady);
    if (best == nullptr && record->fails(now.steady)) found.failed = record->failed;
    found.hit_for_miss = record->marks(now.steady) && (best == nullptr || !is_live(*best, found.overrule, now.steady));
  }
  return found;
}

std::vector<std::string> Shard::vary_spec(std::string_view key, std::uint64_t hash) {
  std::vector<std::string> names;
  std::lock_guard const lock(mutex_);
  auto const add = [&](std::vector<std::string> const& more) { names.insert(names.end(), more.begin(), more.end()); };
  for_each(
      key, hash,
      [&](cache::StoredResponse const& entry) {
        if (entry.hook.keep_until > seen_ && !entry.selector().empty()) add(cache::selector_names(entry.selector()));
      },
      [&](KeyRecord const& record) {
        if (record.announces(seen_)) add(record.names());
      });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Put Shard::admit(cache::StoredResponse const& entry, std::uint64_t hash, base::Now now) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  see(now);
  return judge(entry, hash, now, released).put;
}

Shard::Judged Shard::judge(cache::StoredResponse const& entry, std::uint64_t hash, base::Now now,
                           Released& released) noexcept {
  auto const& facts = entry.facts();
  Judged judged;
  for_each(
      entry.key(), hash,
      [&](cache::StoredResponse const& other) {
        if (other.hook.keep_until <= now.steady) return expire(other, released);
        if (other.selector() == entry.selector()) judged.same = &other;
      },
      [&](KeyRecord& of_key) { judged.record = &of_key; });
  bool const overruled = (judged.record != nullptr && judged.record->overrules(facts.purge_number)) ||
                         (facts.purge_number < floor_number_ && now.steady < floor_until_);
  if (overruled)
    judged.put = Put::overruled;
  else if (judged.same == nullptr || judged.same->facts().began < facts.began)
    judged.put = Put::stored;
  return judged;
}

Put Shard::put(cache::Entry entry, std::uint64_t hash, base::SteadyTime keep_until, std::uint32_t max_variants,
               base::Now now) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  see(now);
  auto const [verdict, same, record] = judge(*entry, hash, now, released);
  if (verdict != Put::stored) return verdict;

  WEIR_ASSERT(place_of(entry->hook) == Place::none);
  entry->hook.hash = hash;
  entry->hook.keep_until = keep_until;
  if (same != nullptr) {
    // What takes a place takes its merits too: a refresh of a hot entry is hot.
    auto const place = place_of(same->hook);
    auto const frequency = same->hook.frequency.load(std::memory_order_relaxed);
    drop(*same, released);
    link(entry, place, frequency);
  } else {
    link(entry, index_.take_ghost(hash) ? Place::main : Place::small, 0);
  }
  if (record != nullptr) record->marker_until = record->failed_until = {};

  std::uint32_t variants = 0;
  for_each(
      entry->key(), hash,
      [&](cache::StoredResponse const& other) {
        if (++variants > std::max(max_variants, 1U)) drop(other, released);
      },
      [](KeyRecord const&) {});
  return Put::stored;
}

void Shard::mark_hit_for_miss(std::string_view key, std::uint64_t hash, base::SteadyTime until, base::Now now) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  see(now);
  if (until <= now.steady) return;
  KeyRecord* record = find_record(key, hash);
  bool live = false;
  for_each(
      key, hash,
      [&](cache::StoredResponse const& entry) {
        if (entry.hook.keep_until <= now.steady) return expire(entry, released);
        auto const overrule = record != nullptr ? record->overrule(entry.facts().purge_number) : cache::Overrule{};
        live |= is_live(entry, overrule, now.steady);
      },
      [](KeyRecord const&) {});
  if (live) return;
  record = find_or_make_record(key, hash);
  if (record == nullptr) return;  // no memory: without a marker requests queue for each other once, and no more
  record->marker_until = until;
  bound_records(*record, released);
}

bool Shard::evict(bool spares_main) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  Hook* const victim = next_victim(spares_main);
  if (victim == nullptr) return false;
  if (place_of(*victim) == Place::main) {
    ++evicted_main_;
  } else {
    ++evicted_small_;
    index_.remember_ghost(victim->hash);
  }
  drop(entry_of(*victim), released);
  return true;
}

Hook* Shard::next_victim(bool spares_main) noexcept {
  for (std::size_t chances = 0; !small_.empty() || !main_.empty(); ++chances) {
    bool const small_is_due = budget_.small_is_due();
    if (small_.empty() && small_is_due && spares_main) return nullptr;
    bool const from_small = !small_.empty() && (main_.empty() || small_is_due);
    Hook& next = from_small ? small_.front() : main_.front();
    auto const frequency = next.frequency.load(std::memory_order_relaxed);
    bool const stays = from_small ? frequency >= promoting_frequency : frequency > 0;
    if (!stays || chances == max_second_chances) return &next;
    auto const bytes = weight(entry_of(next));
    queue_of(next).remove(next, bytes);
    main_.push_back(next, bytes);
    if (from_small) budget_.in_small.fetch_sub(bytes, std::memory_order_relaxed);
    next.frequency.store(from_small ? 0 : frequency - 1, std::memory_order_relaxed);
  }
  return nullptr;
}

Shard::Swept Shard::sweep(base::Now now, std::size_t max_nodes) noexcept {
  Released released;
  std::lock_guard const lock(mutex_);
  see(now);
  Swept swept;
  while (sweep_bucket_ < index_.bucket_count()) {
    if (swept.looked_at >= max_nodes || released.full()) return swept;
    ++swept.looked_at;
    for (Hook *hook = index_.bucket(sweep_bucket_++), *next = nullptr; hook != nullptr; hook = next) {
      next = hook->next;
      ++swept.looked_at;
      if (place_of(*hook) == Place::record) {
        if (!is_idle(KeyRecord::of(*hook), now.steady)) continue;
        drop_record(KeyRecord::of(*hook));
      } else {
        if (hook->keep_until > now.steady) continue;
        expire(entry_of(*hook), released);
      }
      ++swept.dropped;
    }
  }
  sweep_bucket_ = 0;
  swept.finished = true;
  return swept;
}

std::vector<cache::Entry> Shard::entries() const {
  std::lock_guard const lock(mutex_);
  std::vector<cache::Entry> entries;
  entries.reserve(small_.size() + main_.size());
  for (auto const* queue : {&small_, &main_})
    for (Hook* hook = queue->empty() ? nullptr : &queue->front(); hook != nullptr; hook = hook->queue_next)
      entries.emplace_back(&entry_of(*hook));
  return entries;
}

std::vector<Kept> Shard::kept() {
  std::lock_guard const lock(mutex_);
  std::vector<Kept> kept;
  kept.reserve(small_.size() + main_.size());
  for (auto const* queue : {&small_, &main_}) {
    for (Hook* hook = queue->empty() ? nullptr : &queue->front(); hook != nullptr; hook = hook->queue_next) {
      auto const& entry = entry_of(*hook);
      auto const* const record = find_record(entry.key(), hook->hash);
      auto const overrule = record != nullptr ? record->overrule(entry.facts().purge_number) : cache::Overrule{};
      kept.push_back({cache::Entry(&entry), hook->keep_until, overrule});
    }
  }
  return kept;
}

void Shard::add_to(StoreStats& stats) const noexcept {
  std::lock_guard const lock(mutex_);
  stats.entries += small_.size() + main_.size();
  stats.evicted_small += evicted_small_;
  stats.evicted_main += evicted_main_;
  stats.expired += expired_;
}

void Shard::link(cache::Entry entry, Place place, std::uint8_t frequency) noexcept {
  cache::StoredResponse const& linked = *entry.detach();
  auto const bytes = weight(linked);
  linked.hook.frequency.store(frequency, std::memory_order_relaxed);
  (place == Place::main ? main_ : small_).push_back(linked.hook, bytes);
  insert_into_index(linked.hook);
  budget_.evictable.fetch_add(bytes, std::memory_order_relaxed);
  if (place == Place::small) budget_.in_small.fetch_add(bytes, std::memory_order_relaxed);
}

void Shard::drop(cache::StoredResponse const& entry, Released& released) noexcept {
  auto const bytes = weight(entry);
  if (place_of(entry.hook) == Place::small) budget_.in_small.fetch_sub(bytes, std::memory_order_relaxed);
  queue_of(entry.hook).remove(entry.hook, bytes);
  index_.remove(entry.hook);
  budget_.evictable.fetch_sub(bytes, std::memory_order_relaxed);
  released.add(entry);
}

void Shard::expire(cache::StoredResponse const& entry, Released& released) noexcept {
  ++expired_;
  drop(entry, released);
}

void Shard::insert_into_index(Hook& hook) noexcept {
  auto const before = index_.footprint();
  index_.insert(hook);
  auto const after = index_.footprint();
  if (after != before) budget_.account.add(after - before);
}

void Shard::see(base::Now now) noexcept { seen_ = std::max(seen_, now.steady); }

}  // namespace weir::store
