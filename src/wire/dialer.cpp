#include "weir/wire/dialer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::wire {

using tcp = asio::ip::tcp;

namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
// An address that answered where those before it did not is tried first for so long.
constexpr base::Duration prefer_lifetime = std::chrono::minutes(5);

std::atomic<std::size_t> questions{0};  // of this process

void close_quietly(Stream::Socket& socket) noexcept {
  error_code ignored;  // the operation that is pending reports the end
  socket.close(ignored);
}

// Ends an operation when its time is over: `stop` closes or cancels what it waits on.
template <class Stop>
class TimeLimit {
 public:
  TimeLimit(asio::any_io_executor executor, base::SteadyTime due, Stop stop)
      : state_(std::make_shared<State>(std::move(executor), due, std::move(stop))) {
    state_->timer.async_wait([state = state_](error_code error) {
      if (error || state->done) return;
      state->expired = true;
      state->stop();
    });
  }
  ~TimeLimit() {
    state_->done = true;
    state_->timer.cancel();
  }
  TimeLimit(TimeLimit const&) = delete;
  TimeLimit& operator=(TimeLimit const&) = delete;
  bool expired() const noexcept { return state_->expired; }

 private:
  struct State {
    State(asio::any_io_executor const& executor, base::SteadyTime due, Stop s)
        : timer(executor, due), stop(std::move(s)) {}
    asio::basic_waitable_timer<base::Clock> timer;
    Stop stop;
    bool done = false, expired = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace

std::size_t questions_under_way() noexcept { return questions.load(std::memory_order_relaxed); }

// What a name stands for. The question that is under way keeps it, as it may outlive the dialer.
struct Dialer::Names : std::enable_shared_from_this<Names> {
  using Timer = asio::basic_waitable_timer<base::Clock>;
  using Addresses = std::vector<tcp::endpoint>;
  // What hears the answer; destroyed unheard is an answer too, or nobody would ever ask again.
  struct Answer {
    explicit Answer(std::shared_ptr<Names> n) noexcept : names(std::move(n)) {}
    Answer(Answer&&) noexcept = default;
    Answer& operator=(Answer&&) = delete;
    ~Answer() {
      if (names) names->answered(nullptr);
    }
    void operator()(error_code const& error, tcp::resolver::results_type const& results) {
      std::exchange(names, nullptr)->answered(error ? nullptr : &results);
    }
    std::shared_ptr<Names> names;
  };
  // A wait for the answer.
  struct Wait {
    Wait(Names& n, base::SteadyTime due) : names(n), at(n.waits.emplace(n.waits.end(), n.io, due)) {}
    ~Wait() { names.waits.erase(at); }
    Wait(Wait const&) = delete;
    Wait& operator=(Wait const&) = delete;
    Names& names;
    std::list<Timer>::iterator at;
  };

  Names(asio::io_context& i, Peer const& peer) : io(i), host(peer.host), port(peer.port), resolver(i) {
    error_code not_an_address;
    auto const literal = asio::ip::make_address(host, not_an_address);
    if (not_an_address) return;
    addresses.emplace_back(literal, static_cast<unsigned short>(std::stoul(port)));
    ask_from = base::SteadyTime::max();
  }

  void ask(base::SteadyTime now) {
    if (asking || now < ask_from) return;
    asked_at = now;
    asking = true;
    questions.fetch_add(1, std::memory_order_relaxed);
    Answer answer(shared_from_this());
    resolver.async_resolve(host, port, std::move(answer));
  }
  void ask_soon(base::SteadyTime now) {
    if (ask_from != base::SteadyTime::max()) ask_from = std::min(ask_from, asked_at + resolve_pause);
    ask(now);
  }
  void answered(tcp::resolver::results_type const* results) noexcept {
    asking = false;
    questions.fetch_sub(1, std::memory_order_relaxed);
    bool good = results != nullptr;
    try {
      if (good) take(Addresses(results->begin(), results->end()));
    } catch (std::bad_alloc const&) {
      good = false;  // as if there were no answer
    }
    ask_from = asked_at + (good ? resolve_lifetime : resolve_pause);
    for (auto& wait : waits) wait.cancel();
  }
  void take(Addresses found) noexcept {
    auto const is_found = [&](tcp::endpoint const& one) { return std::ranges::find(found, one) != found.end(); };
    if (!std::ranges::all_of(addresses, is_found)) ++generation;
    addresses = std::move(found);
  }
  // As the system orders them, behind the one that took over lately from those before it.
  Addresses in_order(base::SteadyTime now) const {
    auto all = addresses;
    auto const at = now < prefer_until ? std::ranges::find(all, preferred) : all.end();
    if (at != all.end()) std::rotate(all.begin(), at, at + 1);
    return all;
  }
  void prefer(tcp::endpoint const& address, base::SteadyTime now) noexcept {
    preferred = address;
    prefer_until = now + prefer_lifetime;
  }
  asio::awaitable<void> wait_for_answer(base::SteadyTime due) {
    Wait wait(*this, due);
    while (asking && base::Clock::now() < due) {
      wait.at->expires_at(due);
      co_await wait.at->async_wait(tuple);
    }
  }

  asio::io_context& io;
  std::string host, port;
  tcp::resolver resolver;
  Addresses addresses;
  tcp::endpoint preferred;
  base::SteadyTime prefer_until{};
  std::uint64_t generation = 0;
  base::SteadyTime asked_at{}, ask_from{};
  bool asking = false;
  std::list<Timer> waits;
};

Dialer::Dialer(asio::io_context& io, Peer peer)
    : io_(io),
      unix_path_(std::move(peer.unix_path)),
      names_(unix_path_.empty() ? std::make_shared<Names>(io, peer) : nullptr) {}

Dialer::~Dialer() {
  if (names_) names_->resolver.cancel();
}

Dialer::Dialer(Dialer&&) noexcept = default;

void Dialer::renew(base::SteadyTime now) {
  if (names_) names_->ask(now);
}

std::uint64_t Dialer::generation() const noexcept { return names_ ? names_->generation : 0; }

bool Dialer::leads_here(Stream::Socket const& socket) const noexcept {
  if (!names_) return true;
  error_code error;
  auto const peer = socket.remote_endpoint(error);
  return !error && std::ranges::any_of(names_->addresses, [&](tcp::endpoint const& one) {
    return one.size() == peer.size() && std::memcmp(one.data(), peer.data(), peer.size()) == 0;
  });
}

asio::awaitable<Dialled> Dialer::connect(Stream::Socket& socket, base::SteadyTime due) {
  if (!unix_path_.empty()) {
    auto const close = [&socket] { close_quietly(socket); };
    asio::local::stream_protocol::endpoint const endpoint(unix_path_);
    TimeLimit const limit(io_.get_executor(), due, close);
    auto const [error] = co_await socket.async_connect(endpoint, tuple);
    if (!error) co_return Dialled::connected;
    close_quietly(socket);
    co_return limit.expired() ? Dialled::timeout : Dialled::refused;
  }

  auto const names = names_;  // the dialer may go meanwhile
  names->ask(base::Clock::now());
  if (names->addresses.empty()) co_await names->wait_for_answer(due);
  if (names->addresses.empty()) co_return Dialled::not_resolved;
  auto const tried = names->addresses;
  auto const dialled = co_await try_addresses(socket, names, due);
  if (dialled == Dialled::connected) co_return dialled;
  // The peer may have moved: once more, if the name says so.
  names->ask_soon(base::Clock::now());
  if (dialled == Dialled::timeout) co_return dialled;
  co_await names->wait_for_answer(due);
  auto const is_tried = [&](tcp::endpoint const& one) { return std::ranges::find(tried, one) != tried.end(); };
  if (std::ranges::all_of(names->addresses, is_tried)) co_return dialled;
  co_return co_await try_addresses(socket, names, due);
}

asio::awaitable<Dialled> Dialer::try_addresses(Stream::Socket& socket, std::shared_ptr<Names> names, base::SteadyTime due) {
  auto const close = [&socket] { close_quietly(socket); };
  auto now = base::Clock::now();
  auto const addresses = names->in_order(now);  // others may hear an answer meanwhile
  for (std::size_t i = 0; i < addresses.size() && (i == 0 || now < due); ++i, now = base::Clock::now()) {
    // One that says nothing leaves their share of the time to those behind it.
    TimeLimit const limit(io_.get_executor(), now + (due - now) / static_cast<int>(addresses.size() - i), close);
    auto const [error] = co_await socket.async_connect(addresses[i], tuple);
    if (!error) {
      error_code ignored;  // Nagle is slower, not wrong
      socket.set_option(tcp::no_delay(true), ignored);
      if (i > 0) names->prefer(addresses[i], now);
      co_return Dialled::connected;
    }
    close_quietly(socket);
  }
  co_return now < due ? Dialled::refused : Dialled::timeout;
}

}  // namespace weir::wire
