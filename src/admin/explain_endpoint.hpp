// GET /v1/explain and GET /v1/entries. Threads: the admin thread.
#pragma once

#include "weir/admin/sources.hpp"

namespace weir::admin {

Answer answer_explain(Sources const& sources, Call const& call);
Answer answer_entries(Sources const& sources, Call const& call);

}  // namespace weir::admin
