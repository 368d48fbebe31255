// What other rooms want to know of the settings, in their words. Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "weir/config/settings.hpp"
#include "weir/observe/log.hpp"

namespace weir::daemon {

// The metrics' labels, by the site's index.
std::vector<std::string> site_names(config::Settings const& settings);
// How long the shared store is to remember an invalidation.
base::Duration remember_invalidations(config::Settings const& settings) noexcept;
observe::LogFormat observe_format(config::LogFormat format) noexcept;

}  // namespace weir::daemon
