// links: weir_store
// Any bytes may be taken for a snapshot, in portions of any size: no more is given out than is there. So that what stands
// inside of pieces is reached, the bytes are also taken for a list of pieces (kind, size in two bytes, bytes) and framed as
// a writer would: then each is found again, the damaged ones passed over, and what decodes can be stored.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/base/hash.hpp"
#include "weir/store/snapshot.hpp"

namespace {

using namespace weir;
using Kind = store::SnapshotReader::Piece::Kind;

constexpr std::size_t longest = std::size_t{1} << 20U;
constexpr std::string_view marker = "0123456789abcdef";

void put(std::string& out, std::uint64_t value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFFU);
}

std::string seal(std::string bytes) {
  put(bytes, base::checksum(bytes, {}));
  return bytes;
}

std::string head() {
  std::string out("WEIRSNAP\1\0\0\0\0\0\0\0", 16);
  out += marker;
  for (auto const number : std::initializer_list<std::uint64_t>{1'800'000'000'000'000, 1, 7, 9, 5, 1, 1}) put(out, number);
  return seal(out) + seal(out);
}

std::string frame(unsigned char kind, std::string_view bytes) {
  std::string out(marker);
  put(out, bytes.size() | std::uint64_t{kind} << 56U);
  return seal(out).append(bytes);
}

struct Read {
  std::size_t pieces = 0, bytes = 0;
  std::vector<std::string> all;
};

Read read(std::string_view rest, std::size_t portion) {
  auto const whole = rest.size();
  store::SnapshotReader reader(
      [&](std::span<char> into) {
        auto const size = std::min({rest.size(), into.size(), portion});
        rest.copy(into.data(), size);
        rest.remove_prefix(size);
        return size;
      },
      longest);
  auto const moment = store::moment_of_writing(reader.head().written, {1, 2, 3});
  cache::MemoryAccount account;
  Read read;
  for (auto piece = reader.next(); piece.kind != Kind::end; piece = reader.next()) {
    WEIR_ASSERT(reader.fault() == store::SnapshotFault::none);
    ++read.pieces;
    read.bytes += piece.bytes.size();
    read.all.emplace_back(piece.bytes);
    if (piece.kind == Kind::entry) {
      auto const decoded = store::decode(piece.bytes, store::key_in(piece.bytes), 0, moment, account);
      if (decoded) WEIR_ASSERT(decoded->entry->key() == store::key_in(piece.bytes));
    } else {
      static_cast<void>(store::read_epochs(piece.bytes, moment));
    }
  }
  WEIR_ASSERT(read.bytes <= whole);
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  std::size_t const portion = size == 0 ? 1 : 1U + data[size - 1];
  auto const raw = read(bytes, portion);
  WEIR_ASSERT(raw.all == read(bytes, longest).all);
  static_cast<void>(read(head().append(bytes), portion));

  auto file = head();
  std::vector<std::string> pieces;
  for (auto rest = bytes; rest.size() >= 3;) {
    auto const kind = static_cast<unsigned char>(rest[0]);
    std::size_t const wanted = static_cast<unsigned char>(rest[1]) + std::size_t{256} * static_cast<unsigned char>(rest[2]);
    auto const piece = rest.substr(3, wanted);
    rest.remove_prefix(3 + piece.size());
    bool const is_entry = kind % 2 == 0;
    auto const inside = is_entry ? std::string(piece) : seal(std::string(piece));
    if (inside.find(marker) != std::string::npos) return 0;
    pieces.push_back(inside);
    file += frame(is_entry ? 'e' : 'p', inside);
    if (kind % 8 == 7) file += "damaged";
  }
  WEIR_ASSERT(read(file, portion).all == pieces);
  return 0;
}
