#include "slow_origin.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace weir::stampede {

namespace asio = boost::asio;
using namespace demo;
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t drip_parts = 10;

namespace {

asio::awaitable<void> pass(asio::any_io_executor executor, Milliseconds time) {
  asio::steady_timer timer(executor, time);
  co_await timer.async_wait(awaited);
}

asio::awaitable<bool> write(Tcp::socket& socket, std::string_view bytes) {
  auto const [error, sent] = co_await asio::async_write(socket, asio::buffer(bytes), awaited);
  co_return !error && sent == bytes.size();
}

std::string head_of(OriginAnswer const& answer) {
  return "HTTP/1.1 " + std::to_string(answer.status) + " Said\r\nContent-Type: text/plain\r\n" +
         (answer.cache_control.empty() ? "" : "Cache-Control: " + answer.cache_control + "\r\n") +
         "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n";
}

}  // namespace

SlowOrigin::SlowOrigin(Tcp::endpoint where) : acceptor_(context_, where) {
  acceptor_.listen(4096);
  asio::co_spawn(context_, accept_all(), report);
  thread_ = std::thread([this] { context_.run(); });
}

SlowOrigin::~SlowOrigin() {
  context_.stop();
  thread_.join();
}

void SlowOrigin::script(Script script) {
  std::lock_guard const lock(mutex_);
  script_ = std::move(script);
  calls_ = most_at_once_ = 0;
}

unsigned SlowOrigin::calls() const {
  std::lock_guard const lock(mutex_);
  return calls_;
}

unsigned SlowOrigin::most_at_once() const {
  std::lock_guard const lock(mutex_);
  return most_at_once_;
}

OriginAnswer SlowOrigin::begin_call() {
  std::lock_guard const lock(mutex_);
  most_at_once_ = std::max(most_at_once_, ++at_once_);
  ++calls_;
  return script_ ? script_(calls_) : OriginAnswer();
}

void SlowOrigin::end_call() {
  std::lock_guard const lock(mutex_);
  --at_once_;
}

asio::awaitable<void> SlowOrigin::accept_all() {
  for (;;) {
    auto [error, socket] = co_await acceptor_.async_accept(awaited);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {
      co_await pass(acceptor_.get_executor(), Milliseconds(20));  // out of descriptors, most likely
      continue;
    }
    auto connection = serve(std::move(socket));
    asio::co_spawn(context_, std::move(connection), report);
  }
}

asio::awaitable<void> SlowOrigin::serve(Tcp::socket socket) {
  std::string buffer, body;
  for (bool goes_on = true; goes_on;) {
    Head const head = co_await read_message(socket, buffer, body);
    if (head.first_line.empty()) co_return;
    if (head.first_line.find(" /ready ") != std::string::npos) {
      goes_on = co_await write(socket, "HTTP/1.1 200 Said\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n");
      continue;
    }
    OriginAnswer const answer = begin_call();
    goes_on = co_await play(socket, answer, head.first_line.starts_with("HEAD "));
    end_call();
  }
}

// False when the connection is of no more use.
asio::awaitable<bool> SlowOrigin::play(Tcp::socket& socket, OriginAnswer answer, bool head_only) {
  if (answer.hangs) {
    char byte = 0;
    co_await socket.async_read_some(asio::buffer(&byte, 1), awaited);  // until the other side gives up
    co_return false;
  }
  co_await pass(socket.get_executor(), answer.thinking);
  std::string const head = head_of(answer);
  if (head_only) co_return co_await write(socket, head);
  if (answer.breaks) {
    co_await write(socket, head + answer.body.substr(0, answer.body.size() / 2));
    co_await pass(socket.get_executor(), Milliseconds(20));  // a reset overtakes what has not been read
    boost::system::error_code ignored;                       // it is closed either way
    socket.set_option(asio::socket_base::linger(true, 0), ignored);
    co_return false;
  }
  if (answer.drip == Milliseconds(0)) co_return co_await write(socket, head + answer.body);
  bool alive = co_await write(socket, head);
  std::size_t const part = answer.body.size() / drip_parts;
  for (std::size_t i = 0; alive && i < drip_parts; ++i) {
    std::string_view const rest = std::string_view(answer.body).substr(i * part);
    alive = co_await write(socket, i + 1 < drip_parts ? rest.substr(0, part) : rest);
    co_await pass(socket.get_executor(), answer.drip / drip_parts);
  }
  co_return alive;
}

}  // namespace weir::stampede
