// A key record as it stands in the shared store (scripts.hpp says its shape), read. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/cache/reuse.hpp"

namespace weir::store {

struct KeyState {
  struct Variant {
    std::string name;                // of its record
    std::int64_t until = 0;          // ms of the server
    std::int64_t stored = 0;         // ms of the server
    std::vector<std::string> names;  // of its Vary, sorted
  };
  std::uint64_t number = 0;  // of what invalidated it; 0: nothing did
  cache::Invalidation mode = cache::Invalidation::none;
  std::int64_t marked_until = 0;  // ms of the server
  std::vector<Variant> variants;  // live or not

  // The vary spec: the names of variants live at `now` (ms of the server), sorted.
  std::vector<std::string> spec(std::int64_t now) const;
};

// Nothing for what no Weir has written.
std::optional<KeyState> read_key_state(std::string_view json);

}  // namespace weir::store
