#include "weir/proxy/routing.hpp"

#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "weir/cache/key.hpp"
#include "weir/http/target.hpp"

namespace weir::proxy {
namespace {

// Higher is better; 0: no match. `host` is normalised and without its port.
std::size_t host_rank(config::Site const& site, std::string_view host) noexcept {
  if (site.hosts.empty()) return 1;
  std::size_t best = 0;
  for (std::string_view pattern : site.hosts) {
    if (pattern == host) return std::string_view::npos;
    if (pattern.starts_with("*.") && host.size() > pattern.size() - 1 && host.ends_with(pattern.substr(1)))
      best = std::max(best, pattern.size());
  }
  return best;
}

bool path_matches(std::string_view pattern, std::string_view path) noexcept {
  if (pattern.ends_with('*')) return path.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == path;
}

bool matches(config::Route const& route, http::Request const& request, std::string_view path) noexcept {
  if (!path_matches(route.path, path)) return false;
  if (route.methods.empty()) return true;
  // KEY-2: a HEAD leads and is answered from what a GET gets, so it goes by GET's route.
  std::string_view const method = request.method_id == http::Method::head ? "GET" : request.method;
  return std::find(route.methods.begin(), route.methods.end(), method) != route.methods.end();
}

}  // namespace

// KEY-2: what has one key has one route, so an escape leads nobody around a route to the entry behind it.
config::Route const* route_in(config::Site const& site, http::Request const& request) {
  std::string storage;
  auto const path = site.normalizes ? cache::normalized_path(request.path, storage) : request.path;
  for (auto const& candidate : site.routes)
    if (matches(candidate, request, path)) return &candidate;
  return nullptr;
}

Routed route(config::Settings const& settings, http::Request const& request) {
  Routed routed;
  if (settings.sites.size() == 1 && settings.sites.front().hosts.empty()) {
    routed.site = &settings.sites.front();
  } else {
    boost::container::small_vector<char, 256> bytes;
    http::append_normalized_host(request.authority, request.scheme, bytes);
    std::string_view host(bytes.data(), bytes.size());
    auto const colon = host.rfind(':');
    if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) host = host.substr(0, colon);
    std::size_t best = 0;
    for (std::size_t i = 0; i < settings.sites.size(); ++i) {
      auto const rank = host_rank(settings.sites[i], host);
      if (rank <= best) continue;
      best = rank;
      routed.site = &settings.sites[i];
      routed.site_index = i;
    }
  }
  if (routed.site == nullptr) return routed;
  routed.route = route_in(*routed.site, request);
  routed.policy = routed.route != nullptr ? &routed.route->policy : &routed.site->policy;
  return routed;
}

}  // namespace weir::proxy
