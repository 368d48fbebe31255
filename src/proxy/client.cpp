#include "weir/proxy/client.hpp"

#include <cstring>

namespace weir::proxy {
namespace {

// To who retires and pipelines: more than a read buffer and a socket hold of requests as people send them.
constexpr std::uint16_t most_last_answers = 1024;

}  // namespace

std::span<char> Inbox::room() noexcept {
  if (begin == end) begin = end = 0;
  if (end == bytes.size() && begin > 0) {
    std::memmove(bytes.data(), bytes.data() + begin, end - begin);
    end -= begin;
    begin = 0;
  }
  return {bytes.data() + end, bytes.size() - end};
}

InboxPool::InboxPool() { free_.reserve(kept); }

std::unique_ptr<Inbox> InboxPool::take() {
  if (free_.empty()) return std::make_unique<Inbox>();
  auto inbox = std::move(free_.back());
  free_.pop_back();
  return inbox;
}

void InboxPool::give(std::unique_ptr<Inbox> inbox) noexcept {
  if (!inbox || free_.size() >= kept || inbox->bytes.size() > Inbox::initial) return;
  inbox->begin = inbox->end = 0;
  free_.push_back(std::move(inbox));
}

// Outlives the client when its operation is still pending.
struct Client::Watch {
  // The operation stays pending from one wait to the next: to begin and cancel one for each cost a miss an epoll_ctl, two
  // pieces of memory and a turn of the loop.
  static void begin(wire::Stream& stream, std::shared_ptr<Watch> const& watch) {
    stream.socket().async_wait(wire::Stream::Socket::wait_error, [watch = watch](wire::error_code error) {
      watch->pending = false;
      if (watch->parking == nullptr) return;
      if (error != asio::error::operation_aborted) {
        watch->client->departed_ = true;
        watch->parking->interrupt();
      } else if (auto const alive = watch->stream.lock(); alive && alive->socket().is_open()) {
        begin(*alive, watch);  // what was cancelled was another operation of the stream
      }
    });
    watch->pending = true;
  }

  std::weak_ptr<wire::Stream> stream;
  Parking* parking = nullptr;  // null: nothing is owed
  Client* client = nullptr;    // there while something is
  bool pending = false;
};

Client::Client(std::shared_ptr<wire::Stream> stream, InboxPool& inboxes) : stream_(std::move(stream)), inboxes_(inboxes) {}

Client::~Client() { end_watch(); }

void Client::rest() noexcept {
  read_deadline_.reset();
  write_deadline_.reset();
}

void Client::begin_body(http::Framing framing, std::uint64_t limit) noexcept {
  body_kind_ = framing.kind == http::BodyKind::length && framing.length == 0 ? http::BodyKind::none : framing.kind;
  body_left_ = framing.length;
  body_seen_ = 0;
  body_limit_ = limit;
  body_began_ = false;
  chunked_.reset();
}

asio::awaitable<Client::BodyPiece> Client::read_body(base::Duration no_progress) {
  if (body_kind_ == http::BodyKind::none) co_return BodyPiece{BodyRead::end, {}};
  if (body_kind_ == http::BodyKind::chunked && !chunked_) chunked_.emplace();
  body_began_ = true;
  if (!inbox) inbox = inboxes_.take();
  for (;;) {
    auto const unread = inbox->unread();
    if (body_kind_ == http::BodyKind::length && !unread.empty()) {
      auto const size = static_cast<std::size_t>(std::min<std::uint64_t>(unread.size(), body_left_));
      inbox->begin += size;
      body_left_ -= size;
      if (body_left_ == 0) body_kind_ = http::BodyKind::none;
      co_return BodyPiece{BodyRead::bytes, unread.substr(0, size)};
    }
    if (body_kind_ == http::BodyKind::chunked && !unread.empty()) {
      auto const step = chunked_->decode(unread);
      inbox->begin += step.consumed;
      switch (step.step) {
        case wire::ChunkedDecoder::Step::malformed:
          co_return BodyPiece{BodyRead::malformed, {}};
        case wire::ChunkedDecoder::Step::done:
          body_kind_ = http::BodyKind::none;
          co_return BodyPiece{BodyRead::end, {}};
        case wire::ChunkedDecoder::Step::payload:
          body_seen_ += step.payload.size();
          if (body_seen_ > body_limit_) co_return BodyPiece{BodyRead::too_large, {}};
          co_return BodyPiece{BodyRead::bytes, step.payload};
        case wire::ChunkedDecoder::Step::need_more:
          break;
      }
    }
    auto const room = inbox->room();
    if (room.empty()) co_return BodyPiece{BodyRead::malformed, {}};
    if (!read_deadline_) read_deadline_.emplace(stream_, wire::WhenLate::cancel);  // a 408 is to follow
    read_deadline_->expires_after(no_progress);
    auto const got = co_await stream_->read_some(room);
    bool const late = read_deadline_->expired();
    read_deadline_->clear();
    if (got.error) co_return BodyPiece{late ? BodyRead::timed_out : BodyRead::gone, {}};
    inbox->end += got.bytes;
  }
}

bool Client::write_now(std::span<asio::const_buffer const> buffers, std::size_t& written) noexcept {
  auto const result = stream_->try_write(buffers);
  written = result.bytes;
  return !result.error || result.error == asio::error::would_block || result.error == asio::error::try_again;
}

asio::awaitable<bool> Client::write(std::span<asio::const_buffer const> buffers, base::Duration no_progress) {
  static constexpr std::size_t piece = std::size_t{64} * 1024;  // progress is judged at this grain
  std::size_t written = 0;
  if (!write_now(buffers, written)) {
    departed_ = true;
    co_return false;
  }
  for (auto const& buffer : buffers) {
    auto rest = buffer;
    auto const skip = std::min(written, rest.size());
    rest += skip;
    written -= skip;
    while (rest.size() > 0) {
      auto const part = asio::buffer(rest, piece);
      begin_writing(no_progress);
      auto const result = co_await stream_->write(part);
      // A limit on what is read of this client ends what is written, too; only that one does.
      bool const others = result.error == asio::error::operation_aborted && !write_deadline_->expired();
      if (!(others && stream_->socket().is_open()) && !end_writing(result.error)) co_return false;
      rest += result.bytes;
    }
  }
  co_return true;
}

asio::awaitable<bool> Client::write(std::string_view bytes, base::Duration no_progress) {
  asio::const_buffer const buffer(bytes.data(), bytes.size());
  co_return co_await write(std::span<asio::const_buffer const>(&buffer, 1), no_progress);
}

asio::awaitable<bool> Client::finish(base::Duration no_progress) {
  begin_writing(no_progress);
  co_return end_writing(co_await stream_->finish());
}

void Client::begin_writing(base::Duration no_progress) {
  if (!write_deadline_) write_deadline_.emplace(stream_, wire::WhenLate::cancel);
  write_deadline_->expires_without_progress(no_progress);
}

bool Client::end_writing(wire::error_code error) noexcept {
  write_deadline_->clear();
  if (!error) return true;
  // A clean end would leave what it did not read with the kernel, for minutes.
  if (write_deadline_->expired()) stream_->reset();
  departed_ = true;
  return false;
}

void Client::watch(Parking& parking) {
  if (!watch_) {
    watch_ = std::make_shared<Watch>();
    watch_->stream = stream_;
    watch_->client = this;
  }
  watch_->parking = &parking;
  if (!watch_->pending) Watch::begin(*stream_, watch_);
}

bool Client::is_owed_more() noexcept {
  bool const more = body_kind_ == http::BodyKind::none && ((inbox && !inbox->unread().empty()) || stream_->has_bytes());
  return more && ++last_answers_ <= most_last_answers;
}

void Client::end_watch() noexcept {
  if (watch_) watch_->parking = nullptr;
}

}  // namespace weir::proxy
