#include "weir/observe/hot_keys.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "weir/cache/key.hpp"

namespace weir::observe {
namespace {

void sort(std::vector<HotKey>& keys) {
  std::sort(keys.begin(), keys.end(),
            [](HotKey const& a, HotKey const& b) { return a.count != b.count ? a.count > b.count : a.key < b.key; });
}

}  // namespace

std::size_t Hottest::place_of(std::uint64_t hash) const noexcept {
  auto const* const begin = marks_.data();
  auto const* const end = begin + size_;
  auto const mark = static_cast<std::uint8_t>(hash);
  for (auto const* at = begin; at != end; ++at) {
    at = static_cast<std::uint8_t const*>(std::memchr(at, mark, static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    auto const place = static_cast<std::size_t>(at - begin);
    if (hashes_[place] == hash) return place;
  }
  return hot_key_count;
}

// Of a full table. A look at all counts serves until each that was the least has grown or gone.
std::size_t Hottest::place_of_least() noexcept {
  for (;;) {
    for (; least_at_ < hot_key_count; ++least_at_)
      if (counts_[least_at_] == least_) return least_at_;
    least_ = *std::min_element(counts_.begin(), counts_.end());
    least_at_ = 0;
  }
}

void Hottest::count(std::string_view key, std::uint64_t hash, std::uint64_t weight) {
  if (auto const found = place_of(hash); found != hot_key_count) {
    counts_[found] += weight;
    return;
  }
  bool const full = size_ == hot_key_count;
  auto const place = full ? place_of_least() : size_;
  std::uint64_t const before = full ? counts_[place] : 0;
  keys_[place].assign(key.substr(0, hot_key_bytes));  // first: without memory nothing has changed
  size_ = std::max(size_, place + 1);
  hashes_[place] = hash;
  marks_[place] = static_cast<std::uint8_t>(hash);
  counts_[place] = before + weight;
  errors_[place] = before;
}

std::vector<HotKey> Hottest::all() const {
  std::vector<HotKey> keys;
  for (std::size_t i = 0; i < size_; ++i) keys.push_back({keys_[i], counts_[i], errors_[i]});
  sort(keys);
  return keys;
}

void HotKeys::count(Outcome outcome, std::string_view key, std::uint64_t hash) noexcept try {
  bool const hit = outcome == Outcome::hit || outcome == Outcome::stale;
  bool const miss = outcome == Outcome::miss || outcome == Outcome::pass || outcome == Outcome::error;
  if (hit && ++hits_ % hit_sample != 0) return;
  std::uint64_t const weight = hit ? hit_sample : 1;
  auto const path = miss ? cache::partition_of(key) : std::string();
  std::lock_guard const lock(mutex_);
  requests_ += weight;
  hottest_[static_cast<std::size_t>(Hot::requests)].count(key, hash, weight);
  if (outcome == Outcome::collapsed) hottest_[static_cast<std::size_t>(Hot::collapsed)].count(key, hash, 1);
  if (!miss) return;
  ++misses_;
  hottest_[static_cast<std::size_t>(Hot::misses)].count(key, hash, 1);
  missed_paths_.count(path, std::hash<std::string>{}(path), 1);
} catch (std::bad_alloc const&) {
  return;  // an estimate that is one short
}

std::vector<HotKey> HotKeys::hottest(Hot what) const {
  std::lock_guard const lock(mutex_);
  return hottest_[static_cast<std::size_t>(what)].all();
}

HotKeys::Window HotKeys::end_window() {
  std::lock_guard const lock(mutex_);
  Window window{requests_, misses_, missed_paths_.all()};
  requests_ = misses_ = 0;
  missed_paths_.clear();
  return window;
}

std::vector<HotKey> merged(std::vector<std::vector<HotKey>> const& lists, std::size_t most) {
  std::unordered_map<std::string, HotKey> by_key;
  for (auto const& list : lists) {
    for (auto const& one : list) {
      auto& sum = by_key[one.key];
      sum.key = one.key;
      sum.count += one.count;
      sum.error += one.error;
    }
  }
  std::vector<HotKey> keys;
  for (auto& [_, key] : by_key) keys.push_back(std::move(key));
  sort(keys);
  if (keys.size() > most) keys.resize(most);
  return keys;
}

}  // namespace weir::observe
