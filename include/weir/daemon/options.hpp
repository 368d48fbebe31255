// The command line (LCY-1). Threads: start-up.
#pragma once

#include <string>
#include <vector>

#include "weir/config/load.hpp"

namespace weir::daemon {

enum class Action : std::uint8_t { run, test, dump, exit };

struct Options {
  Action action = Action::exit;
  int exit_code = 2;        // for `exit`: 0 after --help and --version, 2 on misuse; already explained to the user
  config::Sources sources;  // file (read), environment, --set, --origin, --listen
  std::string log_level, log_format;
};

// Reads the file that -c names; a file that cannot be read is explained on standard error, exit code 2.
Options parse_options(int argc, char const* const* argv, char const* const* environment);

// LCY-2: from the same sources, with the file as it is now. Any thread.
config::Loaded load_again(config::Sources sources);

}  // namespace weir::daemon
