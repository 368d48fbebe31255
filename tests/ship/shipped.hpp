// The files under docker/ and config/, and what `run` beside this file hands over: in WEIR_METRICS_PAGE the metrics page of
// a running daemon, in WEIR_SHIP_OUT a folder for what other programs shall check.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ship/promql.hpp"

namespace weir::ship {

std::filesystem::path tree();
std::string content(std::filesystem::path const& file);  // throws when it cannot be read
MetricsPage daemon_page();
void hand_out(std::string_view name, std::string_view text);

}  // namespace weir::ship
