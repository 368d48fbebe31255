// WRM-1: what a request would be given, fetched for nobody.
#include "fetch_impl.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

using cache::Verdict;

namespace {

// An origin that is not to be asked now is asked for again, for so long.
constexpr base::Duration breaker_patience = std::chrono::seconds(10);
// Between two looks at whether a drain has begun, or the breaker let somebody through.
constexpr base::Duration look_again = std::chrono::milliseconds(500);

}  // namespace

asio::awaitable<Exchange::Warmed> Exchange::warm() {
  settings_hold_ = local_.settings;
  routed_ = route(settings(), request_);
  if (routed_.site == nullptr) co_return Warmed{Warmed::failed, "no-site"};
  edit_request();
  seen_ = true;  // nobody asked: it is no cacheable request of a client
  decision_ = decide(came_);
  for (shield::PermitWaiter permit;;) {
    bool const fresh = decision_.what == What::hit && decision_.reuse.verdict == Verdict::fresh;
    if (fresh) co_return Warmed{Warmed::skipped, "fresh"};
    if (is_credentialed()) co_return Warmed{Warmed::failed, "credentials"};
    if (decision_.what != What::hit && decision_.what != What::join) co_return Warmed{Warmed::failed, "not-cacheable"};
    if (!permit.permit) {
      if (!co_await wait_for_leftover(permit)) {
        bool const drains = local_.shared.draining.load(std::memory_order_relaxed);
        co_return Warmed{drains ? Warmed::left : Warmed::failed, "no-permit"};
      }
      decision_ = decide(base::read_clock());  // much may have happened meanwhile
      continue;
    }
    auto order = order_for_nobody(std::move(permit.permit), observe::FetchClass::warm);
    if (!order) co_return Warmed{Warmed::skipped, "under-way"};
    order->refreshes = decision_.entry;  // what is stale is validated, whatever may be served meanwhile
    Fetch fetch(local_, std::move(*order));
    co_await fetch.run();
    co_return fetch.has_entry() ? Warmed{Warmed::done, {}} : Warmed{Warmed::failed, "not-stored"};
  }
}

// LIM-2: a permit that no foreground request needs, however long it takes. False: the origin is not to be asked, or a drain
// has begun.
asio::awaitable<bool> Exchange::wait_for_leftover(shield::PermitWaiter& permit) {
  permit.permit_class = shield::PermitClass::background;
  permit.patient = true;
  permit.partition = partition();
  Parking parking(local_.io.get_executor(), local_.worker);
  Parking pause(local_.io.get_executor(), local_.worker);  // the other one may be resumed already
  auto const& draining = local_.shared.draining;
  auto refused_until = base::SteadyTime::max();
  while (!draining.load(std::memory_order_relaxed)) {
    auto const now = base::Clock::now();
    if (origin_->breaker.refuses(now, true)) {
      if (refused_until == base::SteadyTime::max()) refused_until = now + breaker_patience;
      if (now >= refused_until) co_return false;
      co_await pause.until(now + look_again);
      continue;
    }
    refused_until = base::SteadyTime::max();
    parking.attach(permit);
    auto const asked = origin_->limiter.acquire(permit);
    if (asked == shield::Acquire::granted) co_return true;
    if (asked != shield::Acquire::queued) {
      co_await pause.until(now + look_again);
      continue;
    }
    for (auto woken = Woken::late; woken != Woken::resumed;) {
      woken = co_await parking.until(base::Clock::now() + look_again);
      if (woken == Woken::resumed || !draining.load(std::memory_order_relaxed)) continue;
      if (origin_->limiter.cancel(permit)) co_return false;
      co_await parking.until_resumed();
      break;
    }
    if (permit.permit) co_return !draining.load(std::memory_order_relaxed);  // else the breaker opened
  }
  co_return false;
}

}  // namespace weir::proxy
