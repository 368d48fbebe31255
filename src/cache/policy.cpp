#include "weir/cache/policy.hpp"

#include <algorithm>

namespace weir::cache {
namespace {

bool no_store_in_force(http::CacheControl const& directives, int status) noexcept {
  return directives.no_store && !(directives.must_understand && is_understood(status));
}

// Directives that lead to the same facts again. The lifetime, which was shortened once, is not shortened twice: whoever
// uses this passes no jitter.
http::CacheControl directives_of(Facts const& facts) noexcept {
  http::CacheControl cc;
  auto const seconds = [](base::Duration d) { return static_cast<http::DeltaSeconds>(base::whole_seconds(d)); };
  cc.present = true;
  cc.max_age = seconds(facts.lifetime);
  cc.stale_while_revalidate = seconds(facts.stale_while_revalidate);
  cc.stale_if_error = seconds(facts.stale_if_error);
  cc.no_cache = facts.no_cache;
  cc.public_ = facts.shared_explicitly;
  cc.immutable = facts.immutable;
  if (facts.must_revalidate) {
    if (!facts.forbids_incident_stale)
      cc.s_maxage = cc.max_age;
    else if (facts.authorized)
      cc.must_revalidate = true;
    else
      cc.proxy_revalidate = true;
  }
  return cc;
}

}  // namespace

Policy policy_of(http::Fields fields, int status, StorableRules const& rules, Facts const* stored) {
  Policy policy;
  auto own = rules.ignore_cache_control ? http::CacheControl() : http::parse_cache_control(fields);
  for (auto const& name : rules.targeted) {
    auto directives = http::parse_targeted(fields, name);
    if (!directives) continue;
    policy.directives = std::move(*directives);
    policy.targeted = true;
    policy.not_in_head = http::field_id(name) == http::FieldId::weir_cache_control;
    break;
  }
  if (!policy.targeted && stored != nullptr && stored->policy_not_in_head) {
    policy.directives = directives_of(*stored);
    policy.targeted = policy.not_in_head = true;
  }
  if (!policy.targeted) policy.directives = std::move(own);

  auto& decides = policy.directives;
  policy.not_understood = decides.must_understand && !is_understood(status);
  decides.no_store = no_store_in_force(decides, status);
  if (policy.targeted && rules.targeted_strict) {
    decides.no_store = decides.no_store || no_store_in_force(own, status);
    decides.private_ = decides.private_ || own.private_;
    std::ranges::move(own.private_fields, std::back_inserter(decides.private_fields));
  }
  return policy;
}

bool is_understood(int status) noexcept {
  return (status >= 200 && status <= 206) || (status >= 300 && status <= 305) || status == 307 || status == 308 ||
         (status >= 400 && status <= 417) || status == 421 || status == 422 || status == 426 ||
         (status >= 500 && status <= 505);
}

bool is_heuristically_cacheable(int status) noexcept {
  switch (status) {
    case 200:
    case 203:
    case 204:
    case 300:
    case 301:
    case 308:
    case 404:
    case 405:
    case 410:
    case 414:
    case 501:
      return true;
    default:
      return false;  // 206 is never stored
  }
}

bool is_origin_error(int status) noexcept { return status == 500 || (status >= 502 && status <= 504); }

}  // namespace weir::cache
