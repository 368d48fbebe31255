// POST /v1/purge. Threads: the admin thread.
#pragma once

#include "weir/admin/sources.hpp"

namespace weir::admin {

Answer answer_purge(Sources const& sources, Call const& call);

}  // namespace weir::admin
