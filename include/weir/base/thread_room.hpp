// Strings that a worker's thread keeps for as long as it runs, so that the path of a hit allocates nothing once they have
// grown. Made at the thread's start: a thread's first use of such a thing needs memory, and without any the C library ends
// the process. Owner and threads: each thread its own.
#pragma once

#include <string>

namespace weir::base {

struct ThreadRoom {
  std::string languages, normalized_languages;  // cache: selecting values
  std::string dashed_name, combined_field;      // proxy: what is forwarded
};

inline ThreadRoom& thread_room() {
  thread_local ThreadRoom room;
  return room;
}

}  // namespace weir::base
