#include "weir/admin/server.hpp"

#include <unistd.h>

#include <exception>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "listener.hpp"
#include "session.hpp"
#include "weir/http/field.hpp"
#include "weir/observe/log.hpp"
#include "weir/wire/lasting.hpp"

namespace weir::admin {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;
using Timer = asio::basic_waitable_timer<base::Clock>;

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
constexpr base::Duration accept_pause = 1s;  // after an accept that failed
constexpr base::Duration stop_grace = 1s;    // for calls under way at the stop
constexpr std::string_view too_many =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

std::string what_of(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& caught) { return caught.what(); }
}

bool is_off(std::string const& address) noexcept { return address.empty() || address == "off"; }

}  // namespace

boost::system::result<std::string, StartError> read_token(std::string const& file) {
  if (file.empty()) return std::string();
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  std::string token = std::move(text).str();
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!in || token.empty() || !http::is_field_value(token)) {
    return StartError{StartFault::token_unreadable, "admin.token_file: `" + file + "` holds no token that can be read"};
  }
  return token;
}

namespace {

// Loaded settings hold the token, wherever it came from.
boost::system::result<std::string, StartError> token_of(config::Admin const& settings) {
  if (settings.token.empty()) return read_token(settings.token_file);
  if (http::is_field_value(settings.token)) return settings.token;
  return StartError{StartFault::token_unreadable, "admin.token: no field of a request can hold it"};
}

}  // namespace

// The connections of one listener: whoever fills the one door leaves the other open.
struct Guests {
  std::size_t most = 0;
  std::set<Session*> sessions{};
};

// One listening address. The socket's file goes with it.
struct Listener {
  Listener(Acceptor a, Door d, std::string path, Guests& g)
      : acceptor(std::move(a)), door(std::move(d)), unix_path(std::move(path)), guests(g) {}
  Listener(Listener const&) = delete;
  Listener& operator=(Listener const&) = delete;
  ~Listener() {
    if (!unix_path.empty()) ::unlink(unix_path.c_str());
  }

  std::uint16_t port() const {
    error_code error;
    auto const endpoint = acceptor.local_endpoint(error);
    int const family = endpoint.protocol().family();
    if (error || (family != AF_INET && family != AF_INET6)) return 0;
    asio::ip::tcp::endpoint tcp;
    std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
    return tcp.port();
  }

  Acceptor acceptor;
  Door door;
  std::string unix_path;
  Guests& guests;
};

// Members in the order in which they may die: frames that the context destroys refer to what stands before it, and no I/O
// object outlives it.
struct Server::Impl {
  boost::system::result<std::unique_ptr<Listener>, StartError> listen(std::string_view setting, std::string const& text,
                                                                      Door door, Guests& guests, bool needs_token);
  void start();
  void run() noexcept;
  void stop() noexcept;
  asio::awaitable<void> accept(Listener& listener);
  std::string begin(Listener& listener, wire::Stream::Socket socket);
  void refuse(wire::Stream::Socket socket, std::size_t bound);
  bool is_empty() const noexcept { return at_admin.sessions.empty() && at_open.sessions.empty(); }
  void ended(std::exception_ptr const& error);
  void begin_stop();

  bool stopping = false;  // the admin thread's, as are the three below
  Guests at_admin{max_connections}, at_open{max_open_connections};
  observe::EverySoOften complain{60s};
  asio::io_context context{1};
  std::unique_ptr<Listener> admin, open;
  Timer grace{context};
  Timer pause{context};
  std::thread thread;
};

boost::system::result<std::unique_ptr<Listener>, StartError> Server::Impl::listen(std::string_view setting,
                                                                                  std::string const& text, Door door,
                                                                                  Guests& guests, bool needs_token) {
  auto const address = parse_address(setting, text);
  if (!address) return address.error();
  if (needs_token && !address->local && door.token.empty()) {
    return StartError{
        StartFault::token_required,
        std::string(setting) + ": `" + text + "` is open to the network, so admin.token or admin.token_file is required"};
  }
  auto acceptor = listen_on(context, setting, *address);
  if (!acceptor) return acceptor.error();
  door.browsable = address->unix_path.empty();
  return std::make_unique<Listener>(std::move(*acceptor), std::move(door), address->unix_path, guests);
}

void Server::Impl::start() {
  for (auto* const listener : {admin.get(), open.get()}) {
    if (listener == nullptr) continue;
    auto const on_end = [](std::exception_ptr const& error) {
      if (error) observe::log_error("admin-listener-failed");
    };
    wire::Lasting::begin(
        context, [this, listener] { return accept(*listener); }, on_end);
  }
  if (admin || open) thread = std::thread([this] { run(); });
}

void Server::Impl::run() noexcept {
  for (;;) {
    try {
      context.run();
      return;
    } catch (std::exception const& error) {  // from a handler of a library; the loop goes on
      observe::log_error("admin-exception", {{"what", std::string_view(error.what())}});
    }
  }
}

asio::awaitable<void> Server::Impl::accept(Listener& listener) {
  while (!stopping) {
    auto [error, socket] = co_await listener.acceptor.async_accept(tuple);
    if (stopping) co_return;
    std::string trouble = error ? error.message() : begin(listener, std::move(socket));
    if (trouble.empty()) continue;
    if (auto const skipped = complain(base::read_clock().steady)) {
      observe::log_warning("admin-accept-failed", {{"what", trouble}, {"skipped", *skipped}});
    }
    pause.expires_after(accept_pause);
    co_await pause.async_wait(tuple);
  }
}

// What went wrong, if anything. The listener must outlive a moment without memory.
std::string Server::Impl::begin(Listener& listener, wire::Stream::Socket socket) try {
  auto& guests = listener.guests;
  if (guests.sessions.size() >= guests.most) {
    refuse(std::move(socket), guests.most);
    return {};
  }
  auto session = std::make_shared<Session>(std::move(socket), listener.door, stopping, guests.sessions);
  auto& runs = *session;
  auto on_end = [this, session = std::move(session)](std::exception_ptr const& error) mutable {
    session.reset();
    ended(error);
  };
  asio::co_spawn(context, runs.run(), std::move(on_end));
  return {};
} catch (std::exception const& error) { return error.what(); }

void Server::Impl::refuse(wire::Stream::Socket socket, std::size_t bound) {
  error_code error;
  socket.non_blocking(true, error);
  if (!error) socket.write_some(asio::buffer(too_many), error);
  if (auto const skipped = complain(base::read_clock().steady)) {
    observe::log_warning("admin-connections-at-bound", {{"bound", bound}, {"skipped", *skipped}});
  }
}

void Server::Impl::ended(std::exception_ptr const& error) {
  if (stopping && is_empty()) grace.cancel();
  if (error) observe::log_error("admin-session-failed", {{"what", what_of(error)}});
}

void Server::Impl::begin_stop() {
  stopping = true;
  for (auto* const listener : {admin.get(), open.get()}) {
    error_code error;
    if (listener != nullptr) listener->acceptor.close(error);
    if (error) observe::log_warning("admin-close-failed", {{"error", error.message()}});
  }
  pause.cancel();
  for (auto const* const guests : {&at_admin, &at_open})
    for (auto* const session : guests->sessions) session->close_if_idle();
  if (is_empty()) return;
  grace.expires_after(stop_grace);
  grace.async_wait([this](error_code error) {
    if (!error) context.stop();
  });
}

void Server::Impl::stop() noexcept {
  if (!thread.joinable()) return;
  asio::post(context, [this] { begin_stop(); });
  thread.join();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() { stop(); }

boost::system::result<std::unique_ptr<Server>, StartError> Server::open(config::Admin const& settings, Router admin,
                                                                        Router open) {
  auto impl = std::make_unique<Impl>();
  auto token = token_of(settings);
  if (!token) return token.error();
  if (!is_off(settings.listen)) {
    auto listener =
        impl->listen("admin.listen", settings.listen, {.router = std::move(admin), .token = *token}, impl->at_admin, true);
    if (!listener) return listener.error();
    impl->admin = std::move(*listener);
  }
  if (!is_off(settings.metrics_listen)) {
    auto listener =
        impl->listen("admin.metrics_listen", settings.metrics_listen, {.router = std::move(open)}, impl->at_open, false);
    if (!listener) return listener.error();
    impl->open = std::move(*listener);
  }
  impl->start();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::stop() noexcept { impl_->stop(); }

std::uint16_t Server::port() const noexcept { return impl_->admin ? impl_->admin->port() : 0; }

std::uint16_t Server::metrics_port() const noexcept { return impl_->open ? impl_->open->port() : 0; }

asio::io_context& Server::context() noexcept { return impl_->context; }

}  // namespace weir::admin
