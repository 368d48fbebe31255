// What the peer of a socket has taken of what was written to it.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::wire {

// TCP: bytes that it has acknowledged since the connection began. Nothing: not a socket of TCP.
std::optional<std::uint64_t> bytes_acknowledged(int descriptor) noexcept;

}  // namespace weir::wire
