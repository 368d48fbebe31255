// What is remembered of one primary key beside its entries: a hit-for-miss marker, that the origin failed, what invalidated
// it, and the names of an announced vary spec. Made only when one of them is needed, one allocation and the names. Threads:
// guarded by the shard's mutex.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hook.hpp"
#include "weir/base/clock.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/store/store.hpp"

namespace weir::store {

// A spec grows by announcements while the last one lasts; beyond this the oldest names go. A spec with too few names costs
// a second look-up, never a wrong answer: every variant is compared with the request.
inline constexpr std::size_t max_announced_names = 32;

class KeyRecord {
 public:
  // Null without memory.
  static KeyRecord* make(std::string_view key, std::uint64_t hash) noexcept;
  static void destroy(KeyRecord* record) noexcept;
  static KeyRecord& of(Hook& hook) noexcept;

  std::string_view key() const noexcept { return {reinterpret_cast<char const*>(this + 1), key_size_}; }
  std::size_t footprint() const noexcept;

  // Whether something was said about entries whose fetch began at this number.
  bool overrules(std::uint64_t purge_number) const noexcept { return purge_number < highest_; }
  std::uint64_t highest() const noexcept { return highest_; }
  cache::Overrule overrule(std::uint64_t purge_number) const noexcept;
  void add(cache::Invalidation mode, std::uint64_t number, base::SteadyTime now) noexcept;

  // The names last until the latest `until` given. Without memory the spec stays as it was.
  void announce(std::vector<std::string> const& names, base::SteadyTime until, base::SteadyTime now) noexcept;
  bool announces(base::SteadyTime now) const noexcept { return now < announced_until_; }
  std::vector<std::string> const& names() const noexcept { return names_; }

  bool marks(base::SteadyTime now) const noexcept { return now < marker_until; }
  bool fails(base::SteadyTime now) const noexcept { return now < failed_until; }
  // Nothing in it counts any more, if no entry under the key is overruled by it.
  bool idle(base::SteadyTime now) const noexcept {
    return !marks(now) && !fails(now) && !announces(now) && remember_until <= now;
  }

  Hook hook;
  base::SteadyTime marker_until{};
  base::SteadyTime failed_until{};
  Failed failed;
  base::SteadyTime remember_until{};  // of the invalidation, where nothing is stored

 private:
  struct Invalidated {
    std::uint64_t number = 0;
    base::SteadyTime at{};
  };

  KeyRecord(std::string_view key, std::uint64_t hash) noexcept;
  ~KeyRecord() = default;

  std::uint64_t highest_ = 0;  // of any mode; entries below a hard one are gone
  Invalidated invalid_, soft_;
  base::SteadyTime announced_until_{};
  std::vector<std::string> names_;
  std::size_t key_size_;
};

}  // namespace weir::store
