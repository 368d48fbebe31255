// The requester's connection as an exchange sees it: the request's body comes out of it, answers go into it. Owner: the
// session. Threads: its worker. Reading and writing may overlap (an upload whose answer has begun); two reads may not.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "weir/http/message.hpp"
#include "weir/proxy/park.hpp"
#include "weir/wire/chunked.hpp"
#include "weir/wire/deadline.hpp"
#include "weir/wire/head.hpp"
#include "weir/wire/stream.hpp"

namespace weir::proxy {

// A read buffer with the room for one head; taken from the worker's pool when there is something to read.
struct Inbox {
  static constexpr std::size_t initial = std::size_t{16} * 1024;
  std::vector<char> bytes = std::vector<char>(initial);  // grows to `limits.header_bytes` and one read
  std::size_t begin = 0, end = 0;                        // what was read and not yet used
  wire::HeadRoom head;

  std::string_view unread() const noexcept { return {bytes.data() + begin, end - begin}; }
  // Room behind the unread bytes, at least one byte unless they fill the buffer; moves them to the front if it must.
  std::span<char> room() noexcept;
};

class InboxPool {
 public:
  InboxPool();
  std::unique_ptr<Inbox> take();
  void give(std::unique_ptr<Inbox> inbox) noexcept;  // keeps at most `kept`

 private:
  static constexpr std::size_t kept = 64;
  std::vector<std::unique_ptr<Inbox>> free_;
};

enum class BodyRead : std::uint8_t { gone, malformed, too_large, timed_out, bytes, end };

class Client {
 public:
  Client(std::shared_ptr<wire::Stream> stream, InboxPool& inboxes);
  ~Client();

  wire::Stream& stream() noexcept { return *stream_; }
  std::shared_ptr<wire::Stream> const& stream_ref() const noexcept { return stream_; }

  // Between requests: gives back what only an exchange needs.
  void rest() noexcept;

  // ---- the request's body ----
  void begin_body(http::Framing framing, std::uint64_t limit) noexcept;
  struct BodyPiece {
    BodyRead what = BodyRead::gone;
    std::string_view bytes;  // valid until the next call
  };
  asio::awaitable<BodyPiece> read_body(base::Duration no_progress);
  bool body_done() const noexcept { return body_kind_ == http::BodyKind::none; }
  bool body_began() const noexcept { return body_began_; }

  // ---- the answer ----
  // Whole or not at all is not promised: returns what the socket took now. False: the connection is broken.
  bool write_now(std::span<asio::const_buffer const> buffers, std::size_t& written) noexcept;
  // Everything, each piece making progress within `no_progress`. False: broken or too slow; the stream is closed.
  asio::awaitable<bool> write(std::span<asio::const_buffer const> buffers, base::Duration no_progress);
  asio::awaitable<bool> write(std::string_view bytes, base::Duration no_progress);
  // The end of the connection's answers, behind all that was written. False as for `write`.
  asio::awaitable<bool> finish(base::Duration no_progress);

  // ---- departure ----
  // While an answer is owed and nothing is read: interrupts `parking` when the peer resets the connection (COA-2). An end of
  // its input alone does not.
  void watch(Parking& parking);
  void end_watch() noexcept;
  bool departed() const noexcept { return departed_; }

  // Who retires: whether it sent more than the request that is being answered, so that one answer more is owed. Asked once
  // an answer; a client that never pauses is told to go after so many.
  bool is_owed_more() noexcept;

  std::weak_ptr<void> owner;     // keeps this client, for what may outlive the exchange that began it
  std::unique_ptr<Inbox> inbox;  // null while idle
  std::string address;           // of the peer, text without port; "unix" for a unix socket
  bool trusted = false;          // of trusted_proxies
  bool unnamed = false;          // behind a proxy that names nobody: `address` is the proxy's, its rights are not
  std::string_view scheme = "http";
  bool retiring = false;  // takes no further request: where it connected is not listened on any more

 private:
  struct Watch;
  void begin_writing(base::Duration no_progress);
  bool end_writing(wire::error_code error) noexcept;  // whether it went well

  std::shared_ptr<wire::Stream> stream_;
  InboxPool& inboxes_;
  std::optional<wire::Deadline> read_deadline_, write_deadline_;  // none while idle
  std::shared_ptr<Watch> watch_;
  http::BodyKind body_kind_ = http::BodyKind::none;
  std::uint64_t body_left_ = 0, body_seen_ = 0, body_limit_ = 0;
  std::optional<wire::ChunkedDecoder> chunked_;
  bool body_began_ = false, departed_ = false;
  std::uint16_t last_answers_ = 0;
};

// Watches as long as it lives: what it interrupts lies in the same frame.
class Watching {
 public:
  Watching(Client& client, Parking& parking) : client_(client) { client.watch(parking); }
  ~Watching() { client_.end_watch(); }
  Watching(Watching const&) = delete;
  Watching& operator=(Watching const&) = delete;

 private:
  Client& client_;
};

}  // namespace weir::proxy
