// Which site and route a request belongs to (SPEC section 12). Exact hosts before wildcards, longer wildcards before
// shorter, a site without hosts last; of a site's routes the first that matches. Where anything of a site normalises paths
// its routes are matched by the normalised one, whatever the policy of the route that is found. Threads: pure.
#pragma once

#include <cstddef>

#include "weir/config/settings.hpp"
#include "weir/http/message.hpp"

namespace weir::proxy {

struct Routed {
  config::Site const* site = nullptr;  // null: no site serves this host
  std::size_t site_index = 0;          // of the metrics' label
  config::Policy const* policy = nullptr;
  config::Route const* route = nullptr;  // null: none matches, the policy is the site's
};

// Of a site that was chosen already; null: none matches.
config::Route const* route_in(config::Site const& site, http::Request const& request);

Routed route(config::Settings const& settings, http::Request const& request);

}  // namespace weir::proxy
