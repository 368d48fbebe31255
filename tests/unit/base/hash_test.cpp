// Hashes. KEY-1: SHA-256 names a key outside the process, the same on every node.
#include "weir/base/hash.hpp"

#include <set>

#include <gtest/gtest.h>

namespace weir::base {
namespace {

std::string hex_of(std::array<unsigned char, 32> const& digest) {
  return to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

TEST(Hash, Sha256OfKnownTexts) {  // FIPS 180-4's examples
  EXPECT_EQ(hex_of(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(sha256(std::string(1'000'000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, Hex) {
  EXPECT_EQ(to_hex(""), "");
  EXPECT_EQ(to_hex(std::string_view("\x00\x0F\x7F\x80\xFF", 5)), "000f7f80ff");
}

TEST(Hash, EqualBytesAloneAreEqual) {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 10'000; ++i) {
    auto const text = "key " + std::to_string(i);
    EXPECT_EQ(hash_bytes(text), hash_bytes(std::string(text)));
    EXPECT_TRUE(seen.insert(hash_bytes(text)).second);
  }
  EXPECT_NE(hash_bytes("a"), hash_bytes(std::string_view("a\0", 2)));
}

TEST(Hash, ShardsAreEvenlyFilled) {
  constexpr int shards = 64;
  constexpr int keys = 64'000;
  int filled[shards] = {};
  for (int i = 0; i < keys; ++i) ++filled[hash_bytes(std::to_string(i)) % shards];
  for (int const count : filled) {
    EXPECT_GT(count, keys / shards * 3 / 4);
    EXPECT_LT(count, keys / shards * 5 / 4);
  }
}

}  // namespace
}  // namespace weir::base
