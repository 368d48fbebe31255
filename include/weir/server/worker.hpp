// One thread, one io_context, its listening sockets (SO_REUSEPORT) and its sessions. A connection never moves. Owner: the
// daemon. Threads: everything but start, begin_drain, stop, join and `sessions` happens on its own.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>

#include "weir/proxy/context.hpp"
#include "weir/server/session.hpp"
#include "weir/server/timekeeper.hpp"

namespace weir::server {

// Connections over all workers, in all and by client address (REQ-3). Threads: any.
class ConnectionCount {
 public:
  // 0: no bound.
  void set_limits(std::uint64_t in_all, std::uint64_t by_address) noexcept;
  bool enter(std::string const& address);
  void leave(std::string const& address) noexcept;
  std::uint64_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> open_{0}, limit_{0}, by_address_limit_{0};
  std::mutex mutex_;  // guards `by_address_`, used only with that limit
  std::map<std::string, std::uint64_t> by_address_;
};

// Frames of coroutines are destroyed by `shutdown`, while what they refer to is still there.
class Loop : public asio::io_context {
 public:
  Loop() : asio::io_context(1) {}
  using asio::execution_context::shutdown;
};

class Worker {
 public:
  Worker(std::uint16_t index, proxy::Shared& shared, observe::WorkerMetrics& metrics, ConnectionCount& connections);
  ~Worker();

  asio::io_context& io() noexcept { return io_; }
  proxy::Local& local() noexcept { return local_; }
  Timekeeper& timekeeper() noexcept { return timekeeper_; }
  ConnectionCount& connections() noexcept { return connections_; }

  // Before start: the settings, pools, and a listening socket (owned from now on).
  void use(std::shared_ptr<config::Settings const> settings);
  void listen(int descriptor, std::string address);
  // Called each second on the worker, for housekeeping of shared parts; worker 0's does them.
  void set_each_second(std::function<void(base::Now)> task) { each_second_ = std::move(task); }

  void start();
  void begin_drain();  // accepts what waits already, then closes listeners and idle sessions
  void stop();         // ends the loop; frames stay until destruction
  void join();
  void destroy_frames() { io_.shutdown(); }  // after all workers were joined, before any is destroyed
  std::size_t sessions() const noexcept { return session_count_.load(std::memory_order_acquire); }

  // The spare exchange for requests that are answered at once.
  std::unique_ptr<proxy::Exchange> spare_exchange;

 private:
  friend class Session;
  struct Listener;
  asio::awaitable<void> accept(Listener& listener);
  void open_session(wire::Stream::Socket socket, Listener const& listener);
  asio::awaitable<void> housekeeping();
  void finished(Session& session) noexcept;

  Loop io_;
  proxy::Local local_;
  ConnectionCount& connections_;
  Timekeeper timekeeper_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  boost::intrusive::list<Session,
                         boost::intrusive::member_hook<Session, decltype(Session::worker_hook), &Session::worker_hook>,
                         boost::intrusive::constant_time_size<false>>
      sessions_;
  std::atomic<std::size_t> session_count_{0};
  std::function<void(base::Now)> each_second_;
  std::thread thread_;
};

// A non-blocking listening socket for "host:port" or "unix:/path", with SO_REUSEPORT for TCP. Throws std::system_error whose
// message names the address. A stale unix socket file is replaced.
int open_listener(std::string const& address, bool first);
// The bound address, with the port that the system chose for port 0.
std::string bound_address(int descriptor);

}  // namespace weir::server
