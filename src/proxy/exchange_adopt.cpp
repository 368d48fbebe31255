// What a request may take of what it waited for, or of what is stored when that came to nothing.
#include "weir/cache/policy.hpp"
#include "weir/cache/vary.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

using cache::Verdict;
using observe::Forwarded;
using observe::Outcome;
using shield::FailureKind;

// An entry that the flight found in the store, or freshened: by this request's own reuse rules (COA-1). What the origin has
// just confirmed may be given to those who asked before it did, fresh or not (COA-17).
bool Exchange::adopt_entry(shield::SlotWaiter& waiter) {
  auto const now = base::read_clock();
  // What was purged after this request came is still for it, once the origin has confirmed it.
  cache::Overrule said;
  if (!waiter.validated)
    said = cache::with_epochs({}, local_.shared.epochs, place(), *waiter.entry);
  else if (was_purged(waiter, waiter.entry->tags(), waiter.entry->facts().purge_number))
    return false;
  auto const reuse = cache::reuse(asker_, waiter.entry->facts(), said, now, mode(now));
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
    if (reuse.verdict == Verdict::stale_while_revalidate) {
      decision_.outcome = Outcome::stale;
      status.detail = observe::detail::stale_while_revalidate;
      refresh_in_background();
    }
  } else {
    status.forwarded_status = 304;
    if (!waiter.leader) status.collapsed = observe::Collapsed::yes;
    decision_.outcome = waiter.leader ? Outcome::revalidated : Outcome::collapsed;
  }
  status.ttl = reuse.ttl;
  return true;
}

void Exchange::adopt_hit(cache::Entry entry, cache::Reuse const& reuse) {
  decision_.what = What::hit;
  decision_.entry = std::move(entry);
  decision_.reuse = reuse;
  decision_.outcome = Outcome::hit;
  decision_.cache_status = {};
  decision_.cache_status.hit = true;
  decision_.cache_status.ttl = reuse.ttl;
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

// What is stored by now, if it may be given when there is nothing better; what was said of it meanwhile counts.
std::optional<Exchange::StandIn> Exchange::stand_in() {
  bool const may_be_stored = decision_.what == What::join && !digest_;  // by the flight's own look-up
  if (!decision_.entry && !may_be_stored) return std::nullopt;
  auto const now = base::read_clock();
  auto found = look_up(now);
  if (!found.entry) return std::nullopt;
  auto const reuse = cache::reuse(asker_, found.entry->facts(), found.overrule, now, mode(now));
  bool const good = reuse.verdict == Verdict::fresh && !found.unchecked;
  if (good && !cache::is_origin_error(found.entry->facts().status))  // another fetch has stored it meanwhile
    return StandIn{std::move(found.entry), reuse, true};
  if (reuse.verdict == Verdict::unusable || !reuse.stale_if_error) return std::nullopt;
  return StandIn{std::move(found.entry), reuse, false};
}

// STL-2. Without an attempt at the origin it is a hit that is stale; after one, a stale answer that went forward.
bool Exchange::adopt_stale(observe::StaleReason reason, std::string_view detail, int received_status) {
  auto found = stand_in();
  if (!found) return false;
  auto const& reuse = found->reuse;
  if (found->fresh) {
    adopt_hit(std::move(found->entry), reuse);
    return true;
  }
  decision_.entry = std::move(found->entry);
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
  auto const counted_as = reuse.stale_in_incident ? observe::StaleReason::incident : reason;
  local_.metrics.stale_served[static_cast<std::size_t>(counted_as)].add();
  if (reason == observe::StaleReason::coalesce_timeout)
    local_.metrics.coalesce_timeouts[static_cast<std::size_t>(observe::CoalesceFallback::stale)].add();
  return true;
}

// COA-14: a purge that only the answer tells of (its tags) came after the fetch began, and before this request. Those who
// find it so go on together: by the number that they have to see they share another fetch.
bool Exchange::was_purged(shield::SlotWaiter const& waiter, std::span<cache::Tag const> tags, std::uint64_t began) {
  if (!local_.shared.epochs.between(tags, began, waiter.waits_since_number)) return false;
  must_see_ = waiter.waits_since_number;
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
