// What other nodes are told: what was stored, marked, invalidated and purged here.
#include <algorithm>
#include <array>
#include <optional>

#include <boost/asio/post.hpp>

#include "valkey_impl.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/vary.hpp"

namespace weir::store {
namespace {

using std::chrono::milliseconds;

// Beyond this, what the server was not told becomes one purge of all (VAL-3): too much, never too little.
constexpr std::size_t most_untold = 10'000;
// One epoch number is for at most so many tags, so that a page of epochs never ends inside of one.
constexpr std::size_t most_tags = 5'000;
// Keys and tags that are told in one round trip, some ms of the server's time; of one purge all its tags.
constexpr std::size_t most_at_once = 500;

std::string joined(std::vector<std::string> const& names) {
  std::string all;
  for (auto const& name : names) all.append(all.empty() ? "" : " ").append(name);
  return all;
}

std::string hex_of(cache::Tag tag) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((tag >> (56 - 8 * i)) & 0xFFU);
  return base::to_hex({bytes.data(), bytes.size()});
}

}  // namespace

// STO-6, KEY-6: one step in the server decides, whoever else stores at the same time.
asio::awaitable<void> ValkeyStore::share(cache::Entry entry, base::SteadyTime keep_until, std::uint32_t max_variants,
                                         std::uint16_t worker) {
  auto& impl = *impl_;
  auto const now = base::Clock::now();
  auto const moment = impl.clock.moment();
  if (impl.workers.empty() || entry->body().size() > impl.rules.max_object || keep_until - now < milliseconds(1)) co_return;
  if (moment.there == 0 || impl.has_untold()) co_return impl.count(StoreOperation::put);
  auto const key = impl.key_name(entry->key());
  auto const variant = Impl::variant_of(entry->selector());
  auto const identity = identity_of(*entry, moment);
  auto const record = encode(*entry, keep_until, moment);
  std::vector<std::string> names;
  if (!entry->selector().empty()) names = cache::selector_names(entry->selector());
  Commands commands;
  auto const url = cache::url_part(entry->key());
  auto const record_at = Impl::record_name(key, variant), url_at = impl.key_name(url), counter = impl.name("number");
  auto const number = std::to_string(identity.purge_number), time = std::to_string(identity.request_time);
  auto const life = std::to_string(std::chrono::floor<milliseconds>(keep_until - now).count());
  auto const of_vary = joined(names), most = std::to_string(max_variants);
  bool const keyed = url.size() != entry->key().size();
  std::vector<std::string_view> words{"EVALSHA", put_script.sha1, keyed ? "4" : "3", key, record_at, counter};
  if (keyed) words.push_back(url_at);
  words.insert(words.end(), {number, time, record, life, variant, of_vary, most});
  commands.add(words);
  auto const limit = impl.limit_for(record.size());
  co_await impl.ask(impl.links(worker).writes, std::move(commands), limit, StoreOperation::put);
}

void ValkeyStore::mark_hit_for_miss(std::string_view key, std::uint64_t hash, base::SteadyTime until,
                                    base::Now now) noexcept {
  auto& impl = *impl_;
  impl.near.mark_hit_for_miss(key, hash, until, now);
  auto const moment = impl.clock.moment();
  if (impl.workers.empty() || until <= now.steady || moment.there == 0 || impl.guard.is_open(now.steady)) return;
  try {
    auto const& worker = impl.links(static_cast<std::uint16_t>(hash));
    auto const tell = [](Impl& to, std::shared_ptr<ValkeyLink> link, std::string name,
                         std::string end) -> asio::awaitable<void> {
      Commands commands;
      commands.add({"EVALSHA", mark_script.sha1, "1", name, end});
      co_await to.ask(std::move(link), std::move(commands), to.rules.timeout, StoreOperation::mark);
    };
    auto const end = std::to_string(to_there(moment, until) / 1000);
    impl.spawn(*worker.io, tell(impl, worker.writes, impl.key_name(key), end), StoreOperation::mark);
  } catch (std::bad_alloc const&) { impl.count(StoreOperation::mark); }
}

// SRV-6. Held back by the server, the answer waits no longer than one question may take.
asio::awaitable<std::uint64_t> ValkeyStore::share_invalidation(std::vector<std::string> keys, cache::Invalidation mode,
                                                               std::uint64_t number, std::uint16_t worker) {
  auto& impl = *impl_;
  if (keys.empty() || impl.workers.empty()) co_return number;
  Impl::Untold untold;
  untold.mode = mode;
  for (auto const& key : keys) untold.keys.push_back(impl.key_name(key));
  std::vector<Reply> replies;
  if (!impl.has_untold()) {
    Commands commands;
    impl.tell(untold, commands);
    replies =
        co_await impl.ask(impl.links(worker).writes, std::move(commands), impl.rules.timeout, StoreOperation::invalidate);
  }
  if (replies.empty()) {
    impl.remember(std::move(untold));
    co_return number;
  }
  for (auto const& reply : replies) number = std::max(number, reply.counter());
  impl.heard_of(number);
  co_return number;
}

void ValkeyStore::share_purge(std::vector<cache::Tag> tags, cache::Invalidation mode, std::uint64_t) noexcept {
  auto& impl = *impl_;
  if (impl.workers.empty()) return;
  for (std::size_t at = 0; at < tags.size(); at += most_tags) {
    std::optional<Impl::Untold> untold;
    try {
      auto const from = tags.begin() + static_cast<std::ptrdiff_t>(at);
      auto const end = from + static_cast<std::ptrdiff_t>(std::min(most_tags, tags.size() - at));
      untold = Impl::Untold{{}, {from, end}, mode};
    } catch (std::bad_alloc const&) { impl.count(StoreOperation::purge); }
    impl.remember(std::move(untold));
  }
}

// Nothing: what there was no memory for.
void ValkeyStore::Impl::remember(std::optional<Untold> what) noexcept {
  {
    std::lock_guard const lock(untold_mutex);
    try {
      if (!what || untold.size() >= most_untold)
        tell_everything();
      else
        untold.push_back(std::move(*what));
    } catch (std::bad_alloc const&) { tell_everything(); }
    untold_count.store(untold.size(), std::memory_order_release);
  }
  try {
    asio::post(*workers.front().io, [this] { look_now(); });
  } catch (std::bad_alloc const&) {
    count(StoreOperation::purge);  // the next look comes soon
  }
}

// Too much is purged rather than too little.
void ValkeyStore::Impl::tell_everything() noexcept {
  ++untold_collapsed;
  if (everything.empty()) everything.splice(everything.end(), untold, untold.begin());
  untold.clear();
  untold.splice(untold.end(), everything);
}

// One reply for each key, or one for all tags.
void ValkeyStore::Impl::tell(Untold const& what, Commands& commands) const {
  auto const known = std::to_string(purges.current());
  auto const mode = std::to_string(static_cast<int>(what.mode));
  auto const life = std::to_string(std::chrono::ceil<milliseconds>(remember_invalidations.load()).count());
  for (auto const& key : what.keys)
    commands.add({"EVALSHA", invalidate_script.sha1, "2", name("number"), key, known, mode, life});
  if (what.tags.empty()) return;
  std::vector<std::string> const keys{name("number"), name("epoch"), name("epochs"), name("floor"), name("times")};
  auto const most = std::to_string(rules.max_epochs);
  auto const channel = name("news");
  std::vector<std::string> tags;
  for (auto const tag : what.tags) tags.push_back(hex_of(tag));
  std::vector<std::string_view> words{"EVALSHA", purge_script.sha1, "5"};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), {known, mode, most, channel});
  words.insert(words.end(), tags.begin(), tags.end());
  commands.add(words);
}

// A purge holds here under a number of this node's own; under the real one it holds for what was fetched elsewhere too.
// While the server was away such numbers ran ahead of its counter: what was fetched here under them may be older than what
// other nodes have purged since under a lower one, and is validated.
void ValkeyStore::Impl::apply_told(std::vector<Untold> const& told, std::vector<Reply> const& replies) {
  auto reply = replies.begin();
  for (auto const& what : told) {
    std::uint64_t number = 0;
    for (auto left = what.tags.empty() ? what.keys.size() : 1; left > 0; --left)
      number = std::max(number, (reply++)->counter());
    heard_of(number);
    if (!what.tags.empty()) epochs.add(what.tags, what.mode, number, base::Clock::now());
  }
  auto const all = cache::tag_of_all();
  if (!reachable.load(std::memory_order_acquire))
    epochs.add({&all, 1}, cache::Invalidation::invalid, purges.current(), base::Clock::now());
}

// What is told next. `collapsed`: how often all had become one purge by then.
std::vector<ValkeyStore::Impl::Untold> ValkeyStore::Impl::oldest_untold(std::uint64_t& collapsed) {
  std::lock_guard const lock(untold_mutex);
  collapsed = untold_collapsed;
  std::vector<Untold> oldest;
  std::size_t size = 0;
  for (auto const& what : untold) {
    size += what.keys.size() + what.tags.size();
    if (!oldest.empty() && size > most_at_once) break;
    oldest.push_back(what);
  }
  return oldest;
}

// Nothing of it, if all has become one purge meanwhile: that stands for more than was told.
void ValkeyStore::Impl::forget_told(std::size_t count, std::uint64_t collapsed) {
  std::lock_guard const lock(untold_mutex);
  if (collapsed != untold_collapsed) return;
  for (; count > 0; --count) {
    bool const is_everything = everything.empty();
    if (is_everything) everything.splice(everything.end(), untold, untold.begin());
    if (!is_everything) untold.pop_front();
  }
  untold_count.store(untold.size(), std::memory_order_release);
}

// On the first worker: in order, many in one round trip, as long as the server answers. False: not all.
asio::awaitable<bool> ValkeyStore::Impl::flush() {
  while (has_untold()) {
    std::uint64_t collapsed = 0;
    auto const told = oldest_untold(collapsed);
    Commands commands;
    for (auto const& what : told) tell(what, commands);
    auto const limit = limit_for(commands.bytes.size());
    auto const replies = co_await ask(control, std::move(commands), limit,
                                      told.front().tags.empty() ? StoreOperation::invalidate : StoreOperation::purge);
    if (replies.empty()) co_return false;
    apply_told(told, replies);
    forget_told(told.size(), collapsed);
  }
  co_return true;
}

}  // namespace weir::store
