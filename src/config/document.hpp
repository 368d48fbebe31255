// YAML text to an Item, strictly: yaml-cpp's events are read, not its nodes, so that anchors, aliases, tags, repeated keys
// and the difference between `17` and `"17"` are seen. Bounds: 1 MiB of text, 32 levels, 100,000 values.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "item.hpp"

namespace weir::config {

inline constexpr std::size_t max_text = 1 << 20;
inline constexpr std::size_t max_depth = 32;
inline constexpr std::size_t max_values = 100'000;

// How places are named: lines and columns of `source`, or `source` alone (a flag's or a variable's value).
enum class Places : unsigned char { lines, source_only };

// Null for an empty document, and after a mistake that ends the reading. `path` stands before the paths of mistakes.
Item parse_document(std::string const& text, std::shared_ptr<std::string const> source, Places places,
                    std::string const& path, Mistakes& mistakes);

// Whether the text is UTF-8 without control characters but tab, CR and LF; else the mistake is added.
bool check_text(std::string_view text, std::shared_ptr<std::string const> source, Places places, std::string const& path,
                Mistakes& mistakes);

}  // namespace weir::config
