// What stands over the file: environment, then --set, then --origin and --listen, as Items in its tree. Later wins.
#pragma once

#include "item.hpp"

namespace weir::config {

void lay_over(Sources const& sources, Item& root, Mistakes& mistakes);

}  // namespace weir::config
