#include "weir/proxy/upload.hpp"

#include <algorithm>
#include <array>

#include "peer_error.hpp"

namespace weir::proxy {
namespace {

// An origin that stopped reading has answered already, or closes.
constexpr base::Duration last_word = std::chrono::seconds(2);

}  // namespace

Upload::Upload(asio::any_io_executor executor, bool expects_continue, bool chunked, std::string begun)
    : may_start_(executor),
      may_continue_(executor),
      finished_(executor),
      begun_(std::move(begun)),
      expects_continue_(expects_continue),
      chunked_(chunked) {}

void Upload::head_sent(std::shared_ptr<wire::Stream> origin, wire::Deadline& deadline, base::Duration patience) noexcept {
  origin_ = std::move(origin);
  deadline_ = &deadline;
  patience_ = patience;
  deadline.expires_after(patience);
  if (fault_ != BodyRead::end) origin_->close();  // cut meanwhile
  may_start_.set();
}

void Upload::continued() noexcept { may_continue_.set(); }

void Upload::answered() noexcept {
  answered_ = true;
  deadline_ = nullptr;  // from here on it is that of the answer's body
  if (may_continue_.happened()) return;
  refused_ = true;
  may_continue_.set();
}

void Upload::origin_done() noexcept {
  origin_.reset();
  deadline_ = nullptr;
  may_start_.set();
  may_continue_.set();
}

void Upload::cut() noexcept {
  if (finished()) return;
  if (fault_ == BodyRead::end) fault_ = BodyRead::gone;
  if (origin_) origin_->close();
  origin_done();
}

asio::awaitable<bool> Upload::send(std::string_view piece) {
  auto const origin = origin_;  // the fetch may let go of it while we write
  if (!origin) co_return false;
  std::array<char, 20> size;
  std::array<asio::const_buffer, 3> buffers{asio::const_buffer(), asio::const_buffer(piece.data(), piece.size()),
                                            asio::const_buffer()};
  if (chunked_) {
    buffers[0] = asio::const_buffer(size.data(), wire::write_chunk_size(piece.size(), size.data()));
    buffers[2] = asio::const_buffer("\r\n", 2);
  }
  auto const written = co_await origin->write(buffers);
  if (!written.error && deadline_ != nullptr) deadline_->expires_after(patience_);
  if (written.error) write_failed(*origin, written.error);
  co_return !written.error;
}

// The fetch reads the same connection, and says so.
void Upload::write_failed(wire::Stream& origin, wire::error_code const& error) noexcept {
  if (!is_peers_doing(error)) return origin.close();
  if (deadline_ != nullptr) deadline_->expires_after(std::min(patience_, last_word));
}

asio::awaitable<void> Upload::pump(Client& client, base::Duration no_progress) {
  co_await may_start_.wait();
  if (!origin_) co_return;
  if (expects_continue_) {
    co_await may_continue_.wait(base::Clock::now() + continue_patience);
    if (!origin_ || refused_) co_return;
    may_continue_.set();
    if (!co_await client.write("HTTP/1.1 100 Continue\r\n\r\n", no_progress)) {
      fault_ = BodyRead::gone;
      if (origin_) origin_->close();
      co_return;
    }
  }
  bool sending = begun_.empty() || co_await send(begun_);
  for (;;) {
    auto const piece = co_await client.read_body(no_progress);
    if (piece.what == BodyRead::bytes) {
      // An origin that stopped listening may have answered: the rest is read so that the client gets to that answer.
      sending = sending && co_await send(piece.bytes);
      continue;
    }
    fault_ = piece.what;
    if (piece.what != BodyRead::end) {
      // A body that was cut must not look whole to the origin. One that has answered is left to say all of it to a client
      // that only stopped: its connection is owed bytes, and ends then.
      if (origin_ && !(answered_ && piece.what == BodyRead::timed_out)) origin_->close();
      co_return;
    }
    auto const origin = origin_;
    if (chunked_ && sending && origin) {
      auto const written = co_await origin->write(asio::const_buffer("0\r\n\r\n", 5));
      if (written.error) co_return write_failed(*origin, written.error);
    }
    sent_whole_ = sending && origin;
    co_return;
  }
}

}  // namespace weir::proxy
