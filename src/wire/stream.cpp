#include "weir/wire/stream.hpp"

#include <sys/socket.h>

#include <openssl/err.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace weir::wire {
namespace {

constexpr auto tuple = asio::as_tuple(asio::use_awaitable);

// A peer that cuts a TLS stream without close_notify has not ended it cleanly; the caller decides what that means.
error_code plain_error(error_code error) {
  return error == asio::ssl::error::stream_truncated ? asio::error::connection_reset : error;
}

}  // namespace

Stream::Stream(Socket socket) : socket_(std::move(socket)) {
  error_code ignored;  // a socket that refuses this fails at its first operation, where it is handled
  socket_.non_blocking(true, ignored);
}

asio::awaitable<error_code> Stream::start_tls_client(asio::ssl::context& context, std::string const& server_name) {
  tls_ = std::make_unique<asio::ssl::stream<Socket&>>(socket_, context);
  if (!server_name.empty()) {
    error_code not_an_address;
    asio::ip::make_address(server_name, not_an_address);
    if (not_an_address) SSL_set_tlsext_host_name(tls_->native_handle(), server_name.c_str());  // RFC 6066 3: names only
    tls_->set_verify_callback(asio::ssl::host_name_verification(server_name));
  }
  auto const [error] = co_await tls_->async_handshake(asio::ssl::stream_base::client, tuple);
  co_return error;
}

asio::awaitable<Transferred> Stream::read_some(std::span<char> into) {
  auto const buffer = asio::buffer(into.data(), into.size());
  if (tls_) {
    auto const [error, bytes] = co_await tls_->async_read_some(buffer, tuple);
    co_return Transferred{plain_error(error), bytes};
  }
  auto const [error, bytes] = co_await socket_.async_read_some(buffer, tuple);
  co_return Transferred{error, bytes};
}

asio::awaitable<Transferred> Stream::write(std::span<asio::const_buffer const> buffers) {
  // The composed operation copies the sequence; a small fixed one spares an allocation for each.
  for (std::size_t total = 0, i = 0;; ++i) {
    if (i == buffers.size()) co_return Transferred{{}, total};
    if (buffers[i].size() == 0) continue;
    auto const [error, bytes] = tls_ ? co_await asio::async_write(*tls_, asio::const_buffer(buffers[i]), tuple)
                                     : co_await asio::async_write(socket_, asio::const_buffer(buffers[i]), tuple);
    total += bytes;
    if (error) co_return Transferred{plain_error(error), total};
  }
}

asio::awaitable<Transferred> Stream::write(asio::const_buffer buffer) {
  co_return co_await write(std::span<asio::const_buffer const>(&buffer, 1));
}

Transferred Stream::try_read(std::span<char> into) noexcept {
  if (tls_) return {asio::error::would_block, 0};
  Transferred result;
  result.bytes = socket_.read_some(asio::buffer(into.data(), into.size()), result.error);
  return result;
}

Transferred Stream::try_write(std::span<asio::const_buffer const> buffers) noexcept {
  if (tls_) return {asio::error::would_block, 0};
  Transferred result;
  result.bytes = socket_.write_some(buffers, result.error);
  return result;
}

bool Stream::has_bytes() const noexcept {
  error_code error;
  return socket_.available(error) > 0 && !error;
}

bool Stream::is_stale() noexcept {
  char byte = 0;
  if (tls_) {
    // What came in the same record as the last message waits behind the socket, in the TLS layer. The queue of errors is the
    // thread's: this look leaves nothing behind in it.
    auto* const tls = tls_->native_handle();
    bool const silent = SSL_peek(tls, &byte, 1) <= 0 && SSL_get_shutdown(tls) == 0;
    ERR_clear_error();
    if (!silent) return true;
  }
  auto const got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void Stream::close() noexcept {
  error_code ignored;  // closing has no failure that anyone could act on
  socket_.close(ignored);
}

void Stream::reset() noexcept {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  socket_.close(ignored);
}

void Stream::shutdown_send() noexcept {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

}  // namespace weir::wire
