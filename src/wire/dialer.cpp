#include "weir/wire/dialer.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::wire {

using tcp = asio::ip::tcp;

namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

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
    State(asio::any_io_executor executor, base::SteadyTime due, Stop s)
        : timer(std::move(executor), due), stop(std::move(s)) {}
    asio::basic_waitable_timer<base::Clock> timer;
    Stop stop;
    bool done = false, expired = false;
  };
  std::shared_ptr<State> state_;
};

}  // namespace

asio::awaitable<Dialled> Dialer::connect(Stream::Socket& socket, base::SteadyTime due) {
  auto const close = [&socket] { close_quietly(socket); };
  if (!peer_.unix_path.empty()) {
    asio::local::stream_protocol::endpoint const endpoint(peer_.unix_path);
    TimeLimit const limit(io_.get_executor(), due, close);
    auto const [error] = co_await socket.async_connect(endpoint, tuple);
    if (!error) co_return Dialled::connected;
    close_quietly(socket);
    co_return limit.expired() ? Dialled::timeout : Dialled::refused;
  }

  if (!co_await resolve(due)) co_return Dialled::not_resolved;
  auto const endpoints = resolved_;  // others may resolve again meanwhile
  TimeLimit const limit(io_.get_executor(), due, close);
  for (auto const& endpoint : endpoints) {
    auto const [error] = co_await socket.async_connect(endpoint, tuple);
    if (!error) {
      error_code ignored;  // Nagle is slower, not wrong
      socket.set_option(tcp::no_delay(true), ignored);
      co_return Dialled::connected;
    }
    if (limit.expired()) break;
    close_quietly(socket);
  }
  if (socket.is_open()) close_quietly(socket);
  resolved_until_ = {};
  co_return limit.expired() ? Dialled::timeout : Dialled::refused;
}

// An old answer is better than none.
asio::awaitable<bool> Dialer::resolve(base::SteadyTime due) {
  if (!resolved_.empty() && base::Clock::now() < resolved_until_) co_return true;
  error_code not_an_address;
  auto const literal = asio::ip::make_address(peer_.host, not_an_address);
  if (!not_an_address) {
    resolved_.assign(1, tcp::endpoint(literal, static_cast<unsigned short>(std::stoul(peer_.port))));
  } else {
    tcp::resolver resolver(io_);
    auto const cancel = [&resolver] { resolver.cancel(); };
    TimeLimit const limit(io_.get_executor(), due, cancel);
    auto const [error, results] = co_await resolver.async_resolve(peer_.host, peer_.port, tuple);
    if (!error) resolved_.assign(results.begin(), results.end());
    if (resolved_.empty()) co_return false;
  }
  resolved_until_ = base::Clock::now() + resolve_lifetime;
  co_return true;
}

}  // namespace weir::wire
