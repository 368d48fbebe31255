// The sub-commands that talk to the admin listener of a running Weir (LCY-1): purge, stats, explain, mode, reload, drain.
// Threads: the process's own; no daemon is made.
#pragma once

#include <string_view>

namespace weir::daemon {

bool is_command(std::string_view word) noexcept;

// `argv[1]` is the command. Prints what came of it; returns the exit code: 0; 1: Weir was not reached, refused or failed;
// 2: the command line is wrong, or what was asked for is (a purge that names nothing, a reload of a bad configuration).
int run_command(int argc, char const* const* argv, char const* const* environment);

}  // namespace weir::daemon
