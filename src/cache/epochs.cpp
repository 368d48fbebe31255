#include "weir/cache/epochs.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "weir/http/structured.hpp"

namespace weir::cache {
namespace {

// FNV-1a, mixed at the end: grows byte by byte, so that all prefixes of a path cost one pass. The same on every node.
class TagHash {
 public:
  explicit TagHash(char kind) noexcept { add({&kind, 1}); }
  TagHash& add(std::string_view bytes) noexcept {
    for (unsigned char const byte : bytes) state_ = (state_ ^ byte) * 0x100000001B3U;
    return *this;
  }
  // A part that may be followed by others: no two lists of parts are the same bytes.
  TagHash& part(std::string_view bytes) noexcept {
    auto size = bytes.size();
    for (int i = 0; i < 8; ++i, size >>= 8U) {
      char const byte = static_cast<char>(size & 0xFFU);
      add({&byte, 1});
    }
    return add(bytes);
  }
  Tag value() const noexcept {
    auto mixed = state_;
    mixed = (mixed ^ (mixed >> 33U)) * 0xFF51AFD7ED558CCDU;
    mixed = (mixed ^ (mixed >> 33U)) * 0xC4CEB9FE1A85EC53U;
    return mixed ^ (mixed >> 33U);
  }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

TagHash prefix_hash(Scope scope, std::string_view name) noexcept {
  return TagHash(scope == Scope::site ? 'P' : 'p').part(name);
}

template <class Visit>
void for_each_word(std::string_view text, std::string_view separators, Visit&& visit) {
  while (!text.empty()) {
    auto const end = std::min(text.find_first_of(separators), text.size());
    if (auto const word = http::trim(text.substr(0, end)); !word.empty()) visit(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The strings of a List; a field that does not parse names no group.
template <class Visit>
void for_each_group(http::Fields response, http::FieldId id, Visit&& visit) {
  std::string text;
  if (!response.append_combined(id, text)) return;
  auto const list = http::parse_sf_list(text);
  if (!list) return;
  for (auto const& member : *list)
    if (auto const* const group = std::get_if<std::string>(&member.item.value); group && !member.is_inner_list)
      visit(std::string_view(*group));
}

}  // namespace

Tag tag_of_all() noexcept { return TagHash('a').value(); }

Tag tag_of_site(std::string_view site) noexcept { return TagHash('s').part(site).value(); }

Tag tag_of_url(Scope scope, std::string_view name, std::string_view path, std::string_view query, bool has_query) noexcept {
  TagHash hash(scope == Scope::site ? 'U' : 'u');
  hash.part(name).part(path);
  if (has_query) hash.add("?").add(query);
  return hash.value();
}

Tag tag_of_prefix(Scope scope, std::string_view name, std::string_view prefix) noexcept {
  return prefix_hash(scope, name).add(prefix).value();
}

Tag tag_of_name(std::string_view site, std::string_view name) noexcept { return TagHash('t').part(site).add(name).value(); }

Tag tag_of_group(std::string_view scheme, std::string_view authority, std::string_view group) noexcept {
  return TagHash('g').part(scheme).part(authority).add(group).value();
}

std::vector<Tag> tags_of(http::Fields response, std::string_view site, std::string_view scheme, std::string_view authority) {
  std::vector<Tag> tags;
  for (auto const& field : response) {
    auto const add = [&](std::string_view name) { tags.push_back(tag_of_name(site, name)); };
    if (field.id == http::FieldId::surrogate_key) for_each_word(field.value, " \t", add);
    if (field.id == http::FieldId::cache_tag) for_each_word(field.value, ",", add);
  }
  for_each_group(response, http::FieldId::cache_groups, [&](std::string_view group) {
    tags.push_back(tag_of_name(site, group));
    tags.push_back(tag_of_group(scheme, authority, group));
  });
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return tags;
}

std::vector<Tag> invalidated_groups(http::Fields response, std::string_view scheme, std::string_view authority) {
  std::vector<Tag> tags;
  for_each_group(response, http::FieldId::cache_group_invalidation,
                 [&](std::string_view group) { tags.push_back(tag_of_group(scheme, authority, group)); });
  return tags;
}

void Epochs::Epoch::add(Invalidation mode, std::uint64_t number, base::SteadyTime at) noexcept {
  if (number > last)
    last_but_one = std::exchange(last, number);
  else if (number < last)
    last_but_one = std::max(last_but_one, number);
  switch (mode) {
    case Invalidation::hard:
      hard = std::max(hard, number);
      break;
    case Invalidation::invalid:
      invalid = std::max(invalid, number);
      break;
    case Invalidation::soft:
      if (first_soft == 0 || number < first_soft) {
        first_soft = number;
        first_soft_at = at;
      }
      if (number > soft) {
        soft = number;
        soft_at = at;
      }
      break;
    case Invalidation::none:
      break;
  }
}

void Epochs::Epoch::fold_into(Epoch& floor) const noexcept {
  floor.add(Invalidation::hard, hard, {});
  floor.add(Invalidation::invalid, invalid, {});
  if (first_soft == 0) return;
  floor.add(Invalidation::soft, first_soft, first_soft_at);
  floor.add(Invalidation::soft, soft, soft_at);
}

Overrule Epochs::Epoch::overrule(std::uint64_t began) const noexcept {
  if (began < hard) return {Invalidation::hard, {}};
  if (began < invalid) return {Invalidation::invalid, {}};
  if (began < first_soft) return {Invalidation::soft, first_soft_at};
  if (began < soft) return {Invalidation::soft, soft_at};
  return {};
}

std::uint64_t Epochs::Epoch::highest() const noexcept { return std::max({hard, invalid, soft}); }

template <class Visit>
void Epochs::visit(Tag tag, Visit&& visit) const {
  if (auto const found = epochs_.find(tag); found != epochs_.end()) visit(found->second);
}

template <class Visit>
void Epochs::for_each_of_key(Place const& place, Visit&& visit_one) const {
  visit_one(floor_);
  visit(tag_of_all(), visit_one);
  visit(tag_of_site(place.site), visit_one);
  for (auto const scope : {Scope::site, Scope::authority}) {
    auto const name = scope == Scope::site ? place.site : place.authority;
    visit(tag_of_url(scope, name, place.path, place.query, place.has_query), visit_one);
    auto prefix = prefix_hash(scope, name);
    for (auto rest = place.path; !rest.empty();) {
      auto const slash = rest.find('/');
      if (slash == std::string_view::npos) break;
      visit(prefix.add(rest.substr(0, slash + 1)).value(), visit_one);
      rest.remove_prefix(slash + 1);
    }
  }
}

void Epochs::add(std::span<Tag const> tags, Invalidation mode, std::uint64_t number, base::SteadyTime at) {
  std::unique_lock const lock(mutex_);
  note(number);  // also of those that come before one for which there is no memory
  for (auto const tag : tags) {
    find_or_make(tag).add(mode, number, at);
    if (epochs_.size() > most_) fold_oldest();
  }
}

void Epochs::note(std::uint64_t number) noexcept {
  number_.store(std::max(number, number_.load(std::memory_order_relaxed)), std::memory_order_release);
  mark_.store(std::max(number, mark_.load(std::memory_order_relaxed) + 1), std::memory_order_release);
}

Epochs::Epoch& Epochs::find_or_make(Tag tag) {
  auto const known = epochs_.find(tag);
  if (known != epochs_.end()) {
    order_.splice(order_.end(), order_, known->second.order);
    return known->second;
  }
  std::list<Tag> place{tag};  // what throws does so before anything is changed
  auto& epoch = epochs_.try_emplace(tag).first->second;
  epoch.order = place.begin();
  order_.splice(order_.end(), place);
  return epoch;
}

std::vector<Epochs::Row> Epochs::rows() const {
  std::shared_lock const lock(mutex_);
  std::vector<Row> rows;
  rows.reserve(order_.size() + 1);
  auto const add = [&rows](Epoch const& epoch, Tag tag, bool is_floor) {
    rows.push_back(
        {is_floor, tag, epoch.hard, epoch.invalid, epoch.soft, epoch.first_soft, epoch.soft_at, epoch.first_soft_at});
  };
  add(floor_, 0, true);
  for (auto const tag : order_) add(epochs_.at(tag), tag, false);
  return rows;
}

void Epochs::restore(Row const& row) {
  Epoch said;
  said.hard = row.hard;
  said.invalid = row.invalid;
  said.soft = row.soft;
  said.first_soft = row.first_soft;
  said.soft_at = row.soft_at;
  said.first_soft_at = row.first_soft_at;
  std::unique_lock const lock(mutex_);
  said.fold_into(row.is_floor ? floor_ : find_or_make(row.tag));
  if (epochs_.size() > most_) fold_oldest();
  note(said.highest());
}

void Epochs::fold_oldest() noexcept {
  auto const oldest = epochs_.find(order_.front());
  oldest->second.fold_into(floor_);
  epochs_.erase(oldest);
  order_.pop_front();
}

Overrule Epochs::overrule(Place const& place, std::span<Tag const> tags, std::uint64_t began) const {
  Overrule said;
  auto const add = [&](Epoch const& epoch) { said = stronger(said, epoch.overrule(began)); };
  std::shared_lock const lock(mutex_);
  for_each_of_key(place, add);
  for (auto const tag : tags) visit(tag, add);
  return said;
}

std::uint64_t Epochs::must_see(Place const& place) const {
  if (number() == 0) return 0;
  std::uint64_t highest = 0;
  std::shared_lock const lock(mutex_);
  for_each_of_key(place, [&](Epoch const& epoch) { highest = std::max(highest, epoch.highest()); });
  return highest;
}

bool Epochs::between(std::span<Tag const> tags, std::uint64_t began, std::uint64_t came) const {
  if (tags.empty() || began >= number()) return false;
  bool found = false;
  // Of two that came after both, nothing tells what was before them.
  auto const look = [&](Epoch const& epoch) {
    found |= began < epoch.last && (epoch.last <= came || began < epoch.last_but_one);
  };
  std::shared_lock const lock(mutex_);
  look(floor_);
  for (auto const tag : tags) visit(tag, look);
  return found;
}

std::size_t Epochs::size() const {
  std::shared_lock const lock(mutex_);
  return epochs_.size();
}

Overrule stronger(Overrule const& a, Overrule const& b) noexcept {
  if (a.mode != b.mode) return a.mode < b.mode ? a : b;
  return {a.mode, std::min(a.at, b.at)};
}

Overrule with_epochs(Overrule const& overrule, Epochs const& epochs, Place const& place, StoredResponse const& entry) {
  auto const mark = epochs.mark();
  if (entry.checked_at() >= mark) return overrule;
  auto const said = epochs.overrule(place, entry.tags(), entry.facts().purge_number);
  if (said.mode == Invalidation::none) entry.set_checked_at(mark);
  return stronger(overrule, said);
}

}  // namespace weir::cache
