// What an exchange makes of its request before it decides: edits, the host and scheme that are keyed, the fields as the
// origin gets them.
#include <algorithm>

#include "weir/base/hash.hpp"
#include "weir/cache/cookies.hpp"
#include "weir/cache/vary.hpp"
#include "weir/http/target.hpp"
#include "weir/proxy/client_address.hpp"
#include "weir/proxy/edits.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

using http::FieldId;

void Exchange::hold_request() {
  settings_hold_ = local_.settings;
  own_ = std::make_unique<Own>();
  // Every view points into one head: the bytes from the method to the end of the last field.
  char const* const begin = request_.method.data();
  char const* end = request_.target.data() + request_.target.size();
  for (auto const& field : as_it_came_) end = std::max(end, field.value.data() + field.value.size());
  own_->bytes.assign(begin, end);
  auto const moved = [&](std::string_view view) {
    bool const inside = view.data() >= begin && view.data() + view.size() <= end;
    return inside ? std::string_view(own_->bytes.data() + (view.data() - begin), view.size()) : view;
  };
  own_->fields.reserve(as_it_came_.size());
  for (auto const& field : as_it_came_) own_->fields.push_back({field.id, moved(field.name), moved(field.value)});
  as_it_came_ = http::Fields(own_->fields);
  for (auto* const views : {&edited_, &forwarded_}) {
    for (auto& field : *views) field = {field.id, moved(field.name), moved(field.value)};
    views->shrink_to_fit();  // the room was for hits; thousands may wait (COA-16)
  }
  request_.fields = is_edited_ ? http::Fields(edited_) : as_it_came_;
  for (auto* const view :
       {&request_.method, &request_.target, &request_.scheme, &request_.authority, &request_.path, &request_.query})
    *view = moved(*view);
  target_.path = moved(target_.path);
  target_.query = moved(target_.query);
}

// A trusted proxy that ended TLS says what the client asked for. The origin's answer may depend on it (a redirect to https),
// so it is keyed.
void Exchange::believe_scheme() noexcept {
  auto const scheme = request_.fields.only(FieldId::x_forwarded_proto);
  if (!scheme) return;
  for (std::string_view const known : {"http", "https"})
    if (http::equal_ignoring_case(*scheme, known)) request_.scheme = known;
}

// HDR-1. What is set stays in the settings, which this request keeps.
void Exchange::edit_request() {
  auto const& edits = routed_.policy->headers.request;
  if (!has_edits(edits)) return;
  edit_fields(as_it_came_, edits, edited_);
  request_.fields = http::Fields(edited_);
  is_edited_ = true;
}

// FWD-3: for whoever wonders why his pages are not shared.
void Exchange::note_cookies() noexcept {
  auto const& policy = *routed_.policy;
  local_.metrics.with_credential_cookie.add();
  cache::for_each_cookie(request_.fields, [&](cache::Cookie const& cookie) {
    if (cache::use_of(cookie, policy.key, policy.cookies) == cache::CookieUse::credential)
      local_.shared.cookie_names.count(cookie.name);
    return true;
  });
}

// FWD-2: what strict mode takes off without anyone having asked for it by name.
void Exchange::note_stripped_cookies() noexcept {
  auto& stripped = local_.shared.stripped_cookies;
  if (!stripped.watching()) return;
  auto const& policy = *routed_.policy;
  cache::for_each_cookie(request_.fields, [&](cache::Cookie const& cookie) {
    bool const expected = std::any_of(policy.cookies.ignore.begin(), policy.cookies.ignore.end(),
                                      [&](cache::NamePattern const& pattern) { return pattern.matches(cookie.name); });
    if (!expected && cache::use_of(cookie, policy.key, policy.cookies) == cache::CookieUse::ignored)
      stripped.count(cookie.name);
    return true;
  });
}

// KEY-2: what is keyed is what is forwarded, in X-Forwarded-Host too.
void Exchange::normalise_host() {
  if (http::is_normalized_host(request_.authority)) return;
  cache::SelectorBytes host;
  http::append_normalized_host(request_.authority, request_.scheme, host);
  if (cache::view(host) == request_.authority) return;
  authority_ = cache::view(host);
  request_.authority = authority_;
}

// Once, and only where somebody wants to know.
void Exchange::see_as_forwarded() {
  if (!forwarded_.empty()) return;
  identity_forbidden_ = !forwarded_fields(request_, ForwardAs::canonical, *routed_.policy,
                                          {client_->address, client_->trusted}, local_.shared.cdn_loop_id, forwarded_);
}

// FWD-7: a refresh carries the selecting fields, those of where the request came from too if the entry was selected by them,
// or it would bring another variant.
bool Exchange::is_selected_for_nobody() const {
  if (!decision_.entry || decision_.entry->selector().empty()) return true;
  std::vector<http::Field> for_nobody;
  forwarded_fields(request_, ForwardAs::background, *routed_.policy, {client_->address, client_->trusted},
                   local_.shared.cdn_loop_id, for_nobody);
  return cache::selects(http::Fields(for_nobody), decision_.entry->selector(), routed_.policy->key);
}

Exchange::Decision Exchange::refuse(int status) const {
  Decision decision;
  decision.what = What::refuse;
  decision.status = status;
  decision.outcome = observe::Outcome::refused;
  return decision;
}

Exchange::Decision Exchange::bypass(observe::Forwarded why, bool upgrades) const {
  if (why == observe::Forwarded::bypass && !upgrades &&
      cache::asker_of(request_, false, routed_.policy->client).only_if_cached)
    return refuse(504);  // SRV-5
  Decision decision;
  decision.what = What::alone;
  decision.upgrades = upgrades;
  decision.cache_status.forwarded = why;
  decision.outcome = observe::Outcome::bypass;
  return decision;
}

// The selecting values of this request for the vary spec that is known now; empty: none is known.
std::string Exchange::selector() {
  see_as_forwarded();
  cache::SelectorBytes bytes;
  if (auto const spec = local_.shared.store.vary_spec(cache::view(key_), hash_); !spec.empty())
    cache::append_selector(http::Fields(forwarded_), spec, routed_.policy->key, bytes);
  return std::string(cache::view(bytes));
}

std::string_view Exchange::who(http::Fields fields) const {
  if (!client_->trusted) return client_->address;
  return client_address(fields, client_->address, settings().trusted_proxies);
}

// LIM-2: the unit of fairness.
std::uint64_t Exchange::partition() const {
  if (origin_->settings.partition == config::Partition::client) return base::hash_bytes(who(request_.fields));
  std::string place;
  place.reserve(request_.scheme.size() + 1 + request_.authority.size() + target_.path.size());
  place.append(request_.scheme).append(" ").append(request_.authority).append(target_.path);
  return base::hash_bytes(place);
}

}  // namespace weir::proxy
