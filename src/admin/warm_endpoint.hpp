// GET and POST /v1/warm (WRM-1). Threads: the admin thread.
#pragma once

#include "weir/admin/sources.hpp"

namespace weir::admin {

Answer answer_warm(proxy::WarmProgress const& progress);
Answer begin_warm(Sources const& sources, Call const& call);

}  // namespace weir::admin
