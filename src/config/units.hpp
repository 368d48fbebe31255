// Durations, sizes, numbers and networks as text, strictly, and back. The parsers for other rooms are in load.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/config/load.hpp"

namespace weir::config {

// Digits without sign or leading zero.
std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;
// The largest unit without a remainder: "1500ms", "10s", "1h".
std::string format_duration(Duration duration);
std::string format_size(std::uint64_t bytes);
std::string format_network(Network const& network);

}  // namespace weir::config
