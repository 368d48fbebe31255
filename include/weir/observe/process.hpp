// What the kernel says about this process, from /proc/self. Reads files: never on a worker. What cannot be read is 0.
#pragma once

#include <cstdint>

namespace weir::observe {

struct ProcessFacts {
  double cpu_seconds = 0;         // user and system
  double start_time_seconds = 0;  // since 1970
  std::uint64_t resident_bytes = 0, virtual_bytes = 0;
  std::uint64_t open_fds = 0, max_fds = 0;
  std::uint64_t threads = 0;
};
ProcessFacts read_process();

}  // namespace weir::observe
