// Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "weir/config/settings.hpp"

namespace weir::daemon {

// The metrics' labels, by the site's index.
std::vector<std::string> site_names(config::Settings const& settings);

}  // namespace weir::daemon
