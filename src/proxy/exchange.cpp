// What happens to a request, from top to bottom. How answers are written is in exchange_answer.cpp, how the origin is asked
// in fetch.cpp.
#include "weir/proxy/exchange.hpp"

#include "weir/base/hash.hpp"
#include "weir/cache/conditional.hpp"
#include "weir/cache/cookies.hpp"
#include "weir/cache/vary.hpp"

namespace weir::proxy {

using cache::Verdict;
using http::FieldId;
using http::Method;
using observe::Forwarded;
using observe::Outcome;
using shield::FailureKind;
using shield::Told;

namespace {

// Look-up, wait, look up again: more rounds than any sequence of news about one key can need.
constexpr std::uint8_t max_rounds = 6;
constexpr std::size_t usual_fields = 32;

}  // namespace

Exchange::Exchange(Local& local) : local_(local) { forwarded_.reserve(usual_fields); }

Exchange::~Exchange() = default;

void Exchange::begin(Client& client, http::Request const& request, base::Now now) noexcept {
  client_ = &client;
  request_ = request;
  as_it_came_ = request.fields;
  is_edited_ = identity_forbidden_ = false;
  edited_.clear();
  forwarded_.clear();
  seen_ = false;
  came_ = now;
  settings_ = local_.settings.get();
  written_ = 0;
  begun_.clear();
  key_.clear();
  hash_ = 0;
  close_ = false;
}

// Act one: steps 2 to 5 of the story.
bool Exchange::answer_at_once() {
  decision_ = decide(came_);
  if (decision_.what != What::hit) return false;
  local_.scratch.clear();
  auto const parts = compose_hit(local_.scratch);
  std::array<asio::const_buffer, 3> const buffers{asio::buffer(parts.head), asio::buffer(local_.scratch),
                                                  asio::buffer(parts.body)};
  count(decision_.outcome);  // before anyone can have seen the answer
  if (!client_->write_now(buffers, written_)) {
    close_ = true;
  } else if (written_ != asio::buffer_size(buffers)) {
    if (decision_.refresh) refresh_in_background();
    begun_ = local_.scratch;  // the rest must be of the same answer
    return false;
  }
  if (decision_.refresh) refresh_in_background();
  decision_.entry.reset();  // a spare exchange pins nothing
  return true;
}

// Act two: whatever needs waiting.
asio::awaitable<After> Exchange::answer() {
  for (;;) {
    switch (decision_.what) {
      case What::refuse:
        co_return co_await send_refusal();
      case What::hit:
        co_return co_await send_hit();
      case What::gather: {
        auto const fault = co_await gather_body();
        if (fault != BodyRead::end) co_return co_await send_body_fault(fault);
        decision_ = decide(base::read_clock());
        continue;
      }
      case What::join:
      case What::alone:
        break;
    }
    auto const news = co_await join_or_fetch();
    if (news.what == News::answered) co_return news.after;
    if (news.what == News::adopted) continue;
    decision_ = decide(base::read_clock());
    if (decision_.refresh) refresh_in_background();
    if (decision_.what == What::join &&
        (turned_away_ > 1 || ++rounds_ >= max_rounds || (turned_away_ == 1 && selector() == joined_selector_)))
      go_alone();
    if (decision_.what == What::alone && turned_away_ > 0) decision_.cache_status.collapsed = observe::Collapsed::no;
  }
}

// Steps 2 to 4: policy, key, look-up, verdict.
Exchange::Decision Exchange::decide(base::Now now) {
  // No purge.allow yet: PURGE is nobody's (PRG-3).
  if (request_.method_id == Method::connect || request_.method_id == Method::trace || request_.method_id == Method::purge)
    return refuse(405);
  if (loops(request_.fields, local_.shared.cdn_loop_id)) return refuse(508);
  if (client_->trusted) believe_scheme();
  routed_ = route(settings(), request_);
  if (routed_.site == nullptr) return refuse(421);
  origin_ = local_.shared.origins.at(routed_.site->origin).get();
  if (!seen_) edit_request();
  target_ = cache::rewrite_target(request_, routed_.policy->key, rewritten_);

  if (keys_body() && !body_) {
    Decision gather;
    gather.what = What::gather;
    return gather;
  }
  bool const plain = (request_.method_id == Method::get || request_.method_id == Method::head) && !request_.has_body() &&
                     request_.path != "*";
  bool const readable = plain || digest_;
  bool const upgrades = wants_websocket(request_);
  if (readable && routed_.policy->cache && !upgrades) return decide_cacheable(now);
  auto decision = bypass(readable ? Forwarded::bypass : Forwarded::method, upgrades);
  if (may_stand_for_get()) {
    key_as_get();
    decision.may_store = true;
  }
  return decision;
}

Exchange::Decision Exchange::decide_cacheable(base::Now now) {
  auto const& policy = *routed_.policy;
  auto const cookies = cache::classify_cookies(request_.fields, policy.key, policy.cookies);
  if (!seen_) local_.metrics.cacheable.add();
  if (!seen_ && cookies.has_credential) note_cookies();
  if (!seen_ && policy.cookies.only_keyed) note_stripped_cookies();
  seen_ = true;
  if (cookies.has_credential && policy.cookies.mode == cache::CookieMode::bypass) return bypass(Forwarded::bypass);
  normalise_host();
  see_as_forwarded();
  auto as_forwarded = request_;
  as_forwarded.fields = http::Fields(forwarded_);
  key_.clear();
  cache::append_primary_key(as_forwarded, target_, policy.key, digest_ ? &*digest_ : nullptr, key_);
  hash_ = base::hash_bytes(cache::view(key_));
  asker_ = cache::asker_of(request_, cookies.has_credential, policy.client);
  asker_.has_authorization = asker_.has_authorization && cache::has_authorization_credential(request_.fields, policy.key) &&
                             reaches_origin(policy, "authorization");

  auto found = local_.shared.store.peek({cache::view(key_), hash_, as_forwarded.fields, &policy.key}, now);
  url_number_ = 0;
  if (cache::keys_more_than_url(policy.key)) {  // SRV-6
    url_number_ = local_.shared.invalidated_urls.number(base::hash_bytes(cache::url_part(cache::view(key_))));
    if (found.entry)
      found.overrule = cache::overruled_by_url(found.overrule, found.entry->facts().purge_number, url_number_);
  }
  Decision decision;
  decision.forward = ForwardAs::canonical;
  decision.may_store = true;
  if (found.entry) {
    decision.entry = found.entry;
    decision.overrule = found.overrule;
    decision.reuse = cache::reuse(asker_, found.entry->facts(), found.overrule, now);
  }
  bool const usable = found.entry && decision.reuse.verdict != Verdict::unusable && !identity_forbidden_ &&
                      (!digest_ || decision.reuse.verdict == Verdict::fresh);

  if (usable && decision.reuse.verdict != Verdict::must_validate) {
    bool const while_revalidate = decision.reuse.verdict == Verdict::stale_while_revalidate;
    bool const fresh = decision.reuse.verdict == Verdict::fresh;
    decision.what = What::hit;
    decision.outcome = fresh ? Outcome::hit : Outcome::stale;
    decision.cache_status.hit = true;
    decision.cache_status.ttl = decision.reuse.ttl;
    if (while_revalidate) {
      decision.cache_status.detail = observe::detail::stale_while_revalidate;
      local_.metrics.stale_served[static_cast<std::size_t>(observe::StaleReason::while_revalidate)].add();
    }
    decision.refresh = while_revalidate || (fresh && !digest_ && policy.freshness.early_refresh &&
                                            cache::nears_expiry(found.entry->facts(), now.steady) &&
                                            cache::wants_early_refresh(found.entry->facts(), now.steady, local_.chance()));
    return decision;
  }
  if (asker_.only_if_cached) return refuse(504);
  if (!usable && found.failed.status != 0) {  // NEG-1
    decision = refuse(found.failed.status);
    decision.failed = found.failed;
    decision.cache_status.hit = true;
    decision.cache_status.detail = observe::detail::negative;
    return decision;
  }

  auto& forwarded = decision.cache_status.forwarded;
  if (usable)
    forwarded = decision.reuse.reason >= cache::ReuseReason::request_no_cache &&
                        decision.reuse.reason <= cache::ReuseReason::request_max_stale
                    ? Forwarded::request
                    : Forwarded::stale;
  else
    forwarded = found.has_vary_spec ? Forwarded::vary_miss : Forwarded::uri_miss;
  decision.outcome = usable ? Outcome::revalidated : Outcome::miss;
  decision.why = usable ? observe::FetchClass::revalidate : observe::FetchClass::miss;
  decision.what = What::join;
  if (!usable) decision.entry = nullptr;
  if (policy.collapse == config::Collapse::off) {  // COA-12: pages random by nature
    decision.what = What::alone;
    decision.forward = ForwardAs::own;
  }

  // Who fetches alone: on a marker, with credentials that the known answer is not meant for (COA-8, FWD-3), or who refuses
  // every coding that we know (KEY-5).
  bool const marked = found.hit_for_miss;
  bool const own_answer = (is_credentialed() && !usable) || identity_forbidden_;
  if (marked || own_answer) {
    decision.what = What::alone;
    decision.forward = ForwardAs::own;
    decision.why = observe::FetchClass::pass;
    decision.outcome = Outcome::pass;
    decision.entry = nullptr;
    if (marked) {
      forwarded = Forwarded::miss;
      decision.cache_status.detail = observe::detail::hit_for_miss;
    }
  }
  return decision;
}

// COA-5: what was waited for cannot be shared with this request.
void Exchange::go_alone() {
  decision_.what = What::alone;
  decision_.forward = ForwardAs::own;
  decision_.why = observe::FetchClass::pass;
  decision_.outcome = Outcome::pass;
  decision_.entry = nullptr;
}

shield::JoinResult Exchange::join(shield::SlotWaiter& waiter) {
  auto& flights = local_.shared.flights;
  if (decision_.what == What::join) {
    joined_selector_ = selector();
    auto const& rules = routed_.policy->coalesce.table;
    shield::FlightKey key{cache::view(key_), hash_, joined_selector_};
    key.may_lead = !asker_.no_store;  // SRV-5
    key.must_see = url_number_;
    auto joined = flights.join(key, waiter, local_.worker, rules, base::Clock::now());
    if (joined.joined == shield::Joined::overflow) local_.metrics.coalesce_overflow.add();
    bool const shed =
        joined.joined == shield::Joined::overflow && routed_.policy->coalesce.on_overflow == config::Overflow::shed;
    if (shed || (joined.joined != shield::Joined::overflow && joined.joined != shield::Joined::may_not_lead)) return joined;
    go_alone();
  }
  shield::JoinResult alone;
  shield::FlightKey key;
  key.primary = cache::view(key_);
  key.hash = hash_;
  alone.ticket = flights.alone(key, waiter, local_.worker);
  alone.joined = shield::Joined::leading;
  return alone;
}

// Steps 6 to 8.
asio::awaitable<Exchange::News> Exchange::join_or_fetch() {
  Parking parking(local_.io.get_executor(), local_.worker);
  shield::SlotWaiter waiter;
  parking.attach(waiter);
  if (hears_interims()) parking.attach_nudge(waiter.interim);
  auto joined = join(waiter);
  switch (joined.joined) {
    case shield::Joined::read_now:
      waiter.told = Told::head;
      waiter.flight = std::move(joined.flight);
      break;
    case shield::Joined::waiting:
      co_await wait_for_head(waiter, parking);
      break;
    case shield::Joined::leading:
      if (request_.has_body() && !digest_) start_upload();
      if (decision_.upgrades) tunnel_ = new Tunnel;
      start_fetch(local_, make_order(std::move(joined.ticket), decision_.why));
      co_await wait_for_head(waiter, parking);
      break;
    case shield::Joined::overflow:
    case shield::Joined::may_not_lead:
      local_.metrics.shed[static_cast<std::size_t>(observe::ShedReason::coalesce_overflow)].add();
      if (adopt_stale(observe::StaleReason::shed, observe::detail::shed)) co_return News{News::adopted};
      co_return News{News::answered, co_await send_failure(FailureKind::queue_full)};
  }
  co_return co_await take(waiter);
}

// STL-1, FRS-3, FWD-7: one a key, for nobody. The permit comes first, and the flight table only with it.
void Exchange::refresh_in_background() {
  if (is_credentialed()) return;
  auto const now = base::Clock::now();
  auto const& entry = *decision_.entry;
  if (!entry.claim_refresh(now, origin_->settings.timeouts.origin)) return;
  shield::PermitWaiter permit;
  permit.permit_class = shield::PermitClass::background;
  permit.partition = partition();
  if (origin_->breaker.refuses(now, true) || origin_->limiter.acquire(permit) != shield::Acquire::granted)
    return entry.release_refresh(now, refresh_pause);
  joined_selector_ = selector();
  auto ticket = local_.shared.flights.lead_for_nobody({cache::view(key_), hash_, joined_selector_, url_number_},
                                                      local_.worker, routed_.policy->coalesce.table, now);
  if (!ticket) return;  // somebody's fetch is under way
  decision_.what = What::join;
  decision_.forward = ForwardAs::background;
  auto order = make_order(std::move(*ticket), observe::FetchClass::background);
  decision_.what = What::hit;
  order.permit = std::move(permit.permit);
  order.refreshes = decision_.entry;
  start_fetch(local_, std::move(order));
}

FetchOrder Exchange::make_order(shield::LeaderTicket ticket, observe::FetchClass why) const {
  auto const& policy = *routed_.policy;
  FetchOrder order;
  order.ticket = std::move(ticket);
  order.settings = settings_hold_ ? settings_hold_ : local_.settings;
  order.partition = partition();
  order.policy = &policy;
  order.origin = origin_;
  order.pool = local_.pools.at(routed_.site->origin).get();
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

// COA-4: stale, else a replacement where COA-3 allows one, and on waiting; never past the origin's own time.
asio::awaitable<void> Exchange::wait_for_head(shield::SlotWaiter& waiter, Parking& parking) {
  auto& flights = local_.shared.flights;
  auto const from = base::Clock::now();
  auto const origin_time = origin_->settings.timeouts.origin;
  bool const shared = decision_.what == What::join;
  auto const end = shared ? from + origin_time : base::SteadyTime::max();
  auto due = shared ? from + std::min(routed_.policy->coalesce.follower_max_wait, origin_time) : end;
  client_->watch(parking);
  for (;;) {
    if (waiter.has_interims.load(std::memory_order_acquire)) co_await relay_interims(waiter, parking);
    auto const woken = co_await parking.until(due);
    if (woken == Woken::resumed) break;
    if (woken == Woken::nudged) continue;
    if (woken == Woken::late && due < end) {
      bool const stale =
          decision_.entry &&
          cache::reuse(asker_, decision_.entry->facts(), decision_.overrule, base::read_clock()).stale_if_error;
      if (!stale) {
        due = end;
        auto ticket = flights.replace_overdue(waiter, local_.worker, routed_.policy->coalesce.table, base::Clock::now());
        if (ticket) start_fetch(local_, make_order(std::move(*ticket), observe::FetchClass::replacement));
        local_.metrics
            .coalesce_timeouts[static_cast<std::size_t>(ticket ? observe::CoalesceFallback::replacement
                                                               : observe::CoalesceFallback::wait_on)]
            .add();
        continue;
      }
    }
    if (flights.cancel(waiter)) break;  // told nothing: timed out or gone
    co_await parking.until_resumed();
    break;
  }
  client_->end_watch();
  co_await parking.until_free(waiter.interim);
  if (waiter.has_interims.load(std::memory_order_acquire)) co_await relay_interims(waiter, parking);
  local_.metrics.coalesce_wait.observe(base::Clock::now() - from);
}

// What the slot said.
asio::awaitable<Exchange::News> Exchange::take(shield::SlotWaiter& waiter) {
  switch (waiter.told) {
    case Told::head:
      if (waiter.flight->head()->status == 101) co_return News{News::answered, co_await send_tunnel(waiter)};
      if (!waiter.leader && !suits(*waiter.flight->head())) break;
      if (waiter.leader && wants_own_range(*waiter.flight->head())) {
        waiter.flight.reset();  // nobody reads it: the fetch ends at its head
        break;
      }
      if (waiter.flight->head()->origin_error &&
          adopt_stale(observe::StaleReason::if_error, observe::detail::stale_if_error, waiter.flight->head()->status))
        co_return News{News::adopted};
      co_return News{News::answered, co_await send_flight(waiter)};
    case Told::entry:
      if (adopt_entry(waiter)) co_return News{News::adopted};
      break;
    case Told::by_variant:
      co_return News{News::look_again};
    case Told::reenter:
      break;
    case Told::failed:
      if (adopt_stale_for(waiter.failure.kind)) co_return News{News::adopted};
      co_return News{News::answered, co_await send_failure(waiter.failure.kind)};
    case Told::nothing:
      if (client_->departed()) co_return News{News::answered, co_await leave()};
      if (adopt_stale(observe::StaleReason::coalesce_timeout, observe::detail::coalesce_timeout))
        co_return News{News::adopted};
      local_.metrics.coalesce_timeouts[static_cast<std::size_t>(observe::CoalesceFallback::gateway_timeout)].add();
      co_return News{News::answered, co_await send_failure(FailureKind::read_timeout)};
  }
  ++turned_away_;
  co_return News{News::look_again};
}

// An entry that the flight found in the store, or freshened: by this request's own reuse rules (COA-1). What the origin has
// just confirmed may be given to those who asked before it did, fresh or not (COA-17).
bool Exchange::adopt_entry(shield::SlotWaiter& waiter) {
  auto const reuse = cache::reuse(asker_, waiter.entry->facts(), {}, base::read_clock());
  if (!cache::selects(http::Fields(forwarded_), waiter.entry->selector(), routed_.policy->key)) return false;
  bool const strict = routed_.policy->collapse == config::Collapse::strict && !waiter.leader;
  if (strict && reuse.verdict == Verdict::must_validate) return false;  // COA-17
  if (reuse.verdict == Verdict::unusable || (!waiter.validated && reuse.verdict == Verdict::must_validate)) return false;
  decision_.what = What::hit;
  decision_.entry = waiter.entry;
  decision_.reuse = reuse;
  auto& status = decision_.cache_status;
  if (!waiter.validated) {
    status = {};
    status.hit = true;
    decision_.outcome = Outcome::hit;
  } else {
    status.forwarded_status = 304;
    if (!waiter.leader) status.collapsed = observe::Collapsed::yes;
    decision_.outcome = waiter.leader ? Outcome::revalidated : Outcome::collapsed;
  }
  status.ttl = reuse.ttl;
  return true;
}

// Why the fetch failed decides what is told of the stale answer.
bool Exchange::adopt_stale_for(FailureKind failure) {
  switch (failure) {
    case FailureKind::breaker_open:
      return adopt_stale(observe::StaleReason::breaker_open, observe::detail::circuit_open);
    case FailureKind::queue_full:
    case FailureKind::queue_timeout:
      return adopt_stale(observe::StaleReason::shed, observe::detail::shed);
    default:
      return adopt_stale(observe::StaleReason::if_error, observe::detail::stale_if_error);
  }
}

// STL-2. Without an attempt at the origin it is a hit that is stale; after one, a stale answer that went forward.
bool Exchange::adopt_stale(observe::StaleReason reason, std::string_view detail, int received_status) {
  if (!decision_.entry) return false;
  auto const reuse = cache::reuse(asker_, decision_.entry->facts(), decision_.overrule, base::read_clock());
  if (!reuse.stale_if_error) return false;
  bool const attempted = reason == observe::StaleReason::if_error || reason == observe::StaleReason::coalesce_timeout;
  decision_.what = What::hit;
  decision_.reuse = reuse;
  decision_.outcome = Outcome::stale;
  decision_.cache_status = {};
  decision_.cache_status.hit = !attempted;
  if (attempted) decision_.cache_status.forwarded = Forwarded::stale;
  decision_.cache_status.forwarded_status = received_status;
  decision_.cache_status.ttl = reuse.ttl;
  decision_.cache_status.detail = detail;
  local_.metrics.stale_served[static_cast<std::size_t>(reason)].add();
  if (reason == observe::StaleReason::coalesce_timeout)
    local_.metrics.coalesce_timeouts[static_cast<std::size_t>(observe::CoalesceFallback::stale)].add();
  return true;
}

// Whether an arriving answer, asked for by another request, is for this one too.
bool Exchange::suits(shield::FlightHead const& head) const {
  if (head.origin_error) return true;  // COA-5: everyone gets it; what may be shown is decided when it is sent
  if (asker_.has_cookie_credential && !head.facts.shared_explicitly) return false;
  if (asker_.has_authorization && !head.facts.authorized) return false;
  return cache::selects(http::Fields(forwarded_), head.selector, routed_.policy->key);
}

}  // namespace weir::proxy
