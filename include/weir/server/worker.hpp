// One thread, one io_context, its listening sockets (SO_REUSEPORT) and its sessions. A connection never moves. Owner: the
// daemon. Threads: everything but start, begin_drain, stop, join and the counts happens on its own.
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
  bool full() const noexcept;  // at the first of them
  bool enter() noexcept;
  bool admit(std::string const& address);
  void leave() noexcept;
  void leave(std::string const& address) noexcept;  // who was admitted
  std::uint64_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> open_{0}, limit_{0}, by_address_limit_{0};
  std::mutex mutex_;  // guards `by_address_`
  std::map<std::string, std::uint64_t> by_address_;
};

// Frames of coroutines are destroyed by `shutdown`, while what they refer to is still there.
// Everything that does I/O or waits on it runs on its thread, so Asio's locks around sockets and timers are off (three of
// the five of a hit); other threads only post to it.
class Loop : public asio::io_context {
 public:
  Loop() : asio::io_context(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO) {}
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

  // Before start, then on its own thread: the setup for requests from now on, and a listening socket (owned from now on).
  void use(std::shared_ptr<proxy::Setup const> setup);
  void listen(int descriptor, std::string address);
  // How connections to it begin from now on; plain until this is called.
  void use_preface(std::string const& address, Preface const& preface);
  // On its own thread: accepts what waits already, then closes it; its sessions end with their next answer.
  void stop_listening(std::string const& address);
  // Called each second on the worker, for housekeeping of shared parts; worker 0's does them.
  void set_each_second(std::function<void(base::Now)> task) { each_second_ = std::move(task); }

  void start();
  void begin_drain();  // the same for all listeners
  void stop();         // ends the loop; frames stay until destruction
  void join();
  void destroy_frames() { io_.shutdown(); }  // after all workers were joined, before any is destroyed
  std::size_t sessions() const noexcept { return session_count_.load(std::memory_order_acquire); }
  // Of these, those that have said their last and only wait for the client to hear it.
  std::size_t lingering() const noexcept { return lingering_.load(std::memory_order_acquire); }
  std::atomic<std::size_t>& lingering_count() noexcept { return lingering_; }
  std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_relaxed); }  // grows each second
  std::size_t listeners() const noexcept { return listener_count_.load(std::memory_order_acquire); }

  // The spare exchange for requests that are answered at once.
  std::unique_ptr<proxy::Exchange> spare_exchange;

 private:
  friend class Session;
  struct Listener;
  struct Closing;  // of a listener
  struct Ending;   // of a session
  void begin_accepting(std::shared_ptr<Listener> const& listener);
  asio::awaitable<void> accept(std::shared_ptr<Listener> listener);
  void retire(std::shared_ptr<Listener> const& listener);
  asio::awaitable<void> close(Closing in_the_end);
  bool accept_waiting(Listener& listener) noexcept;
  void open_session(wire::Stream::Socket socket, boost::asio::generic::stream_protocol::endpoint const& peer,
                    Listener const& listener);
  asio::awaitable<void> housekeeping();
  void finished(Session& session) noexcept;

  Loop io_;
  proxy::Local local_;
  ConnectionCount& connections_;
  Timekeeper timekeeper_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::atomic<std::size_t> listener_count_{0};
  std::atomic<std::uint64_t> turns_{0};
  bool running_ = false;
  boost::intrusive::list<Session,
                         boost::intrusive::member_hook<Session, decltype(Session::worker_hook), &Session::worker_hook>,
                         boost::intrusive::constant_time_size<false>>
      sessions_;
  std::atomic<std::size_t> session_count_{0}, lingering_{0};
  std::function<void(base::Now)> each_second_;
  std::thread thread_;
};

// A non-blocking listening socket for "host:port" or "unix:/path", with SO_REUSEPORT for TCP. Throws std::system_error whose
// message names the address. A stale unix socket file is replaced.
// `mode`: of a unix socket's file.
int open_listener(std::string const& address, bool first, std::uint32_t mode);
// No new connection: handshakes that have begun end well, others find nobody once the socket is closed. Without effect on
// unix sockets, whose files the daemon removes.
void refuse_handshakes(int descriptor) noexcept;
// Whether the kernel has handshakes under way for the port of a listening socket, as far as it tells: yes, if it does not.
bool handshakes_under_way(int descriptor) noexcept;
// The file of a unix socket gets another mode; nothing else to do for other addresses.
boost::system::error_code set_listener_mode(std::string const& address, std::uint32_t mode) noexcept;
// Removes the file of a unix socket, so that nobody connects to it any more; of other addresses there is nothing to remove.
void forget_listener(std::string const& address) noexcept;
// The bound address, with the port that the system chose for port 0.
std::string bound_address(int descriptor);

}  // namespace weir::server
