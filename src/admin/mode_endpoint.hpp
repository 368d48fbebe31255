// GET and PUT /v1/mode (MODE-1). Threads: the admin thread.
#pragma once

#include "weir/admin/sources.hpp"

namespace weir::admin {

Answer answer_mode(ModeLine const& mode);
Answer change_mode(Sources const& sources, Call const& call);

}  // namespace weir::admin
