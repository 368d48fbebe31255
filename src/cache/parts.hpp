// The encoding behind keys and selectors: a tag byte, the length as four bytes (big-endian), the bytes. A sequence of parts
// decodes in one way only, which is what makes keys injective (KEY-1). Private to this room. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/cache/selecting_value.hpp"

namespace weir::cache {

namespace tag {
inline constexpr char get = 'G';     // the class of GET and HEAD; no bytes
inline constexpr char method = 'M';  // any other method's token
inline constexpr char scheme = 'S';
inline constexpr char host = 'H';
inline constexpr char path = 'P';
inline constexpr char query = 'Q';
inline constexpr char header = 'h';  // a keyed header's name; `value` behind it if the request has it
inline constexpr char cookie = 'c';  // a keyed cookie's name; a `value` behind it for each cookie of that name
inline constexpr char value = 'v';
inline constexpr char digest = 'D';  // COA-12, with the next two if the request has them
inline constexpr char content_type = 'T';
inline constexpr char content_encoding = 'E';
inline constexpr char selecting = 'n';  // a selecting field's name; `value` behind it if the request has it
}  // namespace tag

inline constexpr std::size_t part_header = 5;

// Begins a part whose length is not known yet; returns what `end_part` wants.
inline std::size_t begin_part(char part_tag, Bytes& out) {
  out.push_back(part_tag);
  out.insert(out.end(), 4, '\0');
  return out.size();
}

inline void end_part(std::size_t begin, Bytes& out) noexcept {
  auto const size = static_cast<std::uint32_t>(out.size() - begin);
  for (std::size_t i = 0; i < 4; ++i) out[begin - 4 + i] = static_cast<char>(size >> (24 - 8 * i) & 0xFFU);
}

inline void append_part(char part_tag, std::string_view bytes, Bytes& out) {
  auto const begin = begin_part(part_tag, out);
  out.insert(out.end(), bytes.begin(), bytes.end());
  end_part(begin, out);
}

struct Part {
  char tag = 0;
  std::string_view bytes;
};

// Takes the first part off `encoded`; nothing if it is empty or not an encoding.
inline std::optional<Part> take_part(std::string_view& encoded) noexcept {
  if (encoded.size() < part_header) return std::nullopt;
  std::uint32_t size = 0;
  for (std::size_t i = 1; i < part_header; ++i) size = size << 8U | static_cast<unsigned char>(encoded[i]);
  if (encoded.size() - part_header < size) return std::nullopt;
  Part const part{encoded[0], encoded.substr(part_header, size)};
  encoded.remove_prefix(part_header + size);
  return part;
}

}  // namespace weir::cache
