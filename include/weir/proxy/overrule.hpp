// What is said of entries outside the store: by purges (PRG-1), and by invalidations of URLs that are stored under more than
// the URL (SRV-6). Threads: any.
#pragma once

#include <string_view>

#include "weir/proxy/context.hpp"

namespace weir::proxy {

// Adds it to what was found under `key`, which is at `place`.
void overrule(Shared const& shared, cache::Place const& place, cache::KeyRules const& rules, std::string_view key,
              store::Lookup& found);
// COA-14: the number below which a fetch for `key` began too early for whoever comes now.
std::uint64_t must_see(Shared const& shared, cache::Place const& place, cache::KeyRules const& rules, std::string_view key);

}  // namespace weir::proxy
