#include "weir/server/session.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "weir/observe/log.hpp"
#include "weir/proxy/client_address.hpp"
#include "weir/server/worker.hpp"

namespace weir::server {
namespace {

// Pipelined requests that are answered in one turn before other connections get theirs.
constexpr int turns = 32;
// After a refusal: what the peer may still send before its connection is closed over its unread bytes.
constexpr std::size_t linger_bytes = std::size_t{256} * 1024;
constexpr auto tuple = asio::as_tuple(asio::use_awaitable);
constexpr base::Duration linger_time = std::chrono::seconds(2);
// At a drain: how long an idle connection is kept for a request that its client sent before it could know.
constexpr base::Duration last_moment = std::chrono::milliseconds(500);
// However the wait ends.
struct Lingering {
  explicit Lingering(std::atomic<std::size_t>& c) noexcept : count(c) { count.fetch_add(1, std::memory_order_acq_rel); }
  ~Lingering() { count.fetch_sub(1, std::memory_order_acq_rel); }
  Lingering(Lingering const&) = delete;
  Lingering& operator=(Lingering const&) = delete;
  std::atomic<std::size_t>& count;
};

static_assert(config::Limits::most_header_count <= wire::max_field_count);

}  // namespace

Session::Session(Worker& worker, std::shared_ptr<wire::Stream> stream, std::string address, void const* door)
    : worker_(worker), door_(door), client_(std::move(stream), worker.local().inboxes) {
  client_.address = std::move(address);
  judge_peer();
  on_due = [](Timed& timed) noexcept {
    auto& self = static_cast<Session&>(timed);
    self.timed_out_ = true;
    self.client_.stream().cancel();
  };
}

Session::~Session() = default;

void Session::end() noexcept {
  Timekeeper::unwatch(*this);
  if (exchange_) exchange_->give_up();
  client_.stream().close();
}

void Session::judge_peer() {
  auto const& local = worker_.local();
  setup_number_ = local.snapshot->setup->number;
  client_.trusted = !client_.unnamed && proxy::in_networks(client_.address, local.settings->trusted_proxies);
}

void Session::retire() {
  client_.retiring = true;
  if (!idle_) return;
  auto const moment = std::min(last_moment, worker_.local().settings->drain.timeout / 2);
  worker_.timekeeper().watch(*this, Limit::last, base::Clock::now() + moment);
}

asio::awaitable<void> Session::run(Preface preface) {
  if ((preface.proxied || preface.certificates) && !co_await open(preface)) co_return;
  preface = {};
  auto next = Next::wait_idle;
  for (;;) {
    switch (next) {
      case Next::close:
        // Who was told to go only now may have more on its way, and closing over that takes the answer with it.
        if (client_.retiring || client_.stream().has_bytes() || (client_.inbox && !client_.inbox->unread().empty()))
          co_await linger();
        worker_.local().inboxes.give(std::move(client_.inbox));  // else each connection would cost the making of one
        co_return;
      case Next::refuse:
        co_await refuse(refusal_);
        co_return;
      case Next::wait_idle:
        begin_idle();
        if (auto const [error] = co_await client_.stream().wait_readable(tuple); !end_idle(error.failed())) co_return;
        next = serve_ready();
        break;
      case Next::wait_for_head:
        if (!co_await read_more()) {
          if (timed_out_) co_await refuse(wire::Refusal::none);
          co_return;
        }
        next = serve_ready();
        break;
      case Next::again:
        co_await asio::post(worker_.io(), asio::use_awaitable);
        next = serve_ready();
        break;
      case Next::exchange: {
        exchange_->hold_request();
        if (!exchange_->has_body() && client_.inbox && client_.inbox->unread().empty())
          worker_.local().inboxes.give(std::move(client_.inbox));
        auto const after = co_await exchange_->answer();
        exchange_->log_access();
        exchange_.reset();
        if (after == proxy::After::close) {
          co_await linger();
          co_return;
        }
        next = serve_ready();
      }
    }
  }
}

// Between requests: no buffer, no head begun.
void Session::begin_idle() {
  auto& local = worker_.local();
  local.inboxes.give(std::move(client_.inbox));
  client_.rest();
  idle_ = true;
  if (client_.retiring || local.shared.draining.load(std::memory_order_relaxed))
    retire();
  else
    worker_.timekeeper().watch(*this, Limit::idle, base::Clock::now() + local.settings->limits.idle_timeout);
}

// Whether there may be a request: one that came in the last moment is owed its answer.
bool Session::end_idle(bool failed) noexcept {
  idle_ = false;
  Timekeeper::unwatch(*this);
  return std::exchange(timed_out_, false) ? client_.stream().has_bytes() : !failed;
}

// A head has begun and is not whole.
asio::awaitable<bool> Session::read_more() {
  auto const& limits = worker_.local().settings->limits;
  if (!head_began_) {
    head_began_ = true;
    worker_.timekeeper().watch(*this, Limit::head, base::Clock::now() + limits.header_timeout);
  }
  auto room = client_.inbox->room();
  if (room.empty()) {
    client_.inbox->bytes.resize(client_.inbox->bytes.size() * 2);  // bounded: the head's limit refuses it before long
    room = client_.inbox->room();
  }
  auto const got = co_await client_.stream().read_some(room);
  if (got.error || timed_out_) co_return false;
  client_.inbox->end += got.bytes;
  co_return true;
}

// Answers every whole request that is there and needs no waiting.
Session::Next Session::serve_ready() {
  auto& local = worker_.local();
  auto const& limits = local.settings->limits;
  wire::HeadLimits const head_limits{limits.header_bytes, limits.header_count, limits.target_bytes, limits.body_bytes};
  if (!client_.inbox) client_.inbox = local.inboxes.take();
  auto& inbox = *client_.inbox;
  bool tried = false;
  for (int turn = 0; turn < turns;) {
    if (!inbox.unread().empty()) {
      auto const head = wire::read_request_head(inbox.unread(), client_.scheme, head_limits, inbox.head, scanned_);
      if (head.step == wire::HeadStep::refused) {
        refusal_ = head.refusal;
        return Next::refuse;
      }
      if (head.step == wire::HeadStep::ready) {
        auto const next = serve_one(head, base::read_clock());
        if (next != Next::again) return next;
        tried = false;
        ++turn;
        continue;
      }
    }
    if (tried) return inbox.unread().empty() ? Next::wait_idle : Next::wait_for_head;
    // What was read in one go is all there is, as a rule: only a full buffer or a first turn asks the socket.
    if (turn > 0 && inbox.unread().empty()) return Next::wait_idle;
    auto const room = inbox.room();
    if (room.empty()) return Next::wait_for_head;
    auto const got = client_.stream().try_read(room);
    if (got.error == asio::error::would_block || got.error == asio::error::try_again)
      return inbox.unread().empty() && !client_.stream().has_begun() ? Next::wait_idle : Next::wait_for_head;
    if (got.error) return Next::close;
    inbox.end += got.bytes;
    tried = true;
  }
  return Next::again;
}

Session::Next Session::serve_one(wire::RequestHead const& head, base::Now now) {
  auto& local = worker_.local();
  auto const most = local.settings->limits.requests_per_connection;
  if (setup_number_ != local.snapshot->setup->number) judge_peer();
  scanned_ = 0;
  if (head_began_) {
    head_began_ = false;
    Timekeeper::unwatch(*this);
  }
  client_.inbox->begin += head.size;
  auto request = head.request;
  if (most != 0 && ++requests_ >= most) request.keep_alive = false;
  if (!worker_.spare_exchange) worker_.spare_exchange = std::make_unique<proxy::Exchange>(local);
  auto& exchange = *worker_.spare_exchange;
  exchange.begin(client_, request, now);
  if (exchange.answer_at_once()) {
    exchange.log_access();
    return exchange.after() == proxy::After::keep_alive ? Next::again : Next::close;
  }
  exchange_ = std::move(worker_.spare_exchange);
  return Next::exchange;
}

// REQ-1: the answer, then the end; nothing of it was forwarded. `none`: the head took too long.
asio::awaitable<void> Session::refuse(wire::Refusal refusal) {
  auto& local = worker_.local();
  bool const late = refusal == wire::Refusal::none;
  if (!late) local.metrics.refusals[static_cast<std::size_t>(refusal)].add();
  local.metrics.request(0, observe::Outcome::refused);
  proxy::OwnAnswer answer;
  answer.status = late ? 408 : wire::status_of(refusal);
  answer.proxy_error = "http_request_error";
  answer.close = true;
  // What is read of it is a method, whatever else is wrong with it: its answer has no body that could pass for the next one.
  answer.head_only = client_.inbox && client_.inbox->unread().starts_with("HEAD ");
  answer.page = proxy::error_page(*local.settings, answer.status);
  std::string out;
  auto const now = base::read_clock().wall;
  proxy::append_own_answer(out, answer, now);
  if (local.logs_access) {
    observe::Access access;
    access.came = now;
    access.body_bytes = out.size() - out.find("\r\n\r\n") - 4;
    access.status = answer.status;
    access.version = 0;
    access.outcome = observe::Outcome::refused;
    access.client = client_.address;
    local.shared.access.push(local.worker, access);
  }
  if (co_await client_.write(out, linger_time)) co_await linger();
}

// Closing over unread bytes would reset the connection and could take the answer with it (RFC 9112 9.6).
asio::awaitable<void> Session::linger() {
  auto& stream = client_.stream();
  if (client_.departed() || !co_await client_.finish(worker_.local().settings->limits.body_timeout)) co_return;
  Lingering const lingering(worker_.lingering_count());
  if (!client_.inbox) client_.inbox = worker_.local().inboxes.take();
  timed_out_ = false;
  worker_.timekeeper().watch(*this, Limit::linger, base::Clock::now() + linger_time);
  for (std::size_t total = 0; total < linger_bytes && !timed_out_;) {
    client_.inbox->begin = client_.inbox->end = 0;
    auto const got = co_await stream.read_some(client_.inbox->room());
    if (got.error) break;
    total += got.bytes;
  }
  Timekeeper::unwatch(*this);
}

}  // namespace weir::server
