// Numbers as bytes, the lowest first, whatever the machine. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir::store {

template <class T>
void append_number(std::string& out, T value) {
  using Bits = std::make_unsigned_t<T>;
  auto bits = static_cast<Bits>(value);
  char bytes[sizeof(T)];
  for (char& byte : bytes) {
    byte = static_cast<char>(bits & 0xFFU);
    bits = static_cast<Bits>(static_cast<std::uint64_t>(bits) >> 8U);
  }
  out.append(bytes, sizeof bytes);
}

// The bytes are there: whoever reads has compared sizes.
template <class T>
T read_number(std::string_view bytes, std::size_t at) noexcept {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) bits |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8U * i);
  return static_cast<T>(bits);
}

}  // namespace weir::store
