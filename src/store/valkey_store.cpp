#include "valkey_impl.hpp"

#include <algorithm>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include "weir/base/assert.hpp"
#include "weir/base/hash.hpp"
#include "weir/wire/lasting.hpp"

namespace weir::store {
namespace {

// Without a near tier what is remembered of keys still needs room (a sixteenth), and flights do (`coalesce.max_bytes`).
constexpr std::uint64_t without_near_bytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t least_near_bytes = std::uint64_t{4} << 20U;
// An entry is seldom smaller; more than so many share places in the table of checks.
constexpr std::uint64_t usual_entry = 1024;
// What another node with a larger `max_object` has stored is a record, too, and no reason to end the connection.
constexpr std::uint64_t most_elsewhere = std::uint64_t{64} << 20U;
// Beside the body: head, key, selector, tags, and an epoch page.
constexpr std::uint64_t reply_slack = std::uint64_t{4} << 20U;
constexpr std::size_t longest_why = 200;  // of what the server says is wrong

LinkRules link_rules_of(ValkeyRules const& rules) {
  LinkRules link;
  link.peer = {rules.host, rules.port, rules.unix_path};
  link.username = rules.username;
  link.password = rules.password;
  link.database = rules.database;
  link.most_reply = std::max(rules.max_object, most_elsewhere) + reply_slack;
  return link;
}

}  // namespace

ValkeyStore::Impl::Impl(ValkeyRules r, cache::MemoryAccount& a, cache::PurgeNumber& p, cache::Epochs& e)
    : rules(std::move(r)),
      purges(p),
      epochs(e),
      account(a),
      link_rules(link_rules_of(rules)),
      near({rules.near_bytes != 0 ? std::max(rules.near_bytes, least_near_bytes) : without_near_bytes}, a),
      checks(rules.near_bytes / usual_entry) {}

std::string ValkeyStore::Impl::key_name(std::string_view key) const {
  auto const digest = base::sha256(key);
  return rules.prefix + '{' + base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()}) + '}';
}

std::string ValkeyStore::Impl::record_name(std::string const& key_name, std::string_view variant) {
  return key_name + '/' + std::string(variant);
}

std::string ValkeyStore::Impl::variant_of(std::string_view selector) {
  if (selector.empty()) return "-";
  auto const digest = base::sha256(selector);
  return base::to_hex({reinterpret_cast<char const*>(digest.data()), 8});
}

base::Duration ValkeyStore::Impl::limit_for(std::size_t bytes) const noexcept {
  return rules.timeout + std::chrono::milliseconds(bytes / (std::size_t{64} * 1024));
}

asio::awaitable<std::vector<Reply>> ValkeyStore::Impl::ask(std::shared_ptr<ValkeyLink> link, Commands commands,
                                                           base::Duration limit, StoreOperation operation) {
  auto answers = co_await link->ask(std::move(commands), limit);
  bool const error = std::ranges::any_of(answers.replies, [](Reply const& reply) { return reply.is_error(); });
  if (answers && !error) co_return std::move(answers.replies);
  if (answers.fault == LinkFault::guarded) co_return std::vector<Reply>();
  count(operation);
  note_failure(*link, answers);
  co_return std::vector<Reply>();
}

// OBS-4: in the server's own words, if it had any.
void ValkeyStore::Impl::note_failure(ValkeyLink const& link, Answers const& answers) {
  auto const error = std::ranges::find_if(answers.replies, [](Reply const& reply) { return reply.is_error(); });
  auto text = error != answers.replies.end() ? error->error() : link.turned_away();
  if (text.empty()) text = describe(answers.fault);
  std::lock_guard const lock(why_mutex);
  why.assign(text.substr(0, longest_why));
}

// What hears the end of such work; destroyed unheard is an end too.
struct ValkeyStore::Impl::Busy {
  Busy(Impl& i, StoreOperation o) noexcept : impl(&i), there(i.there), operation(o) {}
  Busy(Busy&& other) noexcept
      : impl(std::exchange(other.impl, nullptr)), there(other.there), operation(other.operation), well(other.well) {}
  Busy& operator=(Busy&&) = delete;
  ~Busy() {
    if (impl == nullptr || there.expired()) return;
    if (!well) impl->count(operation);
    impl->busy.fetch_sub(1, std::memory_order_release);
  }
  void operator()(std::exception_ptr const& failure) noexcept { well = !failure; }
  Impl* impl;
  std::weak_ptr<char> there;
  StoreOperation operation;
  bool well = false;
};

void ValkeyStore::Impl::spawn(asio::io_context& io, asio::awaitable<void> work, StoreOperation operation) noexcept {
  busy.fetch_add(1, std::memory_order_relaxed);
  Busy end(*this, operation);
  try {
    asio::co_spawn(io, std::move(work), std::move(end));
  } catch (std::bad_alloc const&) {
    return;  // counted by its end
  }
}

std::uint64_t ValkeyStore::Impl::check_id(cache::StoredResponse const& entry, std::uint64_t hash) noexcept {
  return entry.selector().empty() ? hash : hash ^ base::hash_bytes(entry.selector());
}

bool ValkeyStore::Impl::was_checked(cache::StoredResponse const& entry, std::uint64_t hash, base::Duration within,
                                    base::SteadyTime now) const {
  return checks.age(check_id(entry, hash), now) < within;
}

// An entry that the server may have something newer of is shown, to be validated by, or for when all else fails.
Lookup ValkeyStore::Impl::hide_unchecked(Lookup found, std::uint64_t hash, bool offline, base::Now now) const {
  if (found.entry && !was_checked(*found.entry, hash, longest_unasked(), now.steady)) {
    found.unchecked = true;  // other nodes may have purged it long ago: not even when all else fails
    found.overrule = cache::stronger(found.overrule, {cache::Invalidation::invalid, now.steady});
  } else if (found.entry) {
    found.unchecked = !was_checked(*found.entry, hash, offline ? rules.offline_ttl : rules.near_ttl, now.steady);
  }
  return found;
}

ValkeyStore::ValkeyStore(ValkeyRules rules, cache::MemoryAccount& account, cache::PurgeNumber& purges, cache::Epochs& epochs)
    : impl_(std::make_unique<Impl>(std::move(rules), account, purges, epochs)) {}

ValkeyStore::~ValkeyStore() = default;

void ValkeyStore::attach(asio::io_context& io) {
  auto& impl = *impl_;
  auto const link = [&](ServerClock* clock, Guard* guard) {
    return std::make_shared<ValkeyLink>(io, impl.link_rules, clock, guard);
  };
  bool const first = impl.workers.empty();
  impl.workers.push_back({&io, link(nullptr, &impl.guard), link(nullptr, &impl.guard)});
  if (!first) return;
  impl.control = link(&impl.clock, nullptr);
  impl.subscriber = link(nullptr, nullptr);
  impl.subscriber->set_hear([&impl](Reply const& message) { impl.hear(message); });
  impl.poll_timer = std::make_unique<asio::basic_waitable_timer<base::Clock>>(io);
  wire::Lasting::begin(
      io, [&impl] { return impl.poll(); }, [&impl](std::exception_ptr const&) { impl.count(StoreOperation::subscribe); });
}

void ValkeyStore::detach() noexcept {
  auto& impl = *impl_;
  for (auto& worker : impl.workers) {
    worker.reads->close();
    worker.writes->close();
  }
  if (impl.control) impl.control->close();
  if (impl.subscriber) impl.subscriber->close();
  impl.workers.clear();
  impl.control.reset();
  impl.subscriber.reset();
  impl.poll_timer.reset();
}

Lookup ValkeyStore::peek(Question const& question, base::Now now) noexcept {
  return impl_->hide_unchecked(impl_->near.peek(question, now), question.hash, impl_->guard.is_open(now.steady), now);
}

asio::awaitable<Lookup> ValkeyStore::find(Question question, base::Now now) { return impl_->find(question, now); }

std::vector<std::string> ValkeyStore::vary_spec(std::string_view key, std::uint64_t hash) {
  return impl_->near.vary_spec(key, hash);
}

Put ValkeyStore::put(cache::Entry entry, base::SteadyTime keep_until, std::uint32_t max_variants, base::Now now) noexcept {
  auto& impl = *impl_;
  auto const hash = base::hash_bytes(entry->key());
  if (!holds_puts()) {
    // STO-5, NEG-1: it takes the place of a marker and of a failure, as an invalidation does; this one is of nothing.
    impl.near.invalidate(entry->key(), hash, cache::Invalidation::soft, 0, {}, now);
    return Put::stored;
  }
  auto const id = Impl::check_id(*entry, hash);
  auto const put = impl.near.put(std::move(entry), keep_until, max_variants, now);
  if (put == Put::stored) impl.checks.note(id, now.steady);
  return put;
}

void ValkeyStore::announce_vary(std::string_view key, std::uint64_t hash, std::vector<std::string> const& names,
                                base::SteadyTime until) noexcept {
  impl_->near.announce_vary(key, hash, names, until);
}

void ValkeyStore::remember_failure(std::string_view key, std::uint64_t hash, Failed failed, base::SteadyTime until,
                                   base::Now now) noexcept {
  impl_->near.remember_failure(key, hash, failed, until, now);
}

std::size_t ValkeyStore::invalidate(std::string_view key, std::uint64_t hash, cache::Invalidation mode, std::uint64_t number,
                                    base::SteadyTime record_until, base::Now now) noexcept {
  // A look-up that is under way must not bring back what this overrules.
  record_until = std::max(record_until, now.steady + impl_->limit_for(impl_->rules.max_object) + std::chrono::seconds(1));
  return impl_->near.invalidate(key, hash, mode, number, record_until, now);
}

Variants ValkeyStore::variants(std::string_view key, std::uint64_t hash, base::Now now) const {
  return impl_->near.variants(key, hash, now);
}

void ValkeyStore::visit(std::function<void(cache::StoredResponse const&)> const& call) const { impl_->near.visit(call); }

StoreStats ValkeyStore::stats() const noexcept { return impl_->near.stats(); }

std::size_t ValkeyStore::sweep(base::Now now, std::size_t max_nodes) noexcept { return impl_->near.sweep(now, max_nodes); }

bool ValkeyStore::holds_puts() const noexcept { return impl_->rules.near_bytes != 0; }

// What a server that is away was not told is no reason to stay.
bool ValkeyStore::is_idle() const noexcept {
  bool const tells = impl_->has_untold() && impl_->reachable.load(std::memory_order_acquire);
  return impl_->busy.load(std::memory_order_acquire) == 0 && !tells;
}

std::uint64_t ValkeyStore::leases(LeaseResult result) const noexcept {
  return impl_->lease_results[static_cast<std::size_t>(result)].load(std::memory_order_relaxed);
}

void ValkeyStore::remember_invalidations(base::Duration at_least) noexcept {
  impl_->remember_invalidations.store(std::max(impl_->remember_invalidations.load(), at_least));
}

// A server that never answered is not asked, and so its guard never opens.
GuardState ValkeyStore::guard_state() const noexcept {
  auto const state = impl_->guard.state();
  bool const away = impl_->away.load(std::memory_order_acquire);
  return away && state == GuardState::closed ? GuardState::open : state;
}

std::string ValkeyStore::last_failure() const {
  std::lock_guard const lock(impl_->why_mutex);
  return impl_->why;
}

std::uint64_t ValkeyStore::errors(StoreOperation operation) const noexcept {
  return impl_->errors[static_cast<std::size_t>(operation)].load(std::memory_order_relaxed);
}

std::string ValkeyStore::check_server(base::Duration limit) {
  asio::io_context io;
  auto const link = std::make_shared<ValkeyLink>(io, impl_->link_rules, &impl_->clock, nullptr);
  Answers answers;
  auto const ask = [](std::shared_ptr<ValkeyLink> to, base::Duration within, Answers& into) -> asio::awaitable<void> {
    Commands commands;
    commands.add({"INFO", "memory"});
    into = co_await to->ask(std::move(commands), within);
    to->close();
  };
  std::exception_ptr failure;
  asio::co_spawn(io, ask(link, limit, answers), [&](std::exception_ptr error) { failure = error; });
  io.run();
  if (failure) std::rethrow_exception(failure);
  if (!answers) return {};
  if (answers.replies.front().is_error()) return std::string(answers.replies.front().error());
  auto const info = answers.replies.front().text().value_or("");
  constexpr std::string_view field = "maxmemory_policy:";
  auto const at = info.find(field);
  if (at == std::string_view::npos) return {};
  auto const policy = info.substr(at + field.size(), info.substr(at + field.size()).find_first_of("\r\n"));
  if (!policy.starts_with("allkeys-")) return {};
  return "its maxmemory-policy is " + std::string(policy) + ", which may evict what it knows of purges; set noeviction";
}

}  // namespace weir::store
