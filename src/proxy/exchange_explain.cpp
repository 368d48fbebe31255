// What would become of a request (OBS-3), by the functions that would answer it: `decide`, the table's and the limiter's own
// rules without their effects, and `adopt_stale` for what is left when nothing else works.
#include "weir/base/hash.hpp"
#include "weir/proxy/exchange.hpp"
#include "weir/proxy/overrule.hpp"

namespace weir::proxy {

using shield::FailureKind;
using Foretold = Explanation::Decision;

Explanation Exchange::explain() {
  looks_only_ = true;
  decision_ = decide(came_);
  Explanation told;
  told.now = came_;
  told.method = request_.method;
  told.mode = mode(came_);
  if (routed_.site != nullptr) {
    told.site = routed_.site->name;
    told.origin = routed_.site->origin;
    if (routed_.route != nullptr) told.route = routed_.route->path;
    told.cached = routed_.policy->cache;
    told.collapse = routed_.policy->collapse;
    told.cluster = routed_.policy->coalesce.cluster;
    // What is redirected is not rewritten.
    bool const as_asked = decision_.what == What::redirect;
    told.url.append(request_.scheme).append("://").append(request_.authority);
    told.url.append(as_asked ? request_.path : target_.path);
    if (as_asked ? request_.has_query : target_.has_query)
      told.url.append("?").append(as_asked ? request_.query : target_.query);
  }
  auto const why = decision_.cache_status.forwarded;
  bool const looked_up = why != observe::Forwarded::method && why != observe::Forwarded::bypass;
  if (looked_up && !key_.empty()) explain_stored(told);
  foresee(told);
  told.cache_status = decision_.cache_status;
  return told;
}

void Exchange::explain_stored(Explanation& told) {
  told.key = cache::view(key_);
  told.selector = selector();
  for (auto const& field : forwarded_) told.forwarded.emplace_back(field.name, field.value);
  told.asker = asker_;
  told.refuses_codings = identity_forbidden_;
  told.stored = held(told.key);
  told.found = look_up(came_);
  if (told.found.entry)
    told.reuse = cache::reuse(asker_, told.found.entry->facts(), told.found.overrule, came_, mode(came_));
}

store::Variants Exchange::held(std::string_view key) {
  auto variants = local_.shared.store.variants(key, base::hash_bytes(key), came_);
  for (auto& variant : variants.entries) {
    store::Lookup one;
    one.entry = variant.entry;
    one.overrule = variant.overrule;
    overrule(local_.shared, place(), routed_.policy->key, key, one);
    variant.overrule = one.overrule;
  }
  return variants;
}

void Exchange::foresee(Explanation& told) {
  if (origin_ != nullptr && routed_.site != nullptr) {
    told.breaker = origin_->breaker.state();
    told.breaker_refuses = origin_->breaker.refuses(came_.steady, !request_.has_body());
    told.limiter = origin_->limiter.stats();
    told.limits = origin_->settings.limiter;
  }
  switch (decision_.what) {
    case What::refuse:
      told.decision = Foretold::refuse;
      told.status = decision_.status;
      return;
    case What::redirect:
      told.decision = Foretold::redirect;
      return;
    case What::purge:
      told.decision = Foretold::purge;
      return;
    case What::gather:
      told.decision = Foretold::gather;
      return;
    case What::hit:
      told.decision = decision_.outcome == observe::Outcome::hit ? Foretold::hit : Foretold::stale;
      if (is_credentialed()) return;
      if (decision_.reuse.verdict == cache::Verdict::stale_while_revalidate) told.refresh_chance = 1;
      if (told.decision == Foretold::hit && refreshes_early())
        told.refresh_chance = cache::early_refresh_chance(decision_.entry->facts(), came_.steady);
      return;
    case What::join:
    case What::alone:
      break;
  }
  foresee_fetch(told);
}

// Steps 6 and 7 of the story, up to the moment in which the origin would be asked.
void Exchange::foresee_fetch(Explanation& told) {
  if (decision_.what == What::join) {
    told.flight = local_.shared.flights.foresee(flight_key(), routed_.policy->coalesce.table, came_.steady);
    auto const joined = told.flight->joined;
    if (goes_alone_after(joined)) {
      go_alone();
    } else if (joined == shield::Joined::overflow) {
      if (adopt_stale(observe::StaleReason::shed, observe::detail::shed)) {
        told.decision = Foretold::stale;
        return;
      }
      told.status = status_for(FailureKind::queue_full);
      return;
    } else if (joined != shield::Joined::leading) {
      told.decision = Foretold::join;
      return;
    }
  }
  told.alone = decision_.what == What::alone;
  if (told.breaker_refuses) return foresee_failure(FailureKind::breaker_open, told);
  auto const permit_class = request_.has_body() && !digest_ ? shield::PermitClass::upload : shield::PermitClass::fetch;
  told.permit = origin_->limiter.foresee(permit_class, partition());
  if (told.permit == shield::Acquire::queue_full) return foresee_failure(FailureKind::queue_full, told);
  told.decision = Foretold::fetch;
}

void Exchange::foresee_failure(FailureKind failure, Explanation& told) {
  told.decision = adopt_stale_for(failure) ? Foretold::stale : Foretold::refuse;
  if (told.decision == Foretold::refuse) told.status = status_for(failure);
}

}  // namespace weir::proxy
