// Makes entries for the tests of this folder.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/hash.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/store/store.hpp"

namespace weir::store {

inline base::SteadyTime at(base::Duration since_start) { return base::SteadyTime(std::chrono::hours(1) + since_start); }
inline base::Now moment(base::Duration since_start = {}) {
  return {base::WallTime(std::chrono::hours(1'000) + since_start), at(since_start)};
}
inline base::SteadyTime const far_away = at(std::chrono::hours(24));

// A response of `body_size` bytes, not filled: only its size matters.
inline cache::Entry make_entry(cache::MemoryAccount& account, std::string_view key, std::size_t body_size = 4,
                               std::uint64_t began = 1, std::uint64_t purge_number = 1,
                               std::string_view head = "HTTP/1.1 200 OK\r\n") {
  cache::StoredResponse::Parts parts{key, "", head, {}};
  parts.facts.response_time = at({});
  parts.facts.lifetime = std::chrono::hours(1);
  parts.facts.began = began;
  parts.facts.purge_number = purge_number;
  return cache::StoredResponse::make(parts, body_size, account);
}

inline Question question(std::string_view key) { return {key, base::hash_bytes(key), {}, nullptr}; }

}  // namespace weir::store
