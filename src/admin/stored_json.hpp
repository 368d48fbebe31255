// A stored response as JSON, for /v1/entries and /v1/explain. Threads: the admin thread.
#pragma once

#include <boost/json/object.hpp>

#include "weir/store/store.hpp"

namespace weir::admin {

double seconds(base::Duration duration) noexcept;
// Names and values in order: a field may be there twice. Nothing as a value is null.
boost::json::array pairs(std::vector<std::pair<std::string, std::optional<std::string>>> const& pairs);
// The arithmetic: lifetime and its source, the age's parts, what is left, the stale windows.
boost::json::object freshness_of(cache::Facts const& facts, cache::Overrule const& overrule, cache::Reuse const& reuse,
                                 base::Now now);
// `reuse`: what a request without credentials or conditions may make of it.
boost::json::object entry_of(store::Variant const& variant, cache::Reuse const& reuse, base::Now now);
// SHA-256, as the key is called outside the process (KEY-1).
std::string key_name(std::string_view key);

}  // namespace weir::admin
