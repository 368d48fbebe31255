// A request's body on its way to the origin, without buffering (REQ-2): a coroutine of the exchange's worker reads it from
// the client piece by piece and writes it to the connection that the fetch has opened, while the answer may already flow the
// other way. Owner: exchange and fetch together. Threads: their one worker.
#pragma once

#include <memory>

#include "weir/base/intrusive.hpp"
#include "weir/proxy/client.hpp"
#include "weir/proxy/park.hpp"

namespace weir::proxy {

// Before its 100 the origin has this long; then the client is told to go on (RFC 9110 10.1.1).
inline constexpr base::Duration continue_patience = std::chrono::seconds(1);

class Upload : public base::Counted<Upload> {
 public:
  // `begun`: what was read of the body already.
  Upload(asio::any_io_executor executor, bool expects_continue, bool chunked, std::string begun = {});

  // ---- the fetch ----
  // The body may follow on `origin`; each piece that got through gives the answer `patience` more on `deadline`.
  void head_sent(std::shared_ptr<wire::Stream> origin, wire::Deadline& deadline, base::Duration patience) noexcept;
  void continued() noexcept;  // the origin said 100
  void answered() noexcept;   // and this is the final head: who still waits for a 100 gets none
  // All of the body went to the origin; else its connection is owed bytes and nobody else's.
  bool sent_whole() const noexcept { return sent_whole_; }
  // The exchange with the origin is over: what is still to come from the client has nowhere to go.
  void origin_done() noexcept;

  // ---- the exchange ----
  // Runs until the body is sent, cannot be sent, or nobody wants it.
  asio::awaitable<void> pump(Client& client, base::Duration no_progress);
  bool finished() const noexcept { return finished_.happened(); }
  asio::awaitable<bool> wait_finished(base::SteadyTime due = base::SteadyTime::max()) { return finished_.wait(due); }
  void set_finished() noexcept { finished_.set(); }
  // The client has gone: a body that is not whole yet never will be, and must not look so to the origin.
  void cut() noexcept;
  // What went wrong on the client's side; `end` if nothing did.
  BodyRead client_fault() const noexcept { return fault_; }

 private:
  asio::awaitable<bool> send(std::string_view piece);
  void write_failed(wire::Stream& origin, wire::error_code const& error) noexcept;

  Event may_start_, may_continue_, finished_;
  std::shared_ptr<wire::Stream> origin_;
  wire::Deadline* deadline_ = nullptr;  // the fetch's; with `origin_`
  base::Duration patience_{};
  std::string begun_;
  BodyRead fault_ = BodyRead::end;
  bool expects_continue_, chunked_;
  bool answered_ = false, refused_ = false, sent_whole_ = false;
};

}  // namespace weir::proxy
