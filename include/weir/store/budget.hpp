// How much memory the cgroup or the machine allows this process. Read once at start-up. Threads: any.
#pragma once

#include <cstdint>
#include <filesystem>

namespace weir::store {

// The least of: cgroup v2 `memory.max` and v1 `memory.limit_in_bytes` of the process's group and all above it, and the
// machine's MemTotal, read below `root`. 0: none of them could be read.
std::uint64_t memory_limit(std::filesystem::path const& root);

// A quarter of it, at most 8 GiB, at least 16 MiB (MEM-1).
std::uint64_t budget_of(std::uint64_t memory_limit) noexcept;

}  // namespace weir::store
