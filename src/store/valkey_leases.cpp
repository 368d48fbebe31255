// One fetch for all nodes (COA-11).
#include <algorithm>
#include <array>
#include <charconv>
#include <random>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "valkey_impl.hpp"
#include "weir/base/hash.hpp"

namespace weir::store {
namespace {

using std::chrono::milliseconds;

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
// A lease that its owner does not renew is gone after `life`; who waits asks again each `ask_each` ± 20 %.
constexpr std::string_view life = "1000";  // ms
constexpr milliseconds renew_each{300};
constexpr milliseconds ask_each{250};

milliseconds some_time() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return milliseconds(std::uniform_int_distribution<int>(ask_each.count() * 8 / 10, ask_each.count() * 12 / 10)(random));
}

std::string new_token() {
  std::random_device device;
  std::array<char, 16> bytes{};
  for (auto& byte : bytes) byte = static_cast<char>(device());
  return base::to_hex({bytes.data(), bytes.size()});
}

constexpr std::array<std::string_view, 4> outcome_words{"released", "stored", "not-shareable", "failed"};

}  // namespace

std::string_view label(LeaseOutcome outcome) noexcept { return outcome_words[static_cast<std::size_t>(outcome)]; }

// A fetch that waits for another node's. Its worker's, but for the list it stands in.
struct ValkeyStore::Impl::LeaseWaiter {
  explicit LeaseWaiter(asio::io_context& i) : io(i), timer(i) {}
  asio::io_context& io;
  asio::basic_waitable_timer<base::Clock> timer;
  bool heard = false;
  LeaseOutcome outcome = LeaseOutcome::released;
  int failure = 0;
};

struct ValkeyStore::Impl::HeldLease {
  HeldLease(asio::io_context& io, std::string n, std::string t) : timer(io), name(std::move(n)), token(std::move(t)) {}
  asio::basic_waitable_timer<base::Clock> timer;
  std::string name, token;
  bool over = false;
};

asio::awaitable<Turn> ValkeyStore::take_turn(TurnRequest request) {
  if (impl_->workers.empty()) co_return Turn{};
  co_return co_await impl_->take_turn(std::move(request));
}

asio::awaitable<Turn> ValkeyStore::Impl::take_turn(TurnRequest request) {
  auto const lease_name = key_name(request.key) + '!' + variant_of(request.selector);
  auto& worker = links(request.worker);
  auto const waiter = std::make_shared<LeaseWaiter>(*worker.io);
  Listed const listed(*this, lease_name, waiter);  // before it asks: what is announced meanwhile counts
  auto const held = std::make_shared<HeldLease>(*worker.io, lease_name, new_token());
  auto const give_up = base::Clock::now() + request.longest;
  for (bool first = true;; first = false) {
    waiter->heard = false;
    Commands commands;
    commands.add({"SET", lease_name, held->token, "NX", "PX", life});
    auto const replies = co_await ask(worker.reads, std::move(commands), rules.timeout, StoreOperation::lease);
    if (replies.empty()) {
      count(LeaseResult::failed);
      co_return Turn{};
    }
    if (!replies[0].is_null()) {
      count(LeaseResult::acquired);
      co_return Turn{Turn::What::taken, 0, hold(held, worker)};
    }
    if (first) count(LeaseResult::refused);
    waiter->timer.expires_at(std::min(base::Clock::now() + some_time(), give_up));
    if (!waiter->heard) co_await waiter->timer.async_wait(tuple);
    if (waiter->heard && waiter->outcome != LeaseOutcome::released) {
      count(LeaseResult::announced);
      auto const what = waiter->outcome == LeaseOutcome::stored          ? Turn::What::stored
                        : waiter->outcome == LeaseOutcome::not_shareable ? Turn::What::not_shareable
                                                                         : Turn::What::failed;
      co_return Turn{what, waiter->failure, {}};
    }
    if (!request.wanted()) co_return Turn{};
    if (base::Clock::now() >= give_up) {
      count(LeaseResult::hedged);
      co_return Turn{Turn::What::hedged, 0, {}};
    }
  }
}

// Renewed until it ends.
Lease ValkeyStore::Impl::hold(std::shared_ptr<HeldLease> const& held, WorkerLinks& worker) {
  auto const renew = [](Impl& impl, std::shared_ptr<ValkeyLink> link,
                        std::shared_ptr<HeldLease> of) -> asio::awaitable<void> {
    for (;;) {
      of->timer.expires_after(renew_each);
      co_await of->timer.async_wait(tuple);
      if (of->over) co_return;
      Commands commands;
      commands.add({"EVALSHA", renew_script.sha1, "1", of->name, of->token, life});
      co_await impl.ask(link, std::move(commands), impl.rules.timeout, StoreOperation::lease);
    }
  };
  auto const release = [](Impl& impl, std::shared_ptr<ValkeyLink> link, std::shared_ptr<HeldLease> of,
                          std::string news) -> asio::awaitable<void> {
    Commands commands;
    commands.add({"EVALSHA", release_script.sha1, "1", of->name, of->token, impl.name("news"), news});
    co_await impl.ask(link, std::move(commands), impl.rules.timeout, StoreOperation::lease);
  };
  Lease lease([this, held, link = worker.reads, io = worker.io, release](LeaseOutcome outcome, int failure) {
    held->over = true;
    if (workers.empty()) return;  // the process ends, and the lease by itself
    held->timer.cancel();
    try {
      auto news = "lease " + held->name + ' ' + std::string(label(outcome)) + ' ' + std::to_string(failure);
      spawn(*io, release(*this, link, held, std::move(news)), StoreOperation::lease);
    } catch (std::bad_alloc const&) {
      count(StoreOperation::lease);  // it ends by itself, after `life`
    }
  });
  spawn(*worker.io, renew(*this, worker.reads, held), StoreOperation::lease);
  return lease;
}

ValkeyStore::Impl::Listed::Listed(Impl& impl, std::string name, std::shared_ptr<LeaseWaiter> waiter)
    : impl_(impl), name_(std::move(name)), waiter_(std::move(waiter)) {
  std::lock_guard const lock(impl_.lease_mutex);
  impl_.lease_waiters.emplace(name_, waiter_);
}

ValkeyStore::Impl::Listed::~Listed() {
  std::lock_guard const lock(impl_.lease_mutex);
  auto const [from, to] = impl_.lease_waiters.equal_range(name_);
  auto const at = std::find_if(from, to, [&](auto const& one) { return one.second == waiter_; });
  if (at != to) impl_.lease_waiters.erase(at);
}

// "lease NAME OUTCOME STATUS", on the first worker: those who wait for it hear it on theirs.
void ValkeyStore::Impl::announced(std::string_view text) {
  std::array<std::string_view, 4> words;
  for (auto& word : words) {
    auto const end = std::min(text.find(' '), text.size());
    word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  auto const word = std::ranges::find(outcome_words, words[2]);
  int failure = 0;
  std::from_chars(words[3].data(), words[3].data() + words[3].size(), failure);
  if (word == outcome_words.end()) return count(StoreOperation::decode);
  auto const outcome = static_cast<LeaseOutcome>(word - outcome_words.begin());
  std::lock_guard const lock(lease_mutex);
  auto const [from, to] = lease_waiters.equal_range(std::string(words[1]));
  for (auto at = from; at != to; ++at) {
    asio::post(at->second->io, [waiter = at->second, outcome, failure] {
      waiter->heard = true;
      waiter->outcome = outcome;
      waiter->failure = failure;
      waiter->timer.cancel();
    });
  }
}

}  // namespace weir::store
