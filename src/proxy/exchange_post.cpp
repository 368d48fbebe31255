// A POST whose answer may be stored for later GETs (SRV-6).
#include "weir/base/hash.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

using http::FieldId;
using http::Method;

// RFC 9110 9.3.3: the answer to a POST may stand for a GET of its target. Not in strict mode: a POST is forwarded whole, so
// what is not keyed may have shaped its answer (FWD-2).
bool Exchange::may_stand_for_get() const noexcept {
  return request_.method_id == Method::post && request_.path != "*" && routed_.policy->cache &&
         routed_.policy->forward.mode != config::ForwardMode::strict;
}

// What the answer would be stored under. Any cookie is a credential, as none was removed before the origin saw it.
void Exchange::key_as_get() {
  auto const& policy = *routed_.policy;
  auto get = request_;
  get.method = "GET";
  get.method_id = Method::get;
  forwarded_fields(request_, ForwardAs::whole, policy, {client_->address, client_->trusted}, local_.shared.cdn_loop_id,
                   forwarded_);
  get.fields = http::Fields(forwarded_);
  key_.clear();
  cache::append_primary_key(get, target_, policy.key, nullptr, key_);
  hash_ = base::hash_bytes(cache::view(key_));
  asker_ = cache::asker_of(request_, request_.fields.has(FieldId::cookie), policy.client);
}

}  // namespace weir::proxy
