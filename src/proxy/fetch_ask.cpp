// How the origin is asked, and how often (REL-2, REL-3).
#include <array>

#include "fetch_impl.hpp"
#include "peer_error.hpp"

namespace weir::proxy {

using shield::FailureKind;

namespace {

std::uint32_t retries_of(config::Origin const& origin) noexcept {
  return origin.retries.value_or(origin.servers.size() > 1 ? 1 : 0);
}

}  // namespace

// REL-2: once more, on a new connection, when a pooled one turns out dead before any byte of an answer; and as often as
// `retries` says, where there was no connection or a new one broke. REL-3: each time at the next server.
asio::awaitable<Fetch::MaybeFailure> Fetch::ask() {
  bool const repeatable = (http::is_idempotent(order_.request.method_id) || order_.body) && !order_.upload;
  if (!inbox_) inbox_ = local_.inboxes.take();
  auto failure = co_await attempt(repeatable ? origin::Want::any : origin::Want::fresh_enough, give_up_at());
  auto retries = retries_of(order_.origin->settings);
  bool pooled_before = false;
  while (failure && repeatable && !any_byte_ && !abandoned_ && base::Clock::now() < give_up_at()) {
    bool const connected = connection_ != nullptr;
    if (connected && *failure != FailureKind::connection_broken) break;
    if (connected && connection_->reused && !pooled_before) {
      pooled_before = true;
    } else if (is_origin_health_failure(*failure) && retries > 0) {
      --retries;
      if (connected) connection_->server.tell(false, base::Clock::now());
    } else {
      break;
    }
    note(result_of(*failure));
    order_.why = observe::FetchClass::retry;
    std::optional<std::size_t> broke_off;
    if (connected) broke_off = connection_->server.index();
    failure = co_await attempt(origin::Want::new_only, give_up_at(), broke_off);
  }
  co_return failure;
}

// REL-3: a server that dies takes connections until its last moment, and as it has the fewest fetches it would be the first
// to be asked again. What it gave is held while the next is chosen, so that it counts as busy.
asio::awaitable<origin::Connected> Fetch::connect(origin::Want want, base::SteadyTime due,
                                                  std::optional<std::size_t> broke_off) {
  auto connected = co_await order_.pool->connect(want, due);
  for (auto others = order_.origin->servers->size(); others > 1 && broke_off && connected.connection; --others) {
    if (connected.connection->server.index() != *broke_off) break;
    auto const held = std::move(connected.connection);
    connected = co_await order_.pool->connect(want, due);
  }
  co_return std::move(connected);
}

asio::awaitable<Fetch::MaybeFailure> Fetch::attempt(origin::Want want, base::SteadyTime due,
                                                    std::optional<std::size_t> broke_off) {
  any_byte_ = used_up_ = false;
  if (!connection_ || want == origin::Want::new_only) {
    connection_.reset();
    auto connected = co_await connect(want, due, broke_off);
    if (!connected.connection) co_return connected.failure;
    connection_ = std::move(connected.connection);
  }
  if (nobody_wants_it()) co_return FailureKind::abandoned;
  inbox_->begin = inbox_->end = 0;
  auto& deadline = connection_->deadline;
  deadline.expires_at(due);
  times_.request = base::read_clock();
  times_.purge_number = flight().purge_number();
  times_.began = began_;
  auto const head = order_.request.head(order_.basis.get());
  std::array<asio::const_buffer, 2> const message{asio::buffer(head),
                                                  order_.body ? asio::buffer(*order_.body) : asio::const_buffer()};
  auto const sent = co_await connection_->stream->write(message);
  // An origin that read only a part of the body may have answered.
  if (sent.error && (sent.bytes < head.size() || deadline.expired() || !is_peers_doing(sent.error)))
    co_return deadline.expired() ? FailureKind::read_timeout : FailureKind::connection_broken;
  if (order_.upload)
    order_.upload->head_sent(connection_->stream, deadline,
                             order_.origin->settings.timeouts.origin + order_.settings->limits.body_timeout);
  co_return co_await read_head();
}

}  // namespace weir::proxy
