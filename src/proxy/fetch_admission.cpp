// Whether a fetch may go to its origin, and what it then says about the origin's health (LIM-1, LIM-2, CB-1).
#include <charconv>

#include "fetch_impl.hpp"

namespace weir::proxy {

using shield::FailureKind;

namespace {

bool is_origin_health_failure(int status, config::Breaker const& rules) noexcept {
  return status == 502 || status == 503 || status == 504 || (status == 500 && rules.count_500);
}

shield::BreakerRules rules_of(config::Breaker const& settings) noexcept {
  return {.enabled = settings.enabled,
          .failure_percent = settings.failure_percent,
          .min_requests = settings.min_requests,
          .window = settings.window,
          .open = settings.open,
          .open_max = settings.open_max};
}

}  // namespace

bool is_origin_health_failure(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::dns:
    case FailureKind::connect_refused:
    case FailureKind::connect_timeout:
    case FailureKind::tls:
    case FailureKind::connection_broken:
    case FailureKind::read_timeout:
    case FailureKind::bad_response:
      return true;
    default:
      return false;
  }
}

OriginGuard::OriginGuard(shield::Waker& waker, config::Origin const& settings)
    : limiter(waker, settings.limiter), breaker(rules_of(settings.breaker)) {}

void OriginGuard::use(config::Origin const& settings) noexcept {
  limiter.set_rules(settings.limiter);
  breaker.set_rules(rules_of(settings.breaker));
}

OriginState::OriginState(std::shared_ptr<OriginGuard> g, config::Origin s, std::shared_ptr<origin::Servers> const& known)
    : guard(std::move(g)),
      settings(std::move(s)),
      servers(known && known->fit(settings) ? known : std::make_shared<origin::Servers>(settings)),
      tls(servers->any_tls() ? origin::make_tls_context(settings.tls) : nullptr),
      limiter(guard->limiter),
      breaker(guard->breaker),
      reached(guard->reached) {}

// CB-1: asked before queueing and again with the permit, as the origin may have died meanwhile.
asio::awaitable<Fetch::MaybeFailure> Fetch::be_admitted() {
  auto& breaker = order_.origin->breaker;
  bool const bodiless = !order_.upload;
  if (breaker.refuses(base::Clock::now(), bodiless)) co_return FailureKind::breaker_open;
  if (auto const failure = co_await take_permit()) co_return failure;
  auto asked = breaker.ask(base::Clock::now(), bodiless, local_.random_bits());
  if (asked.answer == shield::Ask::open) co_return FailureKind::breaker_open;
  probe_ = std::move(asked.probe);
  if (probe_) order_.why = observe::FetchClass::probe;
  started_ = base::Clock::now();
  order_.ticket.started(started_);
  local_.metrics.origin_inflight.fetch_add(1, std::memory_order_relaxed);
  at_origin_ = true;
  if (nobody_wants_it()) co_return FailureKind::abandoned;
  co_return std::nullopt;
}

// LIM-1. Background work brings its own (FWD-7).
asio::awaitable<Fetch::MaybeFailure> Fetch::take_permit() {
  if (in_background_) {
    if (!flight().in_background()) permit_.permit.to_foreground();  // joined before the fetch listened
    co_return std::nullopt;
  }
  auto& limiter = order_.origin->limiter;
  permit_.permit_class = order_.upload ? shield::PermitClass::upload : shield::PermitClass::fetch;
  permit_.partition = order_.partition;
  parking_.attach(permit_);
  auto const asked = base::Clock::now();
  switch (limiter.acquire(permit_)) {
    case shield::Acquire::granted:
      break;
    case shield::Acquire::queue_full:
    case shield::Acquire::not_now:
      co_return FailureKind::queue_full;
    case shield::Acquire::queued: {
      auto const woken = co_await parking_.until(asked + order_.origin->settings.max_queue_wait);
      if (woken != Woken::resumed) {
        if (limiter.cancel(permit_)) co_return woken == Woken::late ? FailureKind::queue_timeout : FailureKind::abandoned;
        co_await parking_.until_resumed();
      }
      if (permit_.refused) co_return FailureKind::breaker_open;
    }
  }
  local_.metrics.limiter_wait.observe(base::Clock::now() - asked);
  co_return std::nullopt;
}

// CB-1, REL-3.
void Fetch::tell_breaker(bool healthy) noexcept {
  auto const now = base::Clock::now();
  if (connection_) connection_->server.tell(healthy, now);
  auto& breaker = order_.origin->breaker;
  if (probe_) return healthy ? probe_.succeeded() : probe_.failed(now, local_.random_bits());
  if (healthy) return breaker.succeeded(now);
  if (breaker.failed(now, local_.random_bits())) order_.origin->limiter.refuse_all();
}

// What its body is worth is told when it ends. The head is enough of one that is not stored, which may go on for hours, and
// of a probe, for which all others wait.
void Fetch::tell_breaker_of_head() noexcept {
  bool const failed = is_origin_health_failure(response_.status, order_.origin->settings.breaker);
  if (!failed && verdict_.store && !probe_) return;
  told_healthy_ = !failed;
  tell_breaker(!failed);
}

// That a body broke off counts even after its head was a good one.
void Fetch::tell_breaker_of_body(bool whole) noexcept {
  if (whole && !told_healthy_) tell_breaker(true);
  if (!whole && !was_given_up() && told_healthy_.value_or(true)) tell_breaker(false);
}

void Fetch::tell_breaker_of_failure(FailureKind kind) noexcept {
  if (at_origin_ && is_origin_health_failure(kind)) tell_breaker(false);
}

// NEG-1: before anybody is told, so that whoever comes after the flight finds it.
void Fetch::remember_failure(int status) noexcept {
  auto const ttl = order_.policy->negative.ttl;
  if (ttl <= base::Duration::zero() || order_.basis || stand_in_ || order_.requester.has_authorization ||
      order_.requester.has_cookie_credential)
    return;
  store::Failed failed{static_cast<std::uint16_t>(status), 0};
  if (auto const seconds = response_.fields.only(http::FieldId::retry_after))
    std::from_chars(seconds->data(), seconds->data() + seconds->size(), failed.retry_after);  // a date is left at 0
  auto const now = base::read_clock();
  shared_.store.remember_failure(order_.key, order_.hash, failed, now.steady + ttl, now);
}

}  // namespace weir::proxy
