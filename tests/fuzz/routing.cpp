// links: weir_proxy
// Sites and routes as patterns, then a host and a path: the best site and the first route, as a plain reader finds them, and
// the same ones for every spelling of the host (KEY-2, LCY-1).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/http/target.hpp"
#include "weir/proxy/routing.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

// A site a line: "host,host /path /prefix*".
config::Settings settings_of(std::string_view text) {
  config::Settings settings;
  while (!text.empty() && settings.sites.size() < 6) {
    auto line = take(text, '\n');
    config::Site site;
    for (auto hosts = take(line, ' '); !hosts.empty();)
      if (auto const host = take(hosts, ','); !host.empty()) site.hosts.push_back(http::lower(host));
    while (!line.empty()) {
      config::Route route;
      route.path = take(line, ' ');
      site.routes.push_back(route);
    }
    settings.sites.push_back(site);
  }
  return settings;
}

std::size_t rank(config::Site const& site, std::string const& host) {
  std::size_t best = site.hosts.empty() ? 1 : 0;
  for (auto const& pattern : site.hosts) {
    if (pattern == host) return 100'000;
    if (pattern.size() < 2 || pattern.compare(0, 2, "*.") != 0) continue;
    auto const suffix = pattern.substr(1);
    bool const below = host.size() > suffix.size() && host.compare(host.size() - suffix.size(), suffix.size(), suffix) == 0;
    if (below && pattern.size() > best) best = pattern.size();
  }
  return best;
}

void expect_as_read_plainly(config::Settings const& settings, http::Request const& request, std::string const& host) {
  auto const routed = proxy::route(settings, request);
  std::size_t best = 0;
  config::Site const* site = nullptr;
  for (auto const& one : settings.sites) {
    if (rank(one, host) <= best) continue;
    best = rank(one, host);
    site = &one;
  }
  WEIR_ASSERT(routed.site == site);
  if (site == nullptr) return;
  WEIR_ASSERT(&settings.sites[routed.site_index] == site);
  config::Route const* found = nullptr;
  for (auto const& route : site->routes) {
    std::string const path(request.path);
    bool const prefix = !route.path.empty() && route.path.back() == '*';
    bool const fits =
        prefix ? path.compare(0, route.path.size() - 1, route.path, 0, route.path.size() - 1) == 0 : path == route.path;
    if (fits && found == nullptr) found = &route;
  }
  WEIR_ASSERT(routed.route == found && routed.policy == (found != nullptr ? &found->policy : &site->policy));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const host = take(text, '\n');
  auto const target = http::parse_target(take(text, '\n'));
  auto const settings = settings_of(text);
  if (!http::is_host(host) || host.find_first_of(":[") != std::string_view::npos || !target || settings.sites.empty() ||
      target->form != http::TargetForm::origin)
    return 0;
  http::Request request;
  request.method = "GET";
  request.method_id = http::Method::get;
  request.scheme = "http";
  request.path = target->path;
  std::string plain = http::lower(host);
  if (plain.ends_with('.')) plain.pop_back();
  for (auto const& spelling : {std::string(host), plain, plain + ".", plain + ":80", plain + ":8080", plain + ":"}) {
    request.authority = spelling;
    if (http::is_host(spelling)) expect_as_read_plainly(settings, request, plain);
  }
  return 0;
}
