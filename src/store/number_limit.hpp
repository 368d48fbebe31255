// What numbers of ours are below, for what comes from outside the process: servers and files may say anything.
#pragma once

#include <cstdint>

namespace weir::store {

// More than any of our numbers and times, in µs too; a double still holds it, and a thousand times as much is still a
// number. The scripts know it as 9e15.
inline constexpr std::int64_t number_limit = 9'000'000'000'000'000;

}  // namespace weir::store
