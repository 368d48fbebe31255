// The encoding behind keys and selectors: a tag byte, the length as four bytes (big-endian), the bytes. A sequence of parts
// decodes in one way only, which is what makes keys injective (KEY-1). Private to this room. Threads: pure.
#pragma once

#include <cstdint>
#include <cstring>
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

// Makes room for `size` more bytes, which are the caller's to write.
inline char* make_room(std::size_t size, Bytes& out) {
  auto const before = out.size();
  out.resize(before + size, boost::container::default_init);
  return out.data() + before;
}

inline char* write_part_header(char* at, char part_tag, std::uint32_t size) noexcept {
  *at++ = part_tag;
  for (int shift = 24; shift >= 0; shift -= 8) *at++ = static_cast<char>(size >> shift & 0xFFU);
  return at;
}

// Begins a part whose length is not known yet; returns what `end_part` wants.
inline std::size_t begin_part(char part_tag, Bytes& out) {
  write_part_header(make_room(part_header, out), part_tag, 0);
  return out.size();
}

inline void end_part(std::size_t begin, Bytes& out) noexcept {
  auto* const header = out.data() + begin - part_header;
  write_part_header(header, *header, static_cast<std::uint32_t>(out.size() - begin));
}

inline void append_part(char part_tag, std::string_view bytes, Bytes& out) {
  auto* const at =
      write_part_header(make_room(part_header + bytes.size(), out), part_tag, static_cast<std::uint32_t>(bytes.size()));
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
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
