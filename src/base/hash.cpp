#include "weir/base/hash.hpp"

#include <random>

#include <openssl/sha.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir::base {
namespace {

std::uint64_t const seed = [] {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}();

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) noexcept { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }

std::uint64_t checksum(std::string_view first, std::string_view second) noexcept {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}

std::array<unsigned char, 32> sha256(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  SHA256(reinterpret_cast<unsigned char const*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out(bytes.size() * 2, '0');
  auto at = out.begin();
  for (unsigned char const c : bytes) {
    *at++ = digits[c >> 4];
    *at++ = digits[c & 15];
  }
  return out;
}

}  // namespace weir::base
