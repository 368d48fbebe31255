// The fetches that a request orders: its own or the shared one, and a refresh for nobody.
#include <utility>

#include "weir/cache/conditional.hpp"
#include "weir/observe/log.hpp"
#include "weir/proxy/exchange.hpp"
#include "weir/proxy/overrule.hpp"

namespace weir::proxy {

using http::Method;

// STL-1, FRS-3, FWD-7: one a key, for nobody. The permit comes first, and the flight table only with it.
void Exchange::refresh_in_background() noexcept {
  if (is_credentialed()) return;
  auto const now = base::Clock::now();
  auto const& entry = *decision_.entry;
  if (!entry.claim_refresh(now, origin_->settings.timeouts.origin)) return;
  bool started = false;
  try {
    started = start_refresh(now);
  } catch (std::exception const& error) {  // no memory: like all background work, it is dropped then
    observe::log_error("refresh-not-started", {{"what", std::string_view(error.what())}});
  }
  if (!started) entry.release_refresh(now, refresh_pause);
}

// False: it may not be begun now. One that was begun keeps the claim to its end.
bool Exchange::start_refresh(base::SteadyTime now) {
  shield::PermitWaiter permit;
  permit.permit_class = shield::PermitClass::background;
  permit.partition = partition();
  if (origin_->breaker.refuses(now, true) || origin_->limiter.acquire(permit) != shield::Acquire::granted) return false;
  auto order = order_for_nobody(std::move(permit.permit), observe::FetchClass::background);
  if (!order) return true;  // somebody's fetch is under way, and is what the claim was for
  order->refreshes = decision_.entry;
  start_fetch(local_, std::move(*order));
  return true;
}

// FWD-7: with its permit. Nothing: somebody's fetch is under way.
std::optional<FetchOrder> Exchange::order_for_nobody(shield::Permit permit, observe::FetchClass why) {
  joined_selector_ = selector();
  auto const number = must_see(local_.shared, place(), routed_.policy->key, cache::view(key_));
  shield::FlightKey const key{cache::view(key_), hash_, joined_selector_, number};
  auto ticket =
      local_.shared.flights.lead_for_nobody(key, local_.worker, routed_.policy->coalesce.table, base::Clock::now());
  if (!ticket) return std::nullopt;
  struct Restored {
    What& what;
    What before;
    ~Restored() { what = before; }
  } const restored{decision_.what, std::exchange(decision_.what, What::join)};
  decision_.forward = is_selected_for_nobody() ? ForwardAs::background : ForwardAs::canonical;
  auto order = make_order(std::move(*ticket), why);
  order.permit = std::move(permit);
  return order;
}

FetchOrder Exchange::make_order(shield::LeaderTicket ticket, observe::FetchClass why) const {
  auto const& policy = *routed_.policy;
  FetchOrder order;
  order.ticket = std::move(ticket);
  order.settings = settings_hold_ ? settings_hold_ : local_.settings;
  order.partition = partition();
  order.policy = &policy;
  order.site = routed_.site->name;
  order.origin = origin_;
  order.pool = snapshot_->of_site[routed_.site_index].pool.get();  // `settings` keeps it
  order.request =
      make_forward(request_, target_, decision_.forward, policy, origin_->settings, order.pool->address().authority,
                   {client_->address, client_->trusted}, local_.shared.cdn_loop_id);
  order.key = cache::view(key_);
  order.hash = hash_;
  order.shared = decision_.what == What::join;
  if (order.shared) order.selector = joined_selector_;
  order.may_store = decision_.may_store && (request_.method_id == Method::get || request_.method_id == Method::post);
  // FWD-2: validators and a range are unkeyed, and an origin could show them.
  if (is_strict(policy, decision_.forward) && cache::has_conditionals(order.request.fields.fields()))
    order.may_store = false;
  if (order.shared) order.may_store = true;
  order.requester.method = order.request.method_id;
  order.requester.has_authorization = asker_.has_authorization;
  order.requester.has_cookie_credential = asker_.has_cookie_credential;
  order.requester.no_store = asker_.no_store;
  order.requester.identity_forbidden = identity_forbidden_;
  order.asker = asker_;
  if (order.shared) order.basis = decision_.entry;
  if (digest_) carry_body(order);
  order.unsafe = !http::is_safe(request_.method_id) && !opted_in();
  order.why = why;
  order.upload = upload_;
  if (tunnel_) order.tunnel = tunnel_->asked_for_in(order.request);
  return order;
}

}  // namespace weir::proxy
