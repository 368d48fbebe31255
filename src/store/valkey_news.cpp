// What other nodes tell: purges, at once by pub/sub and, as that can be lost, by looking each `look_each` (PRG-1, VAL-2).
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "valkey_impl.hpp"

namespace weir::store {
namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
// Half of what a purge may take to reach a node (VAL-2).
constexpr base::Duration look_each = std::chrono::milliseconds(500);
constexpr base::Duration look_limit = std::chrono::milliseconds(250);
constexpr std::size_t page_size = 10'000;
constexpr std::size_t most_pages = 1'000;  // more epochs than anyone sets: the server makes them up
// Of what epochs_script tells: its head, the modes' floors in it, and a row for each epoch.
constexpr std::size_t page_modes = 3, page_head = 1 + page_modes, page_row = 3;

bool is_page(std::vector<Reply> const& replies) noexcept {
  return replies.size() == 1 && replies[0].size() >= page_head && (replies[0].size() - page_head) % page_row == 0;
}

// Mode and tag, as purge_script's members name them.
std::optional<std::pair<std::size_t, cache::Tag>> read_member(std::string_view member) noexcept {
  auto const digits = member.substr(std::min<std::size_t>(1, member.size()));
  auto const mode = member.empty() ? page_modes : static_cast<std::size_t>(member.front() - '0');
  cache::Tag tag = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), tag, 16);
  if (mode >= page_modes || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return std::pair(mode, tag);
}

}  // namespace

// On the first worker, as long as it runs.
asio::awaitable<void> ValkeyStore::Impl::poll() {
  for (;;) {
    news = false;
    co_await look(std::max(look_limit, rules.timeout));
    if (news) continue;
    poll_timer->expires_after(look_each);
    co_await poll_timer->async_wait(tuple);
  }
}

asio::awaitable<void> ValkeyStore::Impl::look(base::Duration limit) {
  bool told = true;
  if (has_untold()) told = co_await flush();
  // A number that only this node knows, as it is telling it, is no sign that the server has lost any.
  auto const known = heard.load(std::memory_order_acquire);
  Commands commands;
  commands.add({"MGET", name("number"), name("epoch")});
  auto const replies = co_await ask(control, std::move(commands), limit, StoreOperation::subscribe);
  reachable.store(replies.size() == 1, std::memory_order_release);
  away.store(replies.size() != 1 || !told, std::memory_order_release);
  if (replies.size() != 1 || replies[0].size() != 2) co_return;
  auto const number = replies[0][0].counter(), epoch = replies[0][1].counter();
  auto const holds = applied.load(std::memory_order_acquire);
  heard_of(number);
  if (epoch > holds) co_await catch_up(control);
  if ((number < known || epoch < holds) && !has_untold()) co_await raise();
  Commands listening;
  if (subscribed)
    listening.add({"PING"});
  else
    listening.add({"SUBSCRIBE", name("news")});
  auto const said = co_await ask(subscriber, std::move(listening), limit, StoreOperation::subscribe);
  subscribed = !said.empty() && subscriber->is_connected();
}

void ValkeyStore::Impl::heard_of(std::uint64_t number) noexcept {
  purges.raise_to(number);
  auto seen = heard.load(std::memory_order_relaxed);
  while (seen < number && !heard.compare_exchange_weak(seen, number, std::memory_order_acq_rel)) {}
}

// On the first worker. A null message: the connection has ended.
void ValkeyStore::Impl::hear(Reply const& message) {
  if (message.is_null()) {
    subscribed = false;
    return;
  }
  auto const text = message[2].text();
  if (text && text->starts_with("purge ")) look_now();
  if (text && text->starts_with("lease ")) announced(*text);
}

void ValkeyStore::Impl::look_now() {
  news = true;
  if (poll_timer) poll_timer->cancel();
}

// PRG-1: the server has lost what it knew. What a node that came after that has purged may have a number below that of what
// is stored here: it is told again under one above, and nothing is believed before. That raises the server's, too.
asio::awaitable<void> ValkeyStore::Impl::raise() {
  auto const told = [this](Script const& script, std::string_view a, std::string_view b, std::string_view c,
                           std::string_view d) {
    Commands commands;
    std::vector<std::string> const keys{name("number"), name("epoch"), name("epochs"), name("floor"), name("times")};
    std::vector<std::string_view> words{"EVALSHA", script.sha1, "5"};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), {a, b});
    if (!c.empty()) words.insert(words.end(), {c, d});
    commands.add(words);
    return commands;
  };
  auto const limit = limit_for(page_size * 64);
  auto const size = std::to_string(page_size);
  auto const replies = co_await ask(control, told(epochs_script, "0", size, "", ""), limit, StoreOperation::purge);
  if (!is_page(replies)) co_return;
  auto const& page = replies[0];
  // What was purged longer ago holds for nothing that a node uses unasked.
  auto const since = server_ms(base::Clock::now() - remember_invalidations.load()) * 1000;
  std::array<std::vector<cache::Tag>, page_modes> again;
  for (std::size_t at = page_head; at < page.size(); at += page_row) {
    auto const epoch = read_member(page[at].text().value_or(""));
    if (epoch && page[at + 2].number().value_or(0) >= since) again[epoch->first].push_back(epoch->second);
  }
  for (std::size_t mode = 0; mode < page_modes; ++mode) {
    auto& tags = again[mode];
    if (tags.empty()) continue;
    if (tags.size() >= page_size / 2) tags = {cache::tag_of_all()};  // too much, never too little
    epochs.add(tags, static_cast<cache::Invalidation>(mode), purges.next(), base::Clock::now());
    remember(Untold{{}, std::move(tags), static_cast<cache::Invalidation>(mode)});
  }
  if (has_untold()) co_return;
  auto const known = std::to_string(purges.current()), most = std::to_string(rules.max_epochs);
  co_await ask(control, told(purge_script, known, "0", most, name("news")), limit, StoreOperation::purge);
}

// All epochs beyond what holds here, in the order of their numbers. False: the server did not answer.
asio::awaitable<bool> ValkeyStore::Impl::catch_up(std::shared_ptr<ValkeyLink> link) {
  auto from = applied.load(std::memory_order_acquire);
  auto newest = from;
  std::size_t pages = 0;
  for (bool more = true; more;) {
    if (++pages > most_pages) co_return false;
    Commands commands;
    commands.add({"EVALSHA", epochs_script.sha1, "5", name("number"), name("epoch"), name("epochs"), name("floor"),
                  name("times"), std::to_string(from), std::to_string(page_size)});
    auto const replies = co_await ask(link, std::move(commands), limit_for(page_size * 64), StoreOperation::purge);
    if (replies.size() != 1 || !apply(replies[0], from, more)) co_return false;
    newest = std::max(newest, replies[0][0].counter());
  }
  heard_of(newest);
  auto seen = applied.load(std::memory_order_relaxed);
  while (seen < newest && !applied.compare_exchange_weak(seen, newest, std::memory_order_acq_rel)) {}
  co_return true;
}

// One page of epochs_script. False: it is none.
bool ValkeyStore::Impl::apply(Reply const& page, std::uint64_t& from, bool& more) {
  if (!is_page({page})) {
    count(StoreOperation::decode);
    return false;
  }
  auto const moment = clock.moment();
  auto const all = cache::tag_of_all();
  for (std::size_t mode = 0; mode < page_modes; ++mode)
    if (auto const floor = page[1 + mode].counter(); floor > from)
      epochs.add({&all, 1}, static_cast<cache::Invalidation>(mode), floor, base::Clock::now());
  std::uint64_t last = from;
  for (std::size_t at = page_head; at < page.size(); at += page_row) {
    auto const epoch = read_member(page[at].text().value_or(""));
    last = std::max(last, page[at + 1].counter());
    if (!epoch) {
      count(StoreOperation::decode);
      continue;
    }
    auto const when = to_here(moment, page[at + 2].number().value_or(moment.there));
    epochs.add({&epoch->second, 1}, static_cast<cache::Invalidation>(epoch->first), page[at + 1].counter(), when);
  }
  more = (page.size() - page_head) / page_row >= page_size && last > from;  // numbers that are none lead nowhere
  from = more && last > from + 1 ? last - 1 : last;
  return true;
}

}  // namespace weir::store
