// Range and Content-Range in bytes (RFC 9110 14). Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::http {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive
};

enum class RangeVerdict : std::uint8_t { ignore, satisfiable, unsatisfiable };  // ignore: answer with the whole

struct RangeResult {
  RangeVerdict verdict = RangeVerdict::ignore;
  ByteRange range;
};

// One range of a body of `size` bytes. Several ranges, other units and malformed values are `ignore` (SRV-3).
RangeResult select_range(std::string_view range_value, std::uint64_t size) noexcept;

struct ContentRange {
  ByteRange range;
  std::optional<std::uint64_t> complete_length;
};
std::optional<ContentRange> parse_content_range(std::string_view value) noexcept;

}  // namespace weir::http
