// Every key that exists, group by group. Threads: each group is built at its first use and constant from then on.
#pragma once

#include "group.hpp"
#include "weir/config/settings.hpp"

namespace weir::config {

// What may stand at the top level, in a site and in a route (the groups marked * in the pages).
Group<Policy> const& policy_group();
// `cache` and `collapse` of a route belong to its policy too, but inherit nothing.
Group<Policy> const& collapse_group();

Group<Origin> const& origin_group();
// Top-level `limiter`: members of an Origin beside each other.
Group<Origin> const& limiter_group();
Group<Breaker> const& breaker_group();
Group<Timeouts> const& timeouts_group();

Group<Route> const& route_group();
Group<Site> const& site_group();

// The whole file. Its `initial` has every default and no origin.
Group<Settings> const& settings_group();

}  // namespace weir::config
