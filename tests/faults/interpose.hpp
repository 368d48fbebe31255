// Faults inside the process under test. Allocations and calls on sockets fail on Weir's worker threads alone, calls on files
// on every thread; the test's own sockets and memory are safe. Replaces operator new, malloc and the system calls' wrappers
// of the programs that it is linked to. Threads: one arms and ends; the counts are of all.
#pragma once

#include <cstdint>
#include <limits>

#include "scenario/weir.hpp"

namespace weir::test {

// Its workers take part from now on.
void mark_workers(Weir& weir);

// Which of a row of events fail: those from the `first`-th on, `count` of them.
struct Which {
  std::uint64_t first = 1;
  std::uint64_t count = std::numeric_limits<std::uint64_t>::max();
};

namespace allocations {
void fail(Which which);
std::uint64_t end();     // no more; how many there were meanwhile
bool failed() noexcept;  // one did
}  // namespace allocations

// `open`: of a file to write. `write`, `sync`: of files. `watch`: telling epoll of a descriptor.
enum class Call : std::uint8_t { accept, socket, connect, receive, send, watch, open, write, sync, rename };
inline constexpr std::size_t call_count = 10;
char const* name_of(Call call) noexcept;

namespace calls {
void fail(Call call, int error, Which which = {});
void shrink_buffers(int bytes);          // of sockets that are made from now on; the kernel has a least
void fill_disk(std::size_t after);       // files take so many bytes more, and then none (ENOSPC)
void end();                              // no more of anything, and counts at zero
std::uint64_t made(Call call) noexcept;  // since something was armed
std::uint64_t failed() noexcept;
}  // namespace calls

bool is_worker() noexcept;  // for the wrappers

}  // namespace weir::test
