#include "session.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "weir/admin/server.hpp"
#include "weir/base/clock.hpp"
#include "weir/http/date.hpp"
#include "weir/observe/log.hpp"
#include "weir/wire/write.hpp"

namespace weir::admin {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr base::Duration head_limit = 10s, idle_limit = 60s, body_limit = 10s, write_limit = 10s, linger_limit = 1s;
constexpr wire::HeadLimits head_limits{.body = max_body};
constexpr std::size_t read_size = 4096;

std::string response_head(Answer const& answer, bool keep_alive) {
  std::array<char, http::date_size> date;
  http::write_date(base::read_clock().wall, date.data());
  std::string out;
  bool good = wire::append_status_line(out, answer.status, http::reason_phrase(answer.status));
  good &= wire::append_field(out, "Date", std::string_view(date.data(), date.size()));
  good &= wire::append_field(out, "Content-Type", answer.content_type);
  good &= wire::append_field(out, "Content-Length", answer.body.size());
  good &= wire::append_field(out, "Cache-Control", "no-store");
  good &= wire::append_field(out, "X-Content-Type-Options", "nosniff");
  for (auto const& [name, value] : answer.fields) good &= wire::append_field(out, name, value);
  good &= wire::append_field(out, "Connection", keep_alive ? "keep-alive" : "close");
  if (!good) observe::log_error("admin-answer-field-refused", {{"status", answer.status}});
  return out + "\r\n";
}

Answer malformed(wire::Refusal refusal) { return problem(wire::status_of(refusal), "bad-request", wire::label(refusal)); }

}  // namespace

Session::Session(wire::Stream::Socket socket, Door const& door, bool const& stopping, std::set<Session*>& all)
    : stream_(std::make_shared<wire::Stream>(std::move(socket))),
      deadline_(stream_),
      door_(door),
      stopping_(stopping),
      all_(all) {
  all_.insert(this);
}

asio::awaitable<void> Session::run() {
  // g++ 12.2 makes an illegal instruction of a `while` whose condition awaits.
  for (bool more = true; more; served_ = true) more = co_await serve_one();
  deadline_.clear();
  stream_->close();
}

void Session::close_if_idle() noexcept {
  if (idle_) stream_->close();
}

// One call; false when the connection cannot serve another.
asio::awaitable<bool> Session::serve_one() {
  wire::RequestHead const head = co_await read_head();
  if (head.step == wire::HeadStep::need_more) co_return false;
  if (head.step == wire::HeadStep::refused) {
    bool const sent = co_await write(malformed(head.refusal), false, false);
    if (sent) co_await linger();
    co_return false;
  }
  http::Request const& request = head.request;
  auto const routed = door_.router.route(request, door_.token, door_.browsable);
  if (routed.endpoint == nullptr) co_return co_await refuse(routed.refusal, head);
  if (request.framing.kind == http::BodyKind::chunked) {
    Answer const length_wanted = problem(411, "length-required", "bodies come with a Content-Length");
    co_return co_await refuse(length_wanted, head);
  }
  bool const whole = co_await read_body(head);
  if (!whole) co_return false;
  bool const keep_alive = request.keep_alive && !stopping_;
  Answer const answer = call(*routed.endpoint, request);
  bool const sent = co_await write(answer, request.method_id == http::Method::head, keep_alive);
  if (!sent) co_return false;
  buffer_.erase(0, head.size + std::min<std::size_t>(buffer_.size() - head.size, body_.size()));
  co_return keep_alive;
}

// `need_more`: the peer left, was too slow, or the server stops.
asio::awaitable<wire::RequestHead> Session::read_head() {
  std::size_t scanned = 0;
  idle_ = buffer_.empty();
  deadline_.expires_after(idle_ && served_ ? idle_limit : head_limit);
  for (;;) {
    if (idle_ && stopping_) co_return wire::RequestHead{};
    if (!buffer_.empty()) {
      auto const head = wire::read_request_head(buffer_, "http", head_limits, room_, scanned);
      if (head.step != wire::HeadStep::need_more) co_return head;
    }
    std::size_t const before = buffer_.size();
    buffer_.resize(before + read_size);
    auto const got = co_await stream_->read_some({buffer_.data() + before, read_size});
    buffer_.resize(before + got.bytes);
    if (got.error) co_return wire::RequestHead{};
    if (std::exchange(idle_, false)) deadline_.expires_after(head_limit);
  }
}

// Into `body_`, at most max_body: the head's limits refused anything longer. False: the connection is over.
asio::awaitable<bool> Session::read_body(wire::RequestHead const& head) {
  std::size_t const length = head.request.has_body() ? head.request.framing.length : 0;
  auto const early = std::string_view(buffer_).substr(head.size, length);
  body_.assign(early);
  if (body_.size() == length) co_return true;
  deadline_.expires_after(body_limit);
  if (head.request.expects_continue && body_.empty()) {
    constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    auto const sent = co_await stream_->write(asio::buffer(go_on));
    if (sent.error) co_return false;
  }
  std::size_t filled = body_.size();
  body_.resize(length);
  while (filled < length) {
    auto const got = co_await stream_->read_some({body_.data() + filled, length - filled});
    if (got.error) co_return false;
    filled += got.bytes;
  }
  co_return true;
}

asio::awaitable<bool> Session::write(Answer const& answer, bool head_only, bool keep_alive) {
  std::string bytes = response_head(answer, keep_alive);
  if (!head_only) bytes += answer.body;
  deadline_.expires_after(write_limit);
  auto const sent = co_await stream_->write(asio::buffer(bytes));
  co_return !sent.error;
}

// A call that is not made. Its body, if it has one, is not read, so the connection ends.
asio::awaitable<bool> Session::refuse(Answer const& answer, wire::RequestHead const& head) {
  http::Request const& request = head.request;
  bool const keep_alive = request.keep_alive && !request.has_body() && !stopping_;
  bool const sent = co_await write(answer, request.method_id == http::Method::head, keep_alive);
  if (!sent) co_return false;
  if (!keep_alive) co_await linger();
  buffer_.erase(0, head.size);
  co_return keep_alive;
}

// RFC 9112 9.6: closing with unread bytes would make the kernel send a reset, which can overtake the answer. What the peer
// still sends is thrown away, up to a bound.
asio::awaitable<void> Session::linger() {
  deadline_.expires_after(linger_limit);
  if (co_await stream_->finish()) co_return;
  buffer_.resize(std::max(buffer_.size(), read_size));
  for (std::size_t total = 0; total <= max_body;) {
    auto const got = co_await stream_->read_some({buffer_.data(), buffer_.size()});
    if (got.error) co_return;
    total += got.bytes;
  }
}

Answer Session::call(Endpoint const& endpoint, http::Request const& request) const {
  try {
    return endpoint.handler({request, body_});
  } catch (std::exception const& error) {
    observe::log_error("admin-call-failed", {{"path", request.path}, {"what", error.what()}});
    return problem(500, "internal", "the call failed; the log says why");
  }
}

}  // namespace weir::admin
