// Which room may see which: read from the `weir_room` lines of CMakeLists.txt, checked against the picture of the house
// and against the includes. Threads: any.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tidy/source.hpp"

namespace weir::tidy {

// A room and the rooms that it names, not those it sees through them.
using Arrows = std::map<std::string, std::set<std::string>>;

Arrows read_arrows(std::string_view cmake);
// Arrows that do not go down, and rooms that the picture does not have.
Findings arrows_that_do_not_go_down(Arrows const& arrows);
// The room of a file under include/weir or src; empty for others.
std::string room_of(SourceFile const& file);
// Includes of rooms that this file's room does not see, and of libraries that belong to other rooms.
Findings wrong_includes(SourceFile const& file, Arrows const& arrows);

}  // namespace weir::tidy
