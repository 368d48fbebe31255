// An explanation in a sentence. Threads: pure.
#pragma once

#include <string>

#include "weir/proxy/explanation.hpp"

namespace weir::admin {

std::string_view word(proxy::Explanation::Decision decision) noexcept;
// What a stored response may be used for, and why.
std::string_view sentence(cache::ReuseReason reason) noexcept;
// Why it is decided so. `shared_store`: other nodes' entries may be found yet.
std::string why(proxy::Explanation const& told, bool shared_store);

}  // namespace weir::admin
