#include "weir/origin/pool.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace weir::origin {

using shield::FailureKind;
using tcp = asio::ip::tcp;

namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

void close_quietly(wire::Stream::Socket& socket) noexcept {
  boost::system::error_code ignored;  // the operation that is pending reports the end
  socket.close(ignored);
}

// Ends an operation when its time is over: `stop` closes or cancels what it waits on.
template <class Stop>
class TimeLimit {
 public:
  TimeLimit(asio::any_io_executor executor, base::SteadyTime due, Stop stop)
      : state_(std::make_shared<State>(std::move(executor), due, std::move(stop))) {
    state_->timer.async_wait([state = state_](boost::system::error_code error) {
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

Pool::Pool(asio::io_context& io, config::Origin const& settings, Address address, std::shared_ptr<asio::ssl::context> tls)
    : io_(io), settings_(settings), address_(std::move(address)), tls_(std::move(tls)) {}

Pool::~Pool() = default;

std::unique_ptr<Connection> Pool::take_idle(base::Duration younger_than, base::SteadyTime now) {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (now - connection->idle_since >= younger_than) {
      idle_.push_back(std::move(connection));  // the rest is older still
      return nullptr;
    }
    if (connection->stream->is_stale()) continue;
    connection->reused = true;
    return connection;
  }
  return nullptr;
}

asio::awaitable<Connected> Pool::connect(Want want, base::SteadyTime due) {
  auto const now = base::Clock::now();
  if (want != Want::new_only) {
    auto const limit = want == Want::fresh_enough ? std::min(fresh_for, settings_.pool.idle_time) : settings_.pool.idle_time;
    if (auto connection = take_idle(limit, now)) co_return Connected{std::move(connection)};
  }
  co_return co_await open(std::min(due, now + settings_.timeouts.connect));
}

asio::awaitable<Connected> Pool::open(base::SteadyTime due) {
  wire::Stream::Socket socket(io_);
  auto const failure = co_await connect_tcp(socket, due);
  if (!socket.is_open()) co_return Connected{nullptr, failure};

  auto connection = std::make_unique<Connection>(std::make_shared<wire::Stream>(std::move(socket)));
  if (tls_) {
    connection->deadline.expires_at(due);
    auto const& name = settings_.tls.server_name.empty() ? address_.host : settings_.tls.server_name;
    auto const error = co_await connection->stream->start_tls_client(*tls_, name);
    bool const late = connection->deadline.expired();
    connection->deadline.clear();
    if (error) co_return Connected{nullptr, late ? FailureKind::connect_timeout : FailureKind::tls};
  }
  co_return Connected{std::move(connection)};
}

// Leaves the socket open only when it is connected.
asio::awaitable<FailureKind> Pool::connect_tcp(wire::Stream::Socket& socket, base::SteadyTime due) {
  if (!address_.unix_path.empty()) {
    asio::local::stream_protocol::endpoint const endpoint(address_.unix_path);
    auto const close = [&socket] { close_quietly(socket); };
    TimeLimit const limit(io_.get_executor(), due, close);
    auto const [error] = co_await socket.async_connect(endpoint, tuple);
    if (error) socket.close();
    co_return limit.expired() ? FailureKind::connect_timeout : FailureKind::connect_refused;
  }

  if (resolved_.empty() || base::Clock::now() >= resolved_until_) {
    boost::system::error_code not_an_address;
    auto const literal = asio::ip::make_address(address_.host, not_an_address);
    if (!not_an_address) {
      resolved_.assign(1, tcp::endpoint(literal, static_cast<unsigned short>(std::stoul(address_.port))));
    } else {
      tcp::resolver resolver(io_);
      auto const cancel = [&resolver] { resolver.cancel(); };
      TimeLimit const limit(io_.get_executor(), due, cancel);
      auto const [error, results] = co_await resolver.async_resolve(address_.host, address_.port, tuple);
      if (!error) resolved_.assign(results.begin(), results.end());
      if (resolved_.empty()) co_return FailureKind::dns;  // an old answer is better than none
    }
    resolved_until_ = base::Clock::now() + resolve_lifetime;
  }

  auto const endpoints = resolved_;  // others may resolve again meanwhile
  auto const close = [&socket] { close_quietly(socket); };
  TimeLimit const limit(io_.get_executor(), due, close);
  for (auto const& endpoint : endpoints) {
    auto const [error] = co_await socket.async_connect(endpoint, tuple);
    if (!error) {
      boost::system::error_code ignored;  // Nagle is slower, not wrong
      socket.set_option(tcp::no_delay(true), ignored);
      co_return FailureKind::internal;
    }
    if (limit.expired()) break;
    socket.close();
  }
  if (socket.is_open()) socket.close();
  resolved_until_ = {};
  co_return limit.expired() ? FailureKind::connect_timeout : FailureKind::connect_refused;
}

void Pool::keep(std::unique_ptr<Connection> connection) {
  connection->deadline.clear();
  connection->idle_since = base::Clock::now();
  idle_.push_back(std::move(connection));
  if (idle_.size() > settings_.pool.idle) idle_.pop_front();
}

void Pool::close_idle() noexcept { idle_.clear(); }

void Pool::sweep(base::SteadyTime now) noexcept {
  while (!idle_.empty() && now - idle_.front()->idle_since >= settings_.pool.idle_time) idle_.pop_front();
}

std::shared_ptr<asio::ssl::context> make_tls_context(config::OriginTls const& settings) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                       asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  if (!settings.ca_file.empty())
    context->load_verify_file(settings.ca_file);
  else
    context->set_default_verify_paths();
  context->set_verify_mode(settings.verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
  return context;
}

}  // namespace weir::origin
