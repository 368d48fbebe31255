// Hashes. `hash_bytes` is seeded for each process (XXH3, 64 bit): good for shards and tables, never leaves the process.
// `sha256` names a key outside the process (KEY-1), `checksum` finds what was damaged there (VAL-1). Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::base {

std::uint64_t hash_bytes(std::string_view bytes) noexcept;
// XXH3, 64 bit, without a seed: of both parts as if they were one.
std::uint64_t checksum(std::string_view first, std::string_view second) noexcept;
std::array<unsigned char, 32> sha256(std::string_view bytes);
std::string to_hex(std::string_view bytes);

}  // namespace weir::base
