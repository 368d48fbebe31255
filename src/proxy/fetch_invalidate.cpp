// What an unsafe request makes invalid (SRV-6).
#include <algorithm>

#include "fetch_impl.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/invalidation.hpp"
#include "weir/cache/key.hpp"
#include "weir/proxy/routing.hpp"

namespace weir::proxy {

// SRV-6, COA-14: before the first byte of this answer goes out, nothing older can be served or joined.
asio::awaitable<void> Fetch::invalidate() {
  if (!cache::invalidates(order_.request.method_id, response_.status)) co_return;
  auto const request = as_asked();
  auto const number = shared_.purges.next();
  times_.purge_number = number;  // of what this answer may store
  times_.began = order_.ticket.begins_again(number);
  shared_.metrics.purges_invalid.fetch_add(1, std::memory_order_relaxed);
  std::vector<std::string> keys;
  invalidate(request, number, keys);
  for (auto const& at : cache::invalidated_locations(request, response_)) {
    auto named = request;
    named.path = at.path;
    named.query = at.query;
    named.has_query = at.has_query;
    invalidate(named, number, keys);
  }
  auto const groups = cache::invalidated_groups(response_.fields, request.scheme, request.authority);
  if (!groups.empty()) {
    shared_.epochs.add(groups, cache::Invalidation::invalid, number, times_.response.steady);
    shared_.store.share_purge(groups, cache::Invalidation::invalid, number);
  }
  auto const everywhere =
      co_await shared_.store.share_invalidation(std::move(keys), cache::Invalidation::invalid, number, local_.worker);
  if (everywhere == number) co_return;
  times_.purge_number = everywhere;
  times_.began = order_.ticket.begins_again(everywhere);
}

// What was asked, as the origin saw its URL. Views into the order.
http::Request Fetch::as_asked() const noexcept {
  http::Request request;
  request.scheme = order_.request.scheme;
  request.authority = order_.request.authority;
  request.path = order_.request.path;
  request.query = order_.request.query;
  request.has_query = order_.request.has_query;
  return request;
}

// What a GET of the same URL is stored under: by the rules of its own route.
void Fetch::invalidate(http::Request request, std::uint64_t number, std::vector<std::string>& keys) {
  request.method = "GET";
  request.method_id = http::Method::get;
  auto const routed = route(*order_.settings, request);
  if (routed.site == nullptr) return;
  std::string rewritten;
  auto const target = cache::rewrite_target(request, routed.policy->key, rewritten);
  cache::KeyBytes key;
  cache::append_url_key(request.scheme, request.authority, target, key);
  if (cache::keys_more_than_url(routed.policy->key))
    shared_.invalidated_urls.invalidate(base::hash_bytes(cache::view(key)), number);
  else
    invalidate(cache::view(key), number);
  keys.emplace_back(cache::view(key));
}

void Fetch::invalidate(std::string_view key, std::uint64_t number) {
  auto const hash = base::hash_bytes(key);
  auto const under_way = shared_.flights.overrule(key, hash, number);
  auto const now = base::read_clock();
  auto const fetched_until = under_way > 0 ? now.steady + order_.origin->settings.timeouts.origin : base::SteadyTime{};
  auto const record_until = std::max(fetched_until, shared_.snapshot_until.load(std::memory_order_acquire));
  shared_.store.invalidate(key, hash, cache::Invalidation::invalid, number, record_until, now);
}

}  // namespace weir::proxy
