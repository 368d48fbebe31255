// Sites and their routes.
#include <algorithm>

#include "description.hpp"

namespace weir::config {
namespace {

void check_route(Reader& reader, Item const& item, Route& route) {
  auto const names = [&](char const* method) {
    return std::find(route.methods.begin(), route.methods.end(), method) != route.methods.end();
  };
  if (names("HEAD") && !names("GET"))
    reader.mistake(item, "`methods` names HEAD alone; it has the routes of GET: name that");
  if (!route.policy.collapse_body.key_body) return;
  for (std::string const& method : route.methods)
    if (method == "PUT" || method == "DELETE" || method == "PATCH")
      return reader.mistake(item, ticked(method) + " is never collapsed; `key_body` is for reads");
}

Route make_route(Site const& site) {
  Route route;
  route.policy = site.policy;
  return route;
}

void check_site(Reader& reader, Item const& item, Site& site) {
  if (site.hosts.size() == 1 && site.hosts.front() == "*") site.hosts.clear();
  for (std::string const& host : site.hosts)
    if (host == "*") return reader.mistake(item, "`*` is every host and stands alone in `hosts`");
  site.name = site.hosts.empty() ? "default" : site.hosts.front();
}

}  // namespace

Group<Route> const& route_group() {
  static Group<Route> const group = [] {
    Group<Route> g("route", Route{"/account/*", {}, policy_group().initial()});
    auto const cache = [](auto& route) -> auto& { return route.policy.cache; };
    g.add("path", &Route::path, Text{.check = check_route_path, .takes = "path"},
          "exact, or a prefix with a trailing `*`; compared byte for byte, or decoded as `key.normalize_path` says")
        .required = true;
    g.add("methods", &Route::methods, ListOf<Text>{{.check = check_method}, "list of methods"},
          "empty: all; GET is HEAD too");
    g.add("cache", cache, Boolean{}, "`off`: nothing is served from the cache, stored or shared");
    g.add_group("collapse", &Route::policy, collapse_group(),
                "coalescing: on, off, strict, or a group for reads with a body");
    g.adopt(&Route::policy, policy_group());
    g.check(check_route);
    return g;
  }();
  return group;
}

Group<Site> const& site_group() {
  static Group<Site> const group = [] {
    Site example;
    example.origin = "app";
    example.policy = policy_group().initial();
    Group<Site> g("site", example);
    g.add("hosts", &Site::hosts, ListOf<Text>{{.check = check_site_host}, "list of hosts"},
          "exact or `*.suffix`; empty: every host that no other site has");
    g.add("origin", &Site::origin, Text{.check = check_origin_name, .takes = "name"},
          "whom it stands in front of; with one origin it need not be said");
    g.add("redirect", &Site::redirect, Choice<std::string>{{{"off", ""}, {"https", "https"}}},
          "sends who came without TLS to the same URL by https");
    g.add_groups("routes", &Site::routes, route_group(), make_route,
                 "parts of the site with settings of their own; the first match wins");
    g.adopt(&Site::policy, policy_group());
    g.check(check_site);
    return g;
  }();
  return group;
}

}  // namespace weir::config
