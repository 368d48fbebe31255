// A fetch from beginning to end, in the order in which things happen.
#include <algorithm>
#include <exception>

#include <boost/asio/co_spawn.hpp>

#include "fetch_impl.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/policy.hpp"
#include "weir/http/cache_control.hpp"
#include "weir/observe/log.hpp"
#include "weir/proxy/overrule.hpp"

namespace weir::proxy {
namespace {

using observe::FetchResult;
using shield::FailureKind;

// Bytes that a body which is not stored may be ahead of its reader.
inline constexpr std::uint64_t stream_window = std::uint64_t{256} * 1024;
// How long the spec of a flight's response is remembered before the entry itself keeps it.
inline constexpr base::Duration vary_spec_life = std::chrono::minutes(2);

FetchResult result_of(int status) noexcept {
  return status == 304   ? FetchResult::not_modified
         : status >= 500 ? FetchResult::server_error
         : status >= 400 ? FetchResult::client_error
                         : FetchResult::ok;
}

// MEM-1: flights hold their share, or their readers pin what the store has no room for. One more body would be held beside
// it.
bool memory_is_short(Shared const& shared) noexcept {
  auto const share = shared.flight_bytes_max.load(std::memory_order_relaxed);
  if (shared.flight_bytes.load(std::memory_order_relaxed) > share) return true;
  if (shared.memory.bytes() <= 5 * share) return false;  // as a rule the share is a quarter, and the locks below are spared
  auto const capacity = shared.store.stats().capacity;
  return capacity != 0 && shared.memory.bytes() > capacity + share;
}

// COA-5: an error is told to everyone, but what it says to one requester stays with that one.
bool may_be_shown_to_all(http::Fields fields) {
  if (fields.has(http::FieldId::set_cookie)) return false;
  auto const control = http::parse_cache_control(fields);
  return !control.private_ && !control.no_store && control.private_fields.empty();
}

}  // namespace

FetchResult result_of(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::dns:
    case FailureKind::connect_refused:
    case FailureKind::tls:
      return FetchResult::connect_failed;
    case FailureKind::connect_timeout:
    case FailureKind::read_timeout:
      return FetchResult::timeout;
    case FailureKind::queue_full:
    case FailureKind::queue_timeout:
    case FailureKind::breaker_open:
      return FetchResult::shed;
    case FailureKind::abandoned:
      return FetchResult::abandoned;
    default:
      return FetchResult::broken;
  }
}

FetchOrder::~FetchOrder() {
  if (upload) upload->origin_done();
  if (refreshes) refreshes->release_refresh(base::Clock::now(), refresh_pause);  // matters if nothing replaced it
}

Fetch::Fetch(Local& local, FetchOrder order)
    : local_(local),
      shared_(local.shared),
      order_(std::move(order)),
      flight_(order_.ticket.flight_ref()),
      parking_(local.io.get_executor(), local.worker),
      signal_(local.signals.take(shared_.mailboxes, local.worker, this,
                                 [](void* fetch) noexcept { static_cast<Fetch*>(fetch)->on_interest(); })) {
  storing_ = order_.may_store;
  started_ = base::Clock::now();
  began_ = flight().began();
  permit_.permit = std::move(order_.permit);
  in_background_ = static_cast<bool>(permit_.permit);
  shared_.fetches_under_way.fetch_add(1, std::memory_order_relaxed);
  flight().set_on_interest(&AbandonSignal::raise, &signal_);
}

Fetch::~Fetch() {
  let_go_of_head();
  if (giving_up_) giving_up_->fetch = nullptr, giving_up_->timer.cancel();
  flight().clear_on_interest();
  local_.signals.give(signal_);
  if (at_origin_) local_.metrics.origin_inflight.fetch_sub(1, std::memory_order_relaxed);
  shared_.flight_bytes.fetch_sub(held_, std::memory_order_relaxed);
  shared_.fetches_under_way.fetch_sub(1, std::memory_order_relaxed);
  if (order_.upload) order_.upload->origin_done();  // before the connection goes
  if (inbox_) local_.inboxes.give(std::move(inbox_));
  // A permit waiter that is still linked (the frame is destroyed at shutdown) leaves the queue.
  if (permit_.state.load(std::memory_order_acquire) == shield::WaiterState::linked) order_.origin->limiter.cancel(permit_);
}

// The whole fetch, in the order in which things happen.
asio::awaitable<void> Fetch::run() {
  if (order_.shared && co_await answered_by_store()) co_return;
  if (takes_turns() && co_await answered_elsewhere()) co_return;
  if (auto const failure = co_await be_admitted()) co_return fail(*failure);
  for (;;) {
    if (auto const failure = co_await ask()) co_return fail(*failure);
    if (!order_.basis || response_.status != 304) break;
    if (co_await freshen()) co_return;
    if (!response_.keep_alive || !inbox_->unread().empty())
      connection_.reset();
    else
      connection_->reused = true;  // REL-2
    // A 304 that is no answer for those who wait (SRV-2): ask again without validators.
    if (!withdrawn_) stand_in_ = order_.basis;
    order_.basis = nullptr;
    order_.why = observe::FetchClass::mismatch;
  }
  if (response_.status == 101) co_return co_await hand_over();
  if (order_.unsafe) co_await invalidate();
  if (order_.request.method_id == http::Method::head && !order_.key.empty()) update_stored();
  verdict_ = judge();
  if (withdrawn_) co_await withdraw();
  publish();
  bool whole = co_await receive();
  if (!whole && may_resume()) whole = co_await resume();
  if (!whole && storing_) local_.metrics.not_stored[static_cast<std::size_t>(cache::NotStored::broken)].add();
  if (!whole && held_back_) co_return fail(was_given_up() ? FailureKind::abandoned : FailureKind::connection_broken);
  co_await settle(whole);
}

cache::Place Fetch::place() const noexcept {
  auto const& request = order_.request;
  return {order_.site, request.authority, request.path, request.query, request.has_query};
}

// COA-1: the flight is in the table already, so what the store has now is what everyone who joins should get.
asio::awaitable<bool> Fetch::answered_by_store() {
  store::Question const question{order_.key,          order_.hash, order_.request.fields.fields(),
                                 &order_.policy->key, began_,      local_.worker};
  auto found = co_await shared_.store.find(question, base::read_clock());
  auto const now = base::read_clock();
  bool const as_late = found.entry && found.entry->facts().began >= began_;  // STO-6: what is fetched now begins after it
  if (as_late || found.number > flight().purge_number())
    began_ = order_.ticket.begins_again(std::max(found.number, flight().purge_number()));
  if (found.url_number != 0)
    shared_.invalidated_urls.invalidate(base::hash_bytes(cache::url_part(order_.key)), found.url_number);
  order_.basis = nullptr;
  overrule(shared_, place(), order_.policy->key, order_.key, found);
  bool again = found.hit_for_miss || found.failed.status != 0 || (found.has_vary_spec && order_.selector.empty());
  if (found.entry) {
    auto const reuse = cache::reuse(order_.asker, found.entry->facts(), found.overrule, now, mode());
    bool const at_once = reuse.verdict == cache::Verdict::fresh ||
                         (reuse.verdict == cache::Verdict::stale_while_revalidate && !order_.refreshes);
    if (at_once && !found.unchecked && found.entry.get() != order_.refreshes.get()) {
      has_entry_ = true;
      order_.ticket.publish_entry(found.entry, false);
      order_.ticket.leave();
      co_return true;
    }
    if (reuse.verdict != cache::Verdict::unusable && !order_.body) {
      order_.basis = found.entry;
      basis_overrule_ = found.overrule;
    }
    again = found.hit_for_miss;
  }
  if (again) {  // news for everyone: a marker stands, the origin just failed, or the key has variants
    order_.ticket.publish_by_variant();
    order_.ticket.leave();
    co_return true;
  }
  if (order_.basis && order_.why == observe::FetchClass::miss) order_.why = observe::FetchClass::revalidate;
  co_return false;
}

asio::awaitable<Fetch::MaybeFailure> Fetch::read_head() {
  wire::HeadLimits limits;
  limits.head_bytes = inbox_->bytes.size();
  limits.field_count = wire::max_field_count;
  std::size_t scanned = 0;
  for (;;) {
    if (auto const unread = inbox_->unread(); !unread.empty()) {
      auto const head = wire::read_response_head(unread, order_.request.method_id, limits, inbox_->head, scanned);
      if (head.step == wire::HeadStep::refused)
        co_return head.fault == wire::ResponseFault::too_large ? FailureKind::response_too_large : FailureKind::bad_response;
      if (head.step == wire::HeadStep::ready) {
        inbox_->begin += head.size;
        scanned = 0;
        bool const switches = order_.tunnel && agrees_to_websocket(head.response);
        if (head.response.status == 101 && !switches) co_return FailureKind::bad_response;  // nobody asked for that protocol
        if (head.response.status >= 200 || switches) {
          if (is_farewell(head.response.status)) {
            any_byte_ = false;
            co_return FailureKind::connection_broken;
          }
          if (order_.upload) order_.upload->answered();
          // Who answers before the end of a body may take the rest of it for a request.
          used_up_ = used_up_ || (order_.upload && !order_.upload->sent_whole()) ||
                     order_.request.fields.fields().list_contains(http::FieldId::connection, "close");
          response_ = head.response;
          response_.keep_alive = response_.keep_alive && !used_up_;
          times_.response = base::read_clock();
          order_.origin->reached.store(true, std::memory_order_relaxed);
          co_return std::nullopt;
        }
        used_up_ = used_up_ || !head.response.keep_alive;  // of an interim head that announces a body, say
        if (head.response.status == 100 && order_.upload) order_.upload->continued();
        if (head.response.status > 101) tell_interim(head.response);
        continue;
      }
    }
    auto const into = inbox_->room();
    if (into.empty()) co_return FailureKind::response_too_large;
    auto const got = co_await connection_->stream->read_some(into);
    if (got.error) {
      if (connection_->deadline.expired()) co_return FailureKind::read_timeout;
      co_return abandoned_ ? FailureKind::abandoned : FailureKind::connection_broken;
    }
    any_byte_ = true;
    inbox_->end += got.bytes;
  }
}

cache::Storability Fetch::judge() {
  cache::Storability verdict;
  if (!order_.may_store) {
    verdict.reason = cache::NotStored::method;
    return verdict;
  }
  order_.requester.fields = order_.request.fields.fields();
  auto const asked = as_asked();
  order_.requester.request = &asked;
  auto const& policy = *order_.policy;
  auto freshness = policy.freshness;
  bool const missing = response_.status == 404 || response_.status == 410;
  if (missing && policy.negative.default_ttl > base::Duration::zero()) freshness.default_ttl = policy.negative.default_ttl;
  verdict = cache::storability(order_.requester, response_, times_, policy.key, policy.storable, freshness, local_.chance());
  order_.requester.request = nullptr;
  auto const refuse = [&verdict](cache::NotStored reason) {
    verdict.store = verdict.share = verdict.fresh_on_arrival = false;
    verdict.reason = reason;
    verdict.response_caused = false;
  };
  if (verdict.store && memory_is_short(shared_)) refuse(cache::NotStored::memory);
  // Those who wait for it already get it all the same, each the variant that is theirs; nobody joins, nothing is kept.
  bool const invalidated = flight().overruled();
  if (verdict.store && (invalidated || mode() == cache::Mode::bypass)) {
    verdict.keep = verdict.fresh_on_arrival = false;
    if (invalidated) local_.metrics.not_stored[static_cast<std::size_t>(cache::NotStored::invalidated)].add();
  }
  if (verdict.store && cache::is_origin_error(response_.status) && stale_may_stand_in())
    refuse(cache::NotStored::status);  // STO-1: never over what stale-if-error may serve
  if (order_.policy->collapse == config::Collapse::strict && !verdict.fresh_on_arrival) verdict.share = false;  // COA-17
  if (!verdict.store && verdict.reason != cache::NotStored::method)
    local_.metrics.not_stored[static_cast<std::size_t>(verdict.reason)].add();
  return verdict;
}

// What a 304 has made one requester's own, and what came then is no other's either: gone everywhere, and before a marker
// tells of it (an invalidation takes markers).
asio::awaitable<void> Fetch::withdraw() {
  bool const error = order_.shared && cache::is_origin_error(response_.status);
  if (verdict_.store || !verdict_.response_caused || error) co_return;
  auto const number = shared_.purges.next();
  shared_.store.invalidate(order_.key, order_.hash, cache::Invalidation::hard, number, {}, times_.response);
  std::vector<std::string> keys(1, order_.key);
  co_await shared_.store.share_invalidation(std::move(keys), cache::Invalidation::hard, number, local_.worker);
}

void Fetch::publish() {
  storing_ = verdict_.store;
  tell_breaker_of_head();
  if (order_.shared && response_.status >= 502 && response_.status <= 504) remember_failure(response_.status);
  auto& store = shared_.store;
  auto const now = times_.response;
  bool const error = order_.shared && cache::is_origin_error(response_.status);
  if (!verdict_.store && verdict_.response_caused && !error) mark_hit_for_miss(now);
  if (error) lease_.end(store::LeaseOutcome::failed, response_.status);
  // COA-11: for what will not be in the store when its body ends, nobody waits elsewhere; whoever is next may fetch.
  if (!verdict_.store || !verdict_.keep) lease_.end(store::LeaseOutcome::released);

  auto head = std::make_unique<shield::FlightHead>();
  head->status = response_.status;
  head->no_body = response_.framing.kind == http::BodyKind::none;
  bool const of_head = head->no_body && order_.request.method_id == http::Method::head;
  bool const told_of_head = of_head && response_.fields.has(http::FieldId::content_length);
  if (response_.framing.kind == http::BodyKind::length || told_of_head)
    head->length = response_.framing.length;
  else if (head->no_body && !of_head)
    head->length = 0;
  head->facts = verdict_.facts;
  std::vector<std::string> without = verdict_.fields_not_stored;
  cache::HeadOptions const options{&without, verdict_.store, order_.policy->forward.expose_tags};
  head->head = cache::build_head(response_, options, now.wall, &head->facts);
  for (auto const& field : response_.fields) {
    if (field.id == http::FieldId::set_cookie && verdict_.strip_set_cookie) continue;
    for (auto const& name : without)
      if (http::equal_ignoring_case(field.name, name))
        head->leader_only.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  if (verdict_.store || verdict_.share)
    head->tags = cache::tags_of(response_.fields, order_.site, order_.request.scheme, order_.request.authority);
  head->stored = verdict_.store;
  head->kept = verdict_.keep;
  // COA-8: what was said to credentials reaches nobody else, an error page neither.
  bool const to_anyone = !order_.requester.has_authorization && !order_.requester.has_cookie_credential;
  head->shareable = order_.shared && (verdict_.share || (error && to_anyone && may_be_shown_to_all(response_.fields)));
  head->joinable = head->shareable && verdict_.store && verdict_.fresh_on_arrival;
  head->origin_error = error;
  if (verdict_.store || error) select_by_coding_if_others_are();
  if ((verdict_.store || error) && !verdict_.vary.names.empty()) {
    cache::SelectorBytes own;
    cache::append_selector(order_.request.fields.fields(), verdict_.vary.names, order_.policy->key, own);
    head->selector = cache::view(own);
  }
  if (verdict_.store && !verdict_.vary.names.empty()) {
    cache::SelectorBytes spec;
    store.announce_vary(order_.key, order_.hash, verdict_.vary.names, now.steady + vary_spec_life);
    cache::append_selector(order_.request.fields.fields(), store.vary_spec(order_.key, order_.hash), order_.policy->key,
                           spec);
    if (order_.shared && order_.selector != cache::view(spec)) order_.ticket.also_answers(cache::view(spec));
  }
  if (verdict_.store && head->length) {
    auto const size = static_cast<std::size_t>(head->no_body ? 0 : *head->length);
    place_ =
        cache::StoredResponse::make({order_.key, head->selector, head->head, head->facts, head->tags}, size, shared_.memory);
    held_ = size;
    shared_.flight_bytes.fetch_add(held_, std::memory_order_relaxed);
  }
  if (!verdict_.store) permit_.permit.move_to_stream();
  flight().set_head(std::move(head), place_, verdict_.store ? order_.policy->storable.max_object : stream_window,
                    base::Clock::now());
  if (verdict_.store && stale_may_stand_in())
    hold_back();
  else
    tell_head();
}

bool Fetch::stale_may_stand_in() const noexcept {
  auto const& entry = order_.basis ? order_.basis : stand_in_;
  return entry && cache::reuse(order_.asker, entry->facts(), basis_overrule_, times_.response, mode()).stale_if_error;
}

// COA-9: with something stale at hand nobody is told of a head until it is likely that the body will come too.
void Fetch::hold_back() {
  held_back_ = std::make_shared<HeldBack>(local_.io.get_executor(), this);
  held_back_->timer.expires_after(order_.policy->coalesce.hold_time);
  held_back_->timer.async_wait([held = held_back_](boost::system::error_code) {
    if (held->fetch != nullptr) held->fetch->tell_head();
  });
}

void Fetch::let_go_of_head() noexcept {
  if (!held_back_) return;
  held_back_->fetch = nullptr;
  held_back_->timer.cancel();
  held_back_.reset();
}

// KEY-5: among variants by coding an answer without one is a variant too, or it would stand in for them all.
void Fetch::select_by_coding_if_others_are() {
  static constexpr std::string_view coding = "accept-encoding";
  auto& names = verdict_.vary.names;
  auto const spec = shared_.store.vary_spec(order_.key, order_.hash);
  bool const is_one =
      std::ranges::binary_search(spec, coding) || (!verdict_.store && response_.fields.has(http::FieldId::content_encoding));
  if (!is_one || std::ranges::binary_search(names, coding)) return;
  names.emplace_back(coding);
  std::ranges::sort(names);
}

void Fetch::tell_head() noexcept {
  let_go_of_head();
  if (order_.shared) local_.metrics.coalesce_fanout.observe_number(shared_.flights.waiters_of(order_.key, order_.hash));
  order_.ticket.publish_head();
  if (abandoned_ || flight().interest() == 0) on_interest();
}

// The entry is visible to look-ups before the flight says that it is whole, and before it leaves the table.
// False: it is not.
bool Fetch::store_it() {
  if (mode() == cache::Mode::bypass) return false;
  auto const& facts = place_->facts();
  auto const fresh_for = std::max(base::Duration::zero(), facts.lifetime - facts.initial_age);
  keep_until_ = facts.response_time + fresh_for + std::max(facts.stale_while_revalidate, facts.stale_if_error) +
                (order_.body ? base::Duration::zero() : order_.policy->freshness.keep);
  // What was purged while it came is not stored; what was purged softly is, and is stale.
  auto const purged = cache::with_epochs({}, shared_.epochs, place(), *place_).mode < cache::Invalidation::soft;
  auto const put = purged ? store::Put::overruled
                          : shared_.store.put(place_, keep_until_, order_.policy->key.max_variants, base::read_clock());
  auto const count = [this](cache::NotStored reason) { local_.metrics.not_stored[static_cast<std::size_t>(reason)].add(); };
  if (put == store::Put::overruled)
    count(cache::NotStored::invalidated);
  else if (put == store::Put::no_room)
    count(cache::NotStored::memory);
  has_entry_ = put == store::Put::stored;
  return has_entry_;
}

// To the other nodes, if there are any; nobody waits for it.
asio::awaitable<void> Fetch::share_it() {
  co_await shared_.store.share(place_, keep_until_, order_.policy->key.max_variants, local_.worker);
}

asio::awaitable<void> Fetch::settle(bool whole) {
  bool const given_up = was_given_up();
  tell_breaker_of_body(whole);
  if (held_back_) tell_head();
  permit_.permit.release();
  bool stored = false;
  if (whole && storing_ && verdict_.keep && !flight().overruled()) {
    if (!place_) {
      auto const& head = *flight().head();
      place_ = cache::StoredResponse::make({order_.key, head.selector, head.head, head.facts, head.tags},
                                           static_cast<std::size_t>(flight().size()), shared_.memory);
      flight().copy_to(place_->body_area());
    }
    stored = store_it();
  }
  bool const upload_over = !order_.upload || order_.upload->sent_whole();
  bool const reusable = whole && response_.keep_alive && response_.framing.kind != http::BodyKind::until_close &&
                        inbox_->unread().empty() && upload_over;
  if (reusable)
    order_.pool->keep(std::move(connection_));
  else if (connection_)
    connection_->stream->close();
  flight().finish(whole);
  note(whole ? result_of(response_.status) : given_up ? FetchResult::abandoned : FetchResult::broken);
  if (shared_.store.holds_puts()) order_.ticket.leave();
  if (stored) co_await share_it();
  order_.ticket.leave();
  if (stored)
    lease_.end(store::LeaseOutcome::stored);
  else if (!whole && !given_up)
    lease_.end(store::LeaseOutcome::failed, 502);
}

void Fetch::fail(FailureKind kind) {
  // A request that broke off is its client's doing (REQ-3), whatever the origin made of it.
  if (order_.upload && order_.upload->client_fault() != BodyRead::end) kind = FailureKind::abandoned;
  if (is_origin_health_failure(kind)) lease_.end(store::LeaseOutcome::failed, shield::status_of(kind));
  tell_breaker_of_failure(kind);
  if (order_.shared && at_origin_ && !any_byte_ && is_origin_health_failure(kind)) remember_failure(shield::status_of(kind));
  permit_.permit.release();
  note(result_of(kind));
  auto const shed = [this](observe::ShedReason reason) { local_.metrics.shed[static_cast<std::size_t>(reason)].add(); };
  if (kind == FailureKind::queue_full) shed(observe::ShedReason::queue_full);
  if (kind == FailureKind::queue_timeout) shed(observe::ShedReason::queue_timeout);
  if (kind == FailureKind::breaker_open) shed(observe::ShedReason::breaker_open);
  if (connection_) connection_->stream->close();
  order_.ticket.publish_failure(shield::Failure{kind});
  order_.ticket.leave();
}

// Of what ended before it could be sent only what was shed is counted, beside the calls to the origin.
void Fetch::note(FetchResult result) {
  if (at_origin_ || result == FetchResult::shed) local_.metrics.fetch(order_.why, result);
  if (!at_origin_) return;
  local_.metrics.fetch_seconds[static_cast<std::size_t>(order_.why)].observe(base::Clock::now() - started_);
}

namespace {

// Not a part of the frame: an order would be moved three times more on its way there.
asio::awaitable<void> run_fetch(std::unique_ptr<Fetch> given) {
  auto const fetch = std::move(given);  // and so gone before the frame is
  co_await fetch->run();
}

}  // namespace

void start_fetch(Local& local, FetchOrder order) noexcept {
  try {
    asio::co_spawn(local.io, run_fetch(std::make_unique<Fetch>(local, std::move(order))), [](std::exception_ptr failure) {
      if (!failure) return;
      try {
        std::rethrow_exception(failure);
      } catch (std::exception const& error) {
        observe::log_error("fetch-failed", {{"what", std::string_view(error.what())}});
      }
    });
  } catch (std::exception const& error) {  // no memory for the coroutine: the order's ticket told those who wait
    observe::log_error("fetch-not-started", {{"what", std::string_view(error.what())}});
  }
}

}  // namespace weir::proxy
