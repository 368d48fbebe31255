// What both sides of a snapshot agree on. All numbers little endian.
//   head:   magic (8), version (1), zero (7), marker (16), wall, steady, boot, purge number, highest epoch, epochs, entries
//           (8 each), XXH3 of all this (8). It stands there twice.
//   piece:  marker (16), size in its low seven bytes with the kind in the highest (8), XXH3 of both (8), the bytes
//   epochs: rows of floor (8), tag, hard, invalid, soft, first soft, two times in µs (8 each); XXH3 of all (8)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::store::snapshot {

inline constexpr std::string_view magic = "WEIRSNAP";
inline constexpr std::uint8_t version = 1;
inline constexpr std::size_t marker_size = 16, version_at = 8, marker_at = 16, numbers_at = marker_at + marker_size;
inline constexpr std::size_t head_size = numbers_at + 8 * std::size_t{8};
inline constexpr std::size_t frame_size = marker_size + 16;
inline constexpr unsigned kind_shift = 56;
inline constexpr std::size_t row_size = 8 * std::size_t{8};
inline constexpr std::size_t rows_a_piece = 1024;
inline constexpr char epochs = 'p', entry = 'e';

}  // namespace weir::store::snapshot
