// What operators' purges and origins' group invalidations said of many entries at once (PRG-1, PRG-2). An epoch is a purge
// number and a mode under a tag; it overrules entries whose fetch began at a lower number. Nothing is scanned: an entry is
// compared with the epochs when it is found, once for each that was added. Tags are hashes: two that collide purge each
// other, which is never too little. Bounded: beyond `most` tags the oldest is folded into a floor that holds for every
// entry. Owner: the daemon. Threads: any; `number` is one load, the rest takes a mutex.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/http/field.hpp"

namespace weir::cache {

// Where an entry is, as its key tells. A purge names a URL or a prefix under an authority (normalised as in the key, in any
// scheme), or under a site, whatever its authorities.
struct Place {
  std::string_view site;  // name
  std::string_view authority;
  std::string_view path, query;
  bool has_query = false;
};

// What the two halves of a scope are: all authorities of a site, or one authority.
enum class Scope : std::uint8_t { site, authority };

Tag tag_of_all() noexcept;
Tag tag_of_site(std::string_view site) noexcept;
Tag tag_of_url(Scope scope, std::string_view name, std::string_view path, std::string_view query, bool has_query) noexcept;
Tag tag_of_prefix(Scope scope, std::string_view name, std::string_view prefix) noexcept;  // `prefix` ends with '/'
// Of a surrogate tag or a cache group as operators name it: of a site.
Tag tag_of_name(std::string_view site, std::string_view name) noexcept;
// Of a cache group as origins name it: of one URI origin (RFC 9875).
Tag tag_of_group(std::string_view scheme, std::string_view authority, std::string_view group) noexcept;

// The tags that a response has: Surrogate-Key (separated by blanks), Cache-Tag (by commas), Cache-Groups (RFC 9875).
std::vector<Tag> tags_of(http::Fields response, std::string_view site, std::string_view scheme, std::string_view authority);
// The groups of Cache-Group-Invalidation, as tags.
std::vector<Tag> invalidated_groups(http::Fields response, std::string_view scheme, std::string_view authority);

class Epochs {
 public:
  explicit Epochs(std::size_t most) noexcept : most_(most) {}

  // The highest number of an epoch; 0: there was none.
  std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  // At least that, and higher after each word that was added, as they do not come in the order of their numbers. What began
  // at it or above, or was compared since, needs no look.
  std::uint64_t mark() const noexcept { return mark_.load(std::memory_order_acquire); }
  // `number` was taken from PurgeNumber for this. Once it returns, whoever looks sees it.
  void add(std::span<Tag const> tags, Invalidation mode, std::uint64_t number, base::SteadyTime at);

  // The strongest word on an entry there with these tags whose fetch began at `began`.
  Overrule overrule(Place const& place, std::span<Tag const> tags, std::uint64_t began) const;
  // COA-14: the highest number of an epoch that the key tells of, in any mode: a fetch that began below takes nobody now.
  std::uint64_t must_see(Place const& place) const;
  // COA-14: whether an epoch on these tags came after `began`, and not after `came`. Yes also where two came after both:
  // what was before them is not kept.
  bool between(std::span<Tag const> tags, std::uint64_t began, std::uint64_t came) const;

  std::size_t size() const;

  // MEM-2: all that was said, the floor first, then tags from the oldest on, for the next process.
  struct Row {
    bool is_floor = false;
    Tag tag = 0;  // of no meaning for the floor
    std::uint64_t hard = 0, invalid = 0, soft = 0, first_soft = 0;
    base::SteadyTime soft_at{}, first_soft_at{};
  };
  std::vector<Row> rows() const;
  void restore(Row const& row);

 private:
  // All that was said under a tag: the newest of each mode counts, and soft ones tell since when.
  struct Epoch {
    std::uint64_t hard = 0, invalid = 0, soft = 0, first_soft = 0;
    std::uint64_t last = 0, last_but_one = 0;  // of any mode
    base::SteadyTime soft_at{}, first_soft_at{};
    std::list<Tag>::iterator order;

    void add(Invalidation mode, std::uint64_t number, base::SteadyTime at) noexcept;
    void fold_into(Epoch& floor) const noexcept;
    Overrule overrule(std::uint64_t began) const noexcept;
    std::uint64_t highest() const noexcept;
  };

  template <class Visit>
  void for_each_of_key(Place const& place, Visit&& visit) const;  // under the mutex
  template <class Visit>
  void visit(Tag tag, Visit&& visit) const;
  Epoch& find_or_make(Tag tag);
  void fold_oldest() noexcept;
  void note(std::uint64_t number) noexcept;  // under the mutex

  std::size_t most_;
  std::atomic<std::uint64_t> number_{0}, mark_{0};
  mutable std::shared_mutex mutex_;  // guards all below
  std::unordered_map<Tag, Epoch> epochs_;
  std::list<Tag> order_;  // the oldest first
  Epoch floor_;
};

// The stronger of two words on one entry.
Overrule stronger(Overrule const& a, Overrule const& b) noexcept;
// `overrule`, and what the epochs say of `entry`. Notes in the entry that it was compared.
Overrule with_epochs(Overrule const& overrule, Epochs const& epochs, Place const& place, StoredResponse const& entry);

}  // namespace weir::cache
