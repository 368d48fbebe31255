// What an answer says of a response that is stored already: a 304 to our validators (SRV-2), the answer to a HEAD (SRV-4).
#include <algorithm>

#include "fetch_impl.hpp"
#include "weir/proxy/overrule.hpp"

namespace weir::proxy {

using observe::FetchResult;

namespace {

// KEY-6: what the freshened response varies by must be among what the stored one was selected by.
bool is_selected_as_before(cache::StoredResponse const& stored, cache::VaryNames const& now, cache::KeyRules const& rules) {
  auto const fields = cache::parse_head_fields(stored.head());
  return std::ranges::includes(cache::vary_names(fields, rules).names, now.names);
}

}  // namespace

// SRV-2: a 304 to our validators. False: it is about something else, or not for everyone who waits: with a cookie, `private`
// or another Vary it tells one requester what a 304 cannot tell the others (COA-5).
asio::awaitable<bool> Fetch::freshen() {
  note(FetchResult::not_modified);
  if (!cache::not_modified_matches(order_.basis->etag(), order_.basis->last_modified(), response_)) co_return false;
  auto const entry = refreshed(order_.basis);
  withdrawn_ = !verdict_.store;
  if (withdrawn_ || !is_selected_as_before(*order_.basis, verdict_.vary, order_.policy->key)) co_return false;
  place_ = entry;
  bool const stored = store_it();
  tell_breaker(true);
  permit_.permit.release();
  if (response_.keep_alive && inbox_->unread().empty()) order_.pool->keep(std::move(connection_));
  local_.metrics.coalesce_fanout.observe_number(shared_.flights.waiters_of(order_.key, order_.hash));
  // COA-1: who comes after the flight finds what it brought, here or where it is kept.
  bool const waits = stored && !shared_.store.holds_puts();
  if (waits) co_await share_it();
  order_.ticket.publish_entry(entry, true);
  order_.ticket.leave();
  if (stored && !waits) co_await share_it();
  lease_.end(store::LeaseOutcome::stored);
  co_return true;
}

// `stored` with the fields of the response that has come, and `verdict_` about it.
base::Ref<cache::StoredResponse> Fetch::refreshed(cache::Entry const& stored) {
  auto const& policy = *order_.policy;
  order_.requester.fields = order_.request.fields.fields();
  verdict_ = cache::storability_freshened(order_.requester, stored->head(), stored->facts(), response_, times_, policy.key,
                                          policy.storable, policy.freshness, local_.chance());
  auto facts = verdict_.facts;
  cache::HeadOptions const options{&verdict_.fields_not_stored, true, policy.forward.expose_tags};
  auto const head = cache::freshen_head(stored->head(), response_, options, times_.response.wall, &facts);
  // What the 304 adds is added; what it leaves out stands, as tags need not be in a stored head.
  auto tags = cache::tags_of(response_.fields, order_.site, order_.request.scheme, order_.request.authority);
  tags.insert(tags.end(), stored->tags().begin(), stored->tags().end());
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return cache::StoredResponse::refreshed({order_.key, stored->selector(), head, facts, tags}, stored, shared_.memory);
}

// SRV-4, RFC 9111 4.3.5: what a HEAD says of the response that a GET of the same requester would have been given. What is
// stored by a fetch that began later stays as it is (STO-6).
void Fetch::update_stored() {
  if (response_.status != 200) return;
  store::Question const question{order_.key, order_.hash, order_.request.fields.fields(), &order_.policy->key};
  auto const now = times_.response;
  auto found = shared_.store.peek(question, now);
  if (!found.entry || order_.requester.identity_forbidden) return;
  overrule(shared_, place(), order_.policy->key, order_.key, found);
  // It would be as young as this answer, and so outlive what has been said about it or what other nodes know.
  if (found.unchecked || found.overrule.mode != cache::Invalidation::none) return;
  auto const& stored = *found.entry;
  if (cache::reuse(order_.asker, stored.facts(), found.overrule, now, mode()).verdict == cache::Verdict::unusable) return;
  if (stored.facts().status == 200 &&
      cache::head_is_about(stored.etag(), stored.last_modified(), stored.body().size(), response_)) {
    place_ = refreshed(found.entry);
    if (!verdict_.store || !is_selected_as_before(stored, verdict_.vary, order_.policy->key)) place_.reset();
  } else {
    auto facts = stored.facts();  // stale from now on, where it is not so already
    facts.lifetime = std::min(facts.lifetime, cache::current_age(facts, now.steady));
    facts.began = times_.began;
    place_ = cache::StoredResponse::refreshed({order_.key, stored.selector(), stored.head(), facts, stored.tags()},
                                              found.entry, shared_.memory);
  }
  if (place_) store_it();
  place_.reset();
}

}  // namespace weir::proxy
