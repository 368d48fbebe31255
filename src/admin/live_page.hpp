// The live page at `/` (OBS-3): page/page.html, a part of the program. It draws /v1/stats in the operator's browser and
// holds nothing itself, so it is given without a token. Threads: any.
#pragma once

#include "weir/admin/router.hpp"

namespace weir::admin {

// Its Content-Security-Policy names the page's one script and one style by their hashes: nothing else runs, nothing is
// loaded, and only this listener is asked.
Answer answer_page();

}  // namespace weir::admin
