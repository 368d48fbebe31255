#include "weir/wire/stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "tls.hpp"

namespace weir::wire {
namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
// A peer that is as fast as we are would keep its worker to itself.
constexpr unsigned most_at_once = 16;

}  // namespace

Stream::Stream(Socket socket) : socket_(std::move(socket)) {
  error_code ignored;  // a socket that refuses this fails at its first operation, where it is handled
  socket_.non_blocking(true, ignored);
}

Stream::~Stream() {
  if (socket_.is_open()) close();
}

asio::awaitable<error_code> Stream::start_tls_client(asio::ssl::context& context, std::string const& server_name) {
  tls_ = std::make_unique<Tls>(socket_, context.native_handle());
  tls_->be_client(server_name);
  co_return co_await shake_hands();
}

asio::awaitable<error_code> Stream::start_tls_server(asio::ssl::context& context) {
  tls_ = std::make_unique<Tls>(socket_, context.native_handle());
  tls_->be_server();
  co_return co_await shake_hands();
}

asio::awaitable<error_code> Stream::shake_hands() {
  for (;;) {
    auto const step = tls_->shake_hands();
    if (step != asio::error::would_block) co_return step;
    auto const [error] = co_await socket_.async_wait(tls_->owes() ? Socket::wait_write : Socket::wait_read, tuple);
    if (error) co_return error;
  }
}

// False: cancelled meanwhile.
asio::awaitable<bool> Stream::give_way() {
  if (++at_once_ < most_at_once) co_return true;
  at_once_ = 0;
  auto const before = cancelled_;
  co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  co_return before == cancelled_;
}

asio::awaitable<Transferred> Stream::read_tls(std::span<char> into) {
  if (!co_await give_way()) co_return Transferred{asio::error::operation_aborted, 0};
  for (;;) {
    auto const got = tls_->read(into);
    if (got.error != asio::error::would_block) co_return got;
    at_once_ = 0;
    auto const [error] = co_await socket_.async_wait(Socket::wait_read, tuple);
    if (error) co_return Transferred{error, 0};
  }
}

asio::awaitable<Transferred> Stream::write_tls(std::span<asio::const_buffer const> buffers) {
  if (!co_await give_way()) co_return Transferred{asio::error::operation_aborted, 0};
  std::size_t total = 0;
  for (auto rest : buffers) {
    while (rest.size() > 0) {
      auto const put = tls_->write({&rest, 1});
      total += put.bytes;
      rest += put.bytes;
      if (!put.error) continue;
      if (put.error != asio::error::would_block) co_return Transferred{put.error, total};
      at_once_ = 0;
      auto const [error] = co_await socket_.async_wait(Socket::wait_write, tuple);
      if (error) co_return Transferred{error, total};
    }
  }
  co_return Transferred{{}, total};
}

asio::awaitable<Transferred> Stream::read_some(std::span<char> into) {
  if (tls_) co_return co_await read_tls(into);
  auto const [error, bytes] = co_await socket_.async_read_some(asio::buffer(into.data(), into.size()), tuple);
  co_return Transferred{error, bytes};
}

asio::awaitable<Transferred> Stream::write(std::span<asio::const_buffer const> buffers) {
  if (tls_) co_return co_await write_tls(buffers);
  // As a rule the socket takes everything at once, and then the loop need not turn for it.
  auto done = try_write(buffers);
  if (done.error == asio::error::would_block || done.error == asio::error::try_again) done = {};
  auto skip = done.bytes;
  // The composed operation copies the sequence; a small fixed one spares an allocation for each.
  for (std::size_t i = 0; !done.error && i < buffers.size(); ++i) {
    auto const rest = buffers[i] + skip;
    skip -= std::min(skip, buffers[i].size());
    if (rest.size() == 0) continue;
    auto const [error, bytes] = co_await asio::async_write(socket_, rest, tuple);
    done.bytes += bytes;
    done.error = error;
  }
  co_return done;
}

asio::awaitable<Transferred> Stream::write(asio::const_buffer buffer) {
  co_return co_await write(std::span<asio::const_buffer const>(&buffer, 1));
}

Transferred Stream::try_read(std::span<char> into) noexcept {
  if (tls_) return tls_->read(into);
  Transferred result;
  result.bytes = socket_.read_some(asio::buffer(into.data(), into.size()), result.error);
  return result;
}

Transferred Stream::try_write(std::span<asio::const_buffer const> buffers) noexcept {
  if (tls_) return tls_->write(buffers);
  Transferred result;
  result.bytes = socket_.write_some(buffers, result.error);
  return result;
}

Transferred Stream::peek(std::span<char> into) noexcept {
  auto const got = ::recv(socket_.native_handle(), into.data(), into.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return {error_code(errno, boost::system::system_category()), 0};
  if (got == 0) return {asio::error::eof, 0};
  return {{}, static_cast<std::size_t>(got)};
}

// What OpenSSL holds already shows at no socket: one that can be written to comes round as soon.
Stream::Socket::wait_type Stream::sign_of_tls_bytes() const noexcept {
  return tls_->holds_bytes() ? Socket::wait_write : Socket::wait_read;
}

bool Stream::has_bytes() const noexcept {
  error_code error;
  return (tls_ && tls_->holds_bytes()) || (socket_.available(error) > 0 && !error);
}

bool Stream::has_begun() const noexcept { return tls_ && tls_->holds_part_of_a_record(); }

bool Stream::is_stale() noexcept {
  char byte = 0;
  if (tls_ && !tls_->is_silent()) return true;
  auto const got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void Stream::close() noexcept {
  if (tls_ && socket_.is_open() && !breaks_) tls_->say_goodbye();
  error_code ignored;  // closing has no failure that anyone could act on
  socket_.close(ignored);
}

void Stream::cancel() noexcept {
  ++cancelled_;
  error_code ignored;  // a socket that cannot be cancelled is closed already
  socket_.cancel(ignored);
}

void Stream::reset() noexcept {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

void Stream::end_is_a_break(bool on) noexcept {
  breaks_ = on;
  error_code ignored;  // a socket that refuses this is broken already
  socket_.set_option(asio::socket_base::linger(on, 0), ignored);
}

std::size_t Stream::unsent() const noexcept {
  int bytes = 0;
  return ::ioctl(const_cast<Socket&>(socket_).native_handle(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

asio::awaitable<error_code> Stream::flush_tls() {
  for (;;) {
    auto const error = tls_->write({}).error;
    if (error != asio::error::would_block) co_return error;
    auto const [waited] = co_await socket_.async_wait(Socket::wait_write, tuple);
    if (waited) co_return waited;
  }
}

asio::awaitable<error_code> Stream::finish() {
  if (tls_) {
    if (auto const error = co_await flush_tls()) co_return error;
    tls_->say_goodbye();
    if (auto const error = co_await flush_tls()) co_return error;
  }
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  co_return error;
}

}  // namespace weir::wire
