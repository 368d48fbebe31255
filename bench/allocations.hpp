// Counts every call of malloc, calloc, realloc, aligned_alloc, memalign and posix_memalign in the process, whoever makes it.
// Linked into a program, or loaded before one as a library (LD_PRELOAD=libweir-bench-allocations.so); then the file that
// WEIR_BENCH_ALLOCATIONS names begins with the count, in eight bytes of this machine's order. Threads: any.
#pragma once

#include <cstdint>

namespace weir::bench {

std::uint64_t allocations() noexcept;

}  // namespace weir::bench
