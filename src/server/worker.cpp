#include "weir/server/worker.hpp"

#include <poll.h>

#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "weir/base/thread_room.hpp"
#include "weir/observe/log.hpp"
#include "weir/origin/checks.hpp"
#include "weir/proxy/client_address.hpp"
#include "weir/wire/lasting.hpp"

namespace weir::server {
namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
// Without descriptors left, accepting is tried again after this (PITFALLS: accept errors).
constexpr base::Duration accept_pause = std::chrono::milliseconds(100);
// In one turn; others get theirs.
constexpr int accepts_at_once = 16;
// A listener that goes away waits for handshakes that have begun, at most so long, and looks so often. Meanwhile nobody else
// is let in, and whoever tries hears nothing for a second, so it is no longer than it must be.
constexpr base::Duration handshake_time = std::chrono::milliseconds(100), handshake_look = std::chrono::milliseconds(1);

void log_end(std::exception_ptr const& failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (std::exception const& error) {
    observe::log_error("coroutine-failed", {{"what", std::string_view(error.what())}});
  }
}

// What `accept` told: a socket whose peer has reset it meanwhile can be read, and no longer knows who that was. Empty: not
// an address of IP.
std::string ip_address(asio::generic::stream_protocol::endpoint const& peer) {
  auto const family = peer.protocol().family();
  asio::ip::tcp::endpoint endpoint;
  if ((family != AF_INET && family != AF_INET6) || peer.size() > endpoint.capacity()) return {};
  endpoint.resize(peer.size());
  std::memcpy(endpoint.data(), peer.data(), peer.size());
  auto const address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return address.to_string();
}

}  // namespace

void ConnectionCount::set_limits(std::uint64_t in_all, std::uint64_t by_address) noexcept {
  limit_.store(in_all, std::memory_order_relaxed);
  by_address_limit_.store(by_address, std::memory_order_relaxed);
}

bool ConnectionCount::full() const noexcept {
  auto const limit = limit_.load(std::memory_order_relaxed);
  return limit != 0 && open_.load(std::memory_order_relaxed) >= limit;
}

bool ConnectionCount::enter() noexcept {
  auto const limit = limit_.load(std::memory_order_relaxed);
  if (open_.fetch_add(1, std::memory_order_relaxed) >= limit && limit != 0) {
    leave();
    return false;
  }
  return true;
}

bool ConnectionCount::admit(std::string const& address) {
  auto const by_address = by_address_limit_.load(std::memory_order_relaxed);
  std::lock_guard const lock(mutex_);
  auto& count = by_address_[address];  // without a limit too: a reload may set one
  if (by_address != 0 && count >= by_address) return false;
  ++count;
  return true;
}

void ConnectionCount::leave() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); }

void ConnectionCount::leave(std::string const& address) noexcept {
  leave();
  std::lock_guard const lock(mutex_);
  auto const at = by_address_.find(address);
  if (at != by_address_.end() && --at->second == 0) by_address_.erase(at);
}

struct Worker::Listener {
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor;
  std::string address;
  Preface preface;
  bool retiring = false;

  bool has_waiting() {
    pollfd look{acceptor.native_handle(), POLLIN, 0};
    return poll(&look, 1, 0) == 1;
  }
};

// However its coroutine ends: it returned, an exception ended it, or Asio lost it for want of memory.
struct Worker::Ending {
  Ending(Worker& w, std::shared_ptr<Session> s) noexcept : worker(w), session(std::move(s)) {}
  Ending(Ending&&) noexcept = default;
  Ending& operator=(Ending&&) = delete;
  ~Ending() {
    if (session) worker.finished(*session);
  }
  void operator()(std::exception_ptr const& failure) const { log_end(failure); }
  Worker& worker;
  std::shared_ptr<Session> session;
};

// A listener that goes away is closed in the end, whatever becomes of the wait before it.
struct Worker::Closing {
  Closing(Worker& w, std::shared_ptr<Listener> l) noexcept : worker(w), listener(std::move(l)) {}
  Closing(Closing&&) noexcept = default;
  Closing& operator=(Closing&&) = delete;
  ~Closing() {
    if (!listener) return;
    boost::system::error_code ignored;  // it is closed either way
    listener->acceptor.close(ignored);
    std::erase(worker.listeners_, listener);
    worker.listener_count_.fetch_sub(1, std::memory_order_acq_rel);
  }
  Worker& worker;
  std::shared_ptr<Listener> listener;
};

Worker::Worker(std::uint16_t index, proxy::Shared& shared, observe::WorkerMetrics& metrics, ConnectionCount& connections)
    : local_(shared, io_, index, metrics), connections_(connections), timekeeper_(io_) {
  shared.mailboxes.attach(index, io_);
}

Worker::~Worker() { io_.shutdown(); }

// LCY-2: pools stay, by origin name, unless their connections lead to what is now another peer.
void Worker::use(std::shared_ptr<proxy::Setup const> setup) {
  std::map<std::string, std::shared_ptr<origin::Pool>> pools;
  for (auto const& [name, state] : setup->origins) {
    auto const old = local_.pools.find(name);
    if (old != local_.pools.end() && old->second->same_peer(state->settings)) {
      old->second->use(state->settings, state->servers, state->tls);
      pools.insert(local_.pools.extract(old));
    } else {
      pools.emplace(name, std::make_shared<origin::Pool>(io_, state->settings, state->servers, state->tls));
    }
    if (local_.worker == 0) origin::start_checks(io_, state->settings, state->servers, state->tls);
  }
  for (auto const& [name, pool] : local_.pools) pool->retire();
  local_.pools = std::move(pools);
  auto snapshot = std::make_shared<proxy::Snapshot>();
  for (auto const& site : setup->settings.sites)
    snapshot->of_site.push_back({setup->origins.at(site.origin), local_.pools.at(site.origin)});
  snapshot->setup = std::move(setup);
  local_.settings = {snapshot, &snapshot->setup->settings};
  local_.snapshot = std::move(snapshot);
  local_.logs_access = !local_.settings->log.access_file.empty();
  auto const& limits = local_.settings->limits;
  auto const now = base::Clock::now();
  timekeeper_.cap(Limit::idle, now + limits.idle_timeout);
  timekeeper_.cap(Limit::head, now + limits.header_timeout);
}

void Worker::use_preface(std::string const& address, Preface const& preface) {
  for (auto const& listener : listeners_)
    if (listener->address == address) listener->preface = preface;
}

void Worker::listen(int descriptor, std::string address) {
  auto listener = std::make_shared<Listener>(
      Listener{asio::basic_socket_acceptor<asio::generic::stream_protocol>(io_), std::move(address), {}});
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size);
  listener->acceptor.assign(asio::generic::stream_protocol(bound.ss_family, 0), descriptor);
  listener->acceptor.non_blocking(true);
  listeners_.push_back(std::move(listener));
  listener_count_.fetch_add(1, std::memory_order_acq_rel);
  if (running_) begin_accepting(listeners_.back());
}

void Worker::start() {
  running_ = true;
  for (auto& listener : listeners_) begin_accepting(listener);
  wire::Lasting::begin(
      io_, [this] { return housekeeping(); }, log_end);
  thread_ = std::thread([this] {
    base::thread_room();
    for (;;) {
      try {
        io_.run();
        return;
      } catch (std::exception const& error) {  // from a handler of a library; the loop goes on
        observe::log_error("worker-exception", {{"what", std::string_view(error.what())}});
      }
    }
  });
}

void Worker::begin_accepting(std::shared_ptr<Listener> const& listener) {
  auto const tell = [this](std::exception_ptr const& failure) {
    local_.metrics.client_accept_errors.add();
    log_end(failure);
  };
  wire::Lasting::begin(
      io_, [this, listener] { return accept(listener); }, tell);
}

asio::awaitable<void> Worker::accept(std::shared_ptr<Listener> listener) {
  asio::basic_waitable_timer<base::Clock> pause(io_);
  while (listener->acceptor.is_open()) {
    auto const [error] = co_await listener->acceptor.async_wait(asio::socket_base::wait_read, tuple);
    if (!error && accept_waiting(*listener)) continue;
    if (listener->acceptor.is_open()) {
      local_.metrics.client_accept_errors.add();
      pause.expires_after(accept_pause);
      co_await pause.async_wait(tuple);
    }
  }
}

// Some of those that wait. False: one could not be accepted, for want of a descriptor or of memory. Not Asio's own
// operation: that one ends in the loop, out of anyone's reach, when it finds no memory for the socket.
bool Worker::accept_waiting(Listener& listener) noexcept {
  try {
    for (int i = 0; i < accepts_at_once; ++i) {
      boost::system::error_code error;
      asio::generic::stream_protocol::socket socket(io_);
      asio::generic::stream_protocol::endpoint peer;
      listener.acceptor.accept(socket, peer, error);
      if (error == asio::error::would_block || error == asio::error::try_again) break;
      if (error) return false;
      open_session(std::move(socket), peer, listener);
    }
    return true;
  } catch (std::exception const& error) {
    observe::log_error("session-not-begun", {{"what", std::string_view(error.what())}});
    return false;
  }
}

void Worker::open_session(wire::Stream::Socket socket, asio::generic::stream_protocol::endpoint const& peer,
                          Listener const& listener) {
  auto const turn_away = [this] { local_.metrics.shed[static_cast<std::size_t>(observe::ShedReason::connections)].add(); };
  bool const is_local = listener.address.starts_with("unix:");
  auto address = is_local ? std::string("unix") : ip_address(peer);
  if (address.empty()) return turn_away();
  if (!is_local) {
    boost::system::error_code ignored;  // Nagle is slower, not wrong
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  }
  if (connections_.full()) return turn_away();
  auto const session =
      std::make_shared<Session>(*this, std::make_shared<wire::Stream>(std::move(socket)), std::move(address), &listener);
  session->set_owner(session);
  if (!connections_.enter()) return turn_away();
  sessions_.push_back(*session);
  session_count_.fetch_add(1, std::memory_order_acq_rel);
  local_.metrics.connections.fetch_add(1, std::memory_order_relaxed);
  Ending ending(*this, session);  // from here on it leaves by itself
  if (!listener.preface.proxied) {
    if (!connections_.admit(session->address())) return turn_away();
    session->set_admitted();
  }
  if (listener.retiring) session->retire();
  asio::co_spawn(io_, session->run(listener.preface), std::move(ending));
}

void Worker::finished(Session& session) noexcept {
  session.end();
  if (session.is_admitted())
    connections_.leave(session.address());
  else
    connections_.leave();
  local_.metrics.connections.fetch_sub(1, std::memory_order_relaxed);
  session_count_.fetch_sub(1, std::memory_order_acq_rel);
}

asio::awaitable<void> Worker::housekeeping() {
  asio::basic_waitable_timer<base::Clock> second(io_);
  for (;;) {
    second.expires_after(std::chrono::seconds(1));
    co_await second.async_wait(tuple);
    auto const now = base::read_clock();
    turns_.fetch_add(1, std::memory_order_relaxed);
    timekeeper_.tend();
    for (auto& [name, pool] : local_.pools) pool->sweep(now.steady);
    if (each_second_) each_second_(now);
  }
}

void Worker::retire(std::shared_ptr<Listener> const& listener) {
  if (std::exchange(listener->retiring, true)) return;
  refuse_handshakes(listener->acceptor.native_handle());
  for (auto& session : sessions_)
    if (session.door() == listener.get()) session.retire();
  try {
    asio::co_spawn(io_, close(Closing(*this, listener)), log_end);
  } catch (std::exception const&) {
    log_end(std::current_exception());  // it is closed at once
  }
}

asio::awaitable<void> Worker::close(Closing in_the_end) {
  Closing const closing = std::move(in_the_end);
  auto const& listener = closing.listener;
  asio::basic_waitable_timer<base::Clock> handshakes(io_);
  auto const end = base::Clock::now() + handshake_time;
  while (handshakes_under_way(listener->acceptor.native_handle()) && base::Clock::now() < end) {
    handshakes.expires_after(handshake_look);
    co_await handshakes.async_wait(tuple);
  }
  // Connections that the kernel has completed are owed an answer.
  while (accept_waiting(*listener) && listener->has_waiting()) {}
}

void Worker::stop_listening(std::string const& address) {
  auto const all = listeners_;
  for (auto const& listener : all)
    if (listener->address == address) retire(listener);
}

void Worker::begin_drain() {
  asio::post(io_, [this] {
    auto const all = listeners_;
    for (auto const& listener : all) retire(listener);
    for (auto& session : sessions_) session.retire();
  });
}

void Worker::stop() { io_.stop(); }

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace weir::server
