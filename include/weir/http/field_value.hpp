// The bytes of a field value (RFC 9110 5.5), many at a time: `is_field_value` and the reader of heads. Threads: pure.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "weir/http/field.hpp"

namespace weir::http {

// Behind the bytes of a field value: eight at a time while there are as many. Of those that are below a space or DEL the
// first is marked, whatever is marked behind it.
inline char const* skip_field_value(char const* at, char const* end) noexcept {
  constexpr std::uint64_t each = 0x0101010101010101U;
  static_assert(std::endian::native == std::endian::little);
  for (std::uint64_t bytes = 0; end - at >= 8;) {
    std::memcpy(&bytes, at, sizeof bytes);
    auto const deletes = bytes ^ (each * 0x7F);
    auto const below_space = (bytes - each * 0x20) & ~bytes;
    auto const is_delete = (deletes - each) & ~deletes;
    auto const marks = (below_space | is_delete) & (each * 0x80);
    if (marks == 0) {
      at += 8;
      continue;
    }
    at += std::countr_zero(marks) / 8;
    if (*at != '\t') return at;
    ++at;
  }
  while (at != end && is_field_value_char(*at)) ++at;
  return at;
}

}  // namespace weir::http
