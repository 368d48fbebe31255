#include "tls.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

#include "weir/base/assert.hpp"

namespace weir::wire {
namespace {

bool must_wait(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// The next record's bytes, from `offset` on: where they lie together as they are, else gathered in `room`.
std::span<char const> next_record(std::span<asio::const_buffer const> buffers, std::size_t offset,
                                  std::array<char, Tls::record_size>& room) noexcept {
  std::size_t gathered = 0;
  for (std::size_t i = 0; i < buffers.size() && gathered < room.size(); ++i) {
    auto const skip = std::min(offset, buffers[i].size());
    auto const rest = buffers[i] + skip;
    offset -= skip;
    if (rest.size() == 0) continue;
    auto const* const bytes = static_cast<char const*>(rest.data());
    auto const size = std::min(rest.size(), room.size() - gathered);
    if (gathered == 0 && (size == room.size() || i + 1 == buffers.size())) return {bytes, size};
    std::memcpy(room.data() + gathered, bytes, size);
    gathered += size;
  }
  return {room.data(), gathered};
}

}  // namespace

BIO_METHOD* Tls::method() noexcept {
  static BIO_METHOD* const made = [] {
    auto* const it = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir socket");
    WEIR_ASSERT(it != nullptr);
    BIO_meth_set_write(it, &Tls::send);
    BIO_meth_set_read(it, &Tls::receive);
    BIO_meth_set_ctrl(it, &Tls::control);
    return it;
  }();
  return made;
}

// Takes everything: OpenSSL never has to be asked again with the same bytes, and reading and writing do not wait for each
// other.
int Tls::send(BIO* bio, char const* data, int size) noexcept {
  auto& self = *static_cast<Tls*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  std::size_t const all = size > 0 ? static_cast<std::size_t>(size) : 0;
  std::size_t sent = 0;
  if (!self.owes()) {
    auto const taken = ::send(self.socket_.native_handle(), data, all, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && !must_wait(errno)) {
      self.system_error_ = errno;
      return -1;
    }
    if (taken > 0) sent = static_cast<std::size_t>(taken);
  }
  if (sent == all) return size;
  if (self.unsent_.size() - self.sent_ + all - sent > most_unsent) return -1;
  try {
    self.unsent_.append(data + sent, all - sent);
  } catch (std::bad_alloc const&) {  // C calls us
    self.system_error_ = ENOMEM;
    return -1;
  }
  return size;
}

int Tls::receive(BIO* bio, char* into, int size) noexcept {
  auto& self = *static_cast<Tls*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  auto const got = ::recv(self.socket_.native_handle(), into, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (got < 0 && must_wait(errno))
    BIO_set_retry_read(bio);
  else if (got < 0)
    self.system_error_ = errno;
  else if (got == 0)
    self.ended_ = true;
  return static_cast<int>(got);
}

long Tls::control(BIO* bio, int command, long, void*) noexcept {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return static_cast<Tls*>(BIO_get_data(bio))->ended_ ? 1 : 0;
  return 0;
}

Tls::Tls(Stream::Socket& socket, SSL_CTX* context) : socket_(socket), ssl_(SSL_new(context)) {
  auto* const bio = ssl_ != nullptr ? BIO_new(method()) : nullptr;
  if (bio == nullptr) {
    SSL_free(ssl_);
    throw std::bad_alloc();
  }
  BIO_set_data(bio, this);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_mode(ssl_, SSL_MODE_RELEASE_BUFFERS);
  SSL_set_read_ahead(ssl_, 1);
}

Tls::~Tls() { SSL_free(ssl_); }

void Tls::be_client(std::string const& server_name) noexcept {
  SSL_set_connect_state(ssl_);
  if (server_name.empty()) return;
  error_code not_an_address;
  asio::ip::make_address(server_name, not_an_address);
  if (!not_an_address) {
    failed_ = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), server_name.c_str()) != 1;
    return;
  }
  SSL_set_hostflags(ssl_, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // RFC 6066 3: names only.
  failed_ = SSL_set_tlsext_host_name(ssl_, server_name.c_str()) != 1 || SSL_set1_host(ssl_, server_name.c_str()) != 1;
}

void Tls::be_server() noexcept { SSL_set_accept_state(ssl_); }

error_code Tls::shake_hands() noexcept {
  if (failed_) return asio::error::invalid_argument;
  if (auto const error = flush()) return error;
  if (SSL_is_init_finished(ssl_) == 1) return {};
  ERR_clear_error();
  int const result = SSL_do_handshake(ssl_);
  auto const error = result == 1 ? error_code() : reason(result);
  starved_ = result != 1;  // a request may have come with the end of the handshake
  auto const flushed = flush();  // an alert too
  return error ? error : flushed;
}

Transferred Tls::read(std::span<char> into) noexcept {
  Transferred result;
  ERR_clear_error();
  int const done = SSL_read_ex(ssl_, into.data(), into.size(), &result.bytes);
  starved_ = false;
  if (done != 1) result = {reason(done), 0};
  return result;
}

Transferred Tls::write(std::span<asio::const_buffer const> buffers) noexcept {
  Transferred result;
  result.error = flush();
  if (result.error) return result;
  auto const size = asio::buffer_size(buffers);
  result.bytes = std::min(taken_, size);
  taken_ -= result.bytes;
  std::array<char, record_size> room;
  while (result.bytes < size) {
    auto const record = next_record(buffers, result.bytes, room);
    std::size_t taken = 0;
    ERR_clear_error();
    if (int const done = SSL_write_ex(ssl_, record.data(), record.size(), &taken); done != 1) {
      result.error = reason(done);
      return result;
    }
    if (owes()) {
      taken_ = taken;
      result.error = asio::error::would_block;
      return result;
    }
    result.bytes += taken;
  }
  return result;
}

void Tls::say_goodbye() noexcept {
  if (failed_ || owes() || SSL_is_init_finished(ssl_) != 1 || (SSL_get_shutdown(ssl_) & SSL_SENT_SHUTDOWN) != 0) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);  // says its word and does not wait for the peer's; a socket that does not take it is closed anyway
  ERR_clear_error();
}

bool Tls::is_silent() noexcept {
  char byte = 0;
  ERR_clear_error();
  bool const silent = SSL_peek(ssl_, &byte, 1) <= 0 && !ended_ && system_error_ == 0 && SSL_get_shutdown(ssl_) == 0;
  ERR_clear_error();  // the queue of errors is the thread's: this look leaves nothing behind in it
  return silent;
}

error_code Tls::flush() noexcept {
  while (owes()) {
    auto const taken =
        ::send(socket_.native_handle(), unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && must_wait(errno)) return asio::error::would_block;
    if (taken < 0) {
      failed_ = true;
      return {errno, boost::system::system_category()};
    }
    sent_ += static_cast<std::size_t>(taken);
  }
  if (!unsent_.empty()) std::string().swap(unsent_);  // idle, it holds no buffer
  sent_ = 0;
  return {};
}

// A peer that cuts the stream without close_notify has not ended it cleanly: that is no `eof`.
error_code Tls::reason(int result) noexcept {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      starved_ = true;
      return asio::error::would_block;
    case SSL_ERROR_ZERO_RETURN:
      return asio::error::eof;
    default:
      break;
  }
  failed_ = true;
  auto const error = ERR_get_error();
  ERR_clear_error();
  if (system_error_ != 0) return {system_error_, boost::system::system_category()};
  if (ended_ || error == 0) return asio::error::connection_reset;
  return {static_cast<int>(error), asio::error::get_ssl_category()};
}

}  // namespace weir::wire
