// GET /v1/stats. Threads: the admin thread.
#pragma once

#include "weir/admin/sources.hpp"

namespace weir::admin {

Answer answer_stats(Stats const& stats);

}  // namespace weir::admin
