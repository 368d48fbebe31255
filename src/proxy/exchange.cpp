// What happens to a request, from top to bottom. Its parts: exchange_request.cpp (what the request is made into),
// exchange_order.cpp (the fetches that it orders), exchange_adopt.cpp (what it may take of what it waited for),
// exchange_answer.cpp (how answers are written). How the origin is asked is in fetch.cpp.
#include "weir/proxy/exchange.hpp"

#include <algorithm>

#include "weir/base/hash.hpp"
#include "weir/cache/conditional.hpp"
#include "weir/cache/cookies.hpp"
#include "weir/cache/policy.hpp"
#include "weir/cache/vary.hpp"
#include "weir/proxy/overrule.hpp"

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
constexpr std::size_t usual_fields = 24;

// Whether the response would do but for what the request's own directives say.
bool forbids_reuse(cache::Reuse const& reuse) noexcept {
  return reuse.reason >= cache::ReuseReason::request_no_cache && reuse.reason <= cache::ReuseReason::request_max_stale;
}

// Whether the client may have refused every coding that we know (KEY-5): that takes a weight.
bool weighs_codings(http::Fields request) noexcept {
  return std::ranges::any_of(request, [](http::Field const& field) {
    return field.id == FieldId::accept_encoding && field.value.find(';') != std::string_view::npos;
  });
}

}  // namespace

Exchange::Exchange(Local& local) : local_(local) { forwarded_.reserve(usual_fields); }

Exchange::~Exchange() = default;

void Exchange::give_up() noexcept {
  if (upload_) upload_->cut();
}

void Exchange::begin(Client& client, http::Request const& request, base::Now now) noexcept {
  client_ = &client;
  request_ = request;
  as_it_came_ = request.fields;
  routed_ = {};
  origin_ = nullptr;
  is_edited_ = identity_forbidden_ = false;
  edited_.clear();
  forwarded_.clear();
  seen_ = false;
  came_ = now;
  settings_ = local_.settings.get();
  snapshot_ = local_.snapshot.get();
  written_ = 0;
  begun_.clear();
  key_.clear();
  hash_ = 0;
  close_ = false;
  sent_ = {};
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
      case What::redirect:
        co_return co_await send_redirect();
      case What::purge:
        co_return co_await send_purge();
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
    // COA-5: it joins again only where its key has changed, or once for a purge.
    bool const same_again = turned_away_ > 0 && (turned_away_ > 1 || must_see_ == 0);
    if (decision_.what == What::join && (++rounds_ >= max_rounds || (same_again && selector() == joined_selector_)))
      go_alone();
    if (decision_.what == What::alone && turned_away_ > 0) decision_.cache_status.collapsed = observe::Collapsed::no;
    if (decision_.what == What::alone && news.what == News::too_large) decision_.why = observe::FetchClass::range;
  }
}

// Steps 2 to 4: policy, key, look-up, verdict.
Exchange::Decision Exchange::decide(base::Now now) {
  if (request_.method_id == Method::connect || request_.method_id == Method::trace) return refuse(405);
  if (request_.method_id == Method::purge) {
    auto decision = refuse(405);
    if (may_purge()) decision.what = What::purge;
    return decision;
  }
  if (request_.method_id == Method::options && forwards_left(request_) == 0) return refuse(200);  // RFC 9110 7.6.2
  if (loops(request_.fields, local_.shared.cdn_loop_id)) return refuse(508);
  if (client_->trusted) believe_scheme();
  routed_ = route(settings(), request_);
  if (routed_.site == nullptr) return refuse(421);
  if (!routed_.site->redirect.empty() && must_go_by_https()) {
    Decision decision;
    decision.what = What::redirect;
    return decision;
  }
  origin_ = snapshot_->of_site[routed_.site_index].state.get();
  if (!seen_) edit_request();
  target_ = cache::rewrite_target(request_, routed_.policy->key, rewritten_);

  bool const cached = routed_.policy->cache && mode(now) != cache::Mode::bypass;
  if (cached && keys_body() && !body_) {
    Decision gather;
    gather.what = What::gather;
    return gather;
  }
  bool const plain = (request_.method_id == Method::get || request_.method_id == Method::head) && !request_.has_body() &&
                     request_.path != "*";
  bool const readable = plain || digest_;
  bool const upgrades = wants_websocket(request_);
  if (readable && cached && !upgrades) return decide_cacheable(now);
  auto decision = bypass(readable ? Forwarded::bypass : Forwarded::method, upgrades);
  if (decision.what == What::alone && may_stand_for_get()) {
    key_as_get();
    decision.may_store = true;
  }
  return decision;
}

Exchange::Decision Exchange::decide_cacheable(base::Now now) {
  auto const& policy = *routed_.policy;
  auto const cookies = cache::classify_cookies(request_.fields, policy.key, policy.cookies);
  if (!seen_ && !looks_only_) {
    local_.metrics.cacheable.add();
    if (cookies.has_credential) note_cookies();
    if (policy.cookies.only_keyed) note_stripped_cookies();
  }
  seen_ = true;
  if (cookies.has_credential && policy.cookies.mode == cache::CookieMode::bypass) return bypass(Forwarded::bypass);
  normalise_host();
  if (cache::keys_more_than_url(policy.key) || digest_ || weighs_codings(request_.fields)) see_as_forwarded();
  key_.clear();
  cache::append_primary_key(request_, http::Fields(forwarded_), target_, policy.key, digest_ ? &*digest_ : nullptr, key_);
  hash_ = base::hash_bytes(cache::view(key_));
  asker_ = cache::asker_of(request_, cookies.has_credential, policy.client);
  asker_.has_authorization = asker_.has_authorization && cache::has_authorization_credential(request_.fields, policy.key) &&
                             reaches_origin(policy, "authorization");

  auto found = look_up(now);
  Decision decision;
  decision.forward = ForwardAs::canonical;
  decision.may_store = true;
  decision.entry = std::move(found.entry);
  auto const& entry = decision.entry;
  if (entry) {
    decision.overrule = found.overrule;
    decision.reuse = cache::reuse(asker_, entry->facts(), found.overrule, now, mode(now));
  }
  bool const usable = entry && decision.reuse.verdict != Verdict::unusable && !identity_forbidden_ &&
                      (!digest_ || decision.reuse.verdict == Verdict::fresh);

  bool const asks_first = found.unchecked && !asker_.only_if_cached;
  if (usable && decision.reuse.verdict != Verdict::must_validate && !asks_first) {
    bool const while_revalidate = decision.reuse.verdict == Verdict::stale_while_revalidate;
    bool const fresh = decision.reuse.verdict == Verdict::fresh;
    decision.what = What::hit;
    decision.outcome = fresh ? Outcome::hit : Outcome::stale;
    decision.cache_status.hit = true;
    decision.cache_status.ttl = decision.reuse.ttl;
    if (while_revalidate) decision.cache_status.detail = observe::detail::stale_while_revalidate;
    decision.refresh = while_revalidate || (fresh && refreshes_early() && cache::nears_expiry(entry->facts(), now.steady) &&
                                            cache::wants_early_refresh(entry->facts(), now.steady, local_.chance()));
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

  see_as_forwarded();
  auto& forwarded = decision.cache_status.forwarded;
  if (!entry || decision.reuse.reason == cache::ReuseReason::purged)
    forwarded = found.has_vary_spec ? Forwarded::vary_miss : Forwarded::uri_miss;
  else
    forwarded = forbids_reuse(decision.reuse) || (!usable && decision.reuse.ttl > base::Duration::zero())
                    ? Forwarded::request
                    : Forwarded::stale;
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
    if (identity_forbidden_) decision.entry = nullptr;  // else it may still stand in for an error
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
}

// Which variant it is depends on the request as it is forwarded; most keys have none, and most hits end without that.
store::Lookup Exchange::look_up(base::Now now) {
  auto const& rules = routed_.policy->key;
  auto const peek = [&] {
    store::Question question{cache::view(key_), hash_, http::Fields(forwarded_), &rules};
    question.looks_only = looks_only_;
    return local_.shared.store.peek(question, now);
  };
  auto found = peek();
  if (found.has_vary_spec && forwarded_.empty()) {
    see_as_forwarded();
    found = peek();
  }
  overrule(local_.shared, place(), rules, cache::view(key_), found);
  return found;
}

cache::Place Exchange::place() const noexcept {
  return {routed_.site->name, request_.authority, target_.path, target_.query, target_.has_query};
}

shield::FlightKey Exchange::flight_key() {
  joined_selector_ = selector();
  shield::FlightKey key{cache::view(key_), hash_, joined_selector_};
  key.may_lead = !asker_.no_store;  // SRV-5
  key.must_see = std::max(must_see_, must_see(local_.shared, place(), routed_.policy->key, cache::view(key_)));
  return key;
}

bool Exchange::goes_alone_after(shield::Joined joined) const noexcept {
  if (joined == shield::Joined::overflow) return routed_.policy->coalesce.on_overflow != config::Overflow::shed;
  return joined == shield::Joined::may_not_lead;
}

shield::JoinResult Exchange::join(shield::SlotWaiter& waiter) {
  auto& flights = local_.shared.flights;
  if (decision_.what == What::join) {
    auto const key = flight_key();
    auto joined = flights.join(key, waiter, local_.worker, routed_.policy->coalesce.table, base::Clock::now());
    if (joined.joined == shield::Joined::overflow) local_.metrics.coalesce_overflow.add();
    if (!goes_alone_after(joined.joined)) return joined;
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
      if (auto const news = co_await wait_for_head(waiter, parking)) co_return *news;
      break;
    case shield::Joined::leading:
      if (request_.has_body() && !digest_) start_upload();
      if (decision_.upgrades) tunnel_ = new Tunnel;
      if (joined.replaces) decision_.why = observe::FetchClass::replacement;
      start_fetch(local_, make_order(std::move(joined.ticket), decision_.why));
      if (auto const news = co_await wait_for_head(waiter, parking)) co_return *news;
      break;
    case shield::Joined::overflow:
    case shield::Joined::may_not_lead:
      local_.metrics.shed[static_cast<std::size_t>(observe::ShedReason::coalesce_overflow)].add();
      if (adopt_stale(observe::StaleReason::shed, observe::detail::shed)) co_return News{News::adopted};
      co_return News{News::answered, co_await send_failure(FailureKind::queue_full)};
  }
  co_return co_await take(waiter);
}

// COA-4: stale, else a replacement where COA-3 allows one, and on waiting; never past the origin's own time. Nothing: the
// slot has spoken, or the time is over.
asio::awaitable<std::optional<Exchange::News>> Exchange::wait_for_head(shield::SlotWaiter& waiter, Parking& parking) {
  auto& flights = local_.shared.flights;
  auto const from = base::Clock::now();
  auto const origin_time = origin_->settings.timeouts.origin;
  bool const shared = decision_.what == What::join;
  auto const end = shared ? from + origin_time : base::SteadyTime::max();
  auto due = shared ? from + std::min(routed_.policy->coalesce.follower_max_wait, origin_time) : end;
  std::optional<News> news;
  std::optional<Watching> watching(std::in_place, *client_, parking);
  for (;;) {
    if (waiter.has_interims.load(std::memory_order_acquire)) co_await relay_interims(waiter, parking);
    auto const woken = co_await parking.until(due);
    if (woken == Woken::resumed) break;
    if (woken == Woken::nudged) continue;
    bool const waited_enough = woken == Woken::late && due < end;
    if (waited_enough && !stand_in()) {
      due = end;
      auto ticket = flights.replace_overdue(waiter, local_.worker, routed_.policy->coalesce.table, base::Clock::now());
      if (ticket) start_fetch(local_, make_order(std::move(*ticket), observe::FetchClass::replacement));
      local_.metrics
          .coalesce_timeouts[static_cast<std::size_t>(ticket ? observe::CoalesceFallback::replacement
                                                             : observe::CoalesceFallback::wait_on)]
          .add();
      continue;
    }
    if (!flights.cancel(waiter))
      co_await parking.until_resumed();  // it has been told meanwhile
    else if (waited_enough)
      news = adopt_stale(observe::StaleReason::coalesce_timeout, observe::detail::coalesce_timeout) ? News{News::adopted}
                                                                                                    : News{News::look_again};
    break;
  }
  watching.reset();
  co_await parking.until_free(waiter.interim);
  if (waiter.has_interims.load(std::memory_order_acquire)) co_await relay_interims(waiter, parking);
  local_.metrics.coalesce_wait.observe(base::Clock::now() - from);
  co_return news;
}

// What the slot said.
asio::awaitable<Exchange::News> Exchange::take(shield::SlotWaiter& waiter) {
  switch (waiter.told) {
    case Told::head:
      if (waiter.flight->head()->status == 101) co_return News{News::answered, co_await send_tunnel(waiter)};
      if (!waiter.leader &&
          (was_purged(waiter, waiter.flight->head()->tags, waiter.flight->purge_number()) || !suits(*waiter.flight->head())))
        break;
      if (waiter.leader && wants_own_range(*waiter.flight->head())) {
        waiter.flight.reset();  // nobody reads it: the fetch ends at its head
        ++turned_away_;
        co_return News{News::too_large};
      }
      if ((waiter.flight->head()->origin_error || cache::is_origin_error(waiter.flight->head()->status)) &&
          adopt_stale(observe::StaleReason::if_error, observe::detail::stale_if_error, waiter.flight->head()->status))
        co_return News{News::adopted};
      co_return News{News::answered, co_await send_flight(waiter)};
    case Told::entry:
      if (adopt_entry(waiter)) co_return News{News::adopted};
      // What is stored expired or was purged just now. Those who find it so share one fetch (COA-1).
      if (!waiter.validated) co_return News{News::look_again};
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

}  // namespace weir::proxy
