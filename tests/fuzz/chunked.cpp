// The chunked coding: the payload and the verdict are the same however the bytes arrive, and every step either moves on or
// asks for more.
// links: weir_wire
// words: http
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/wire/chunked.hpp"

namespace {

using weir::wire::ChunkedDecoder;
using Step = ChunkedDecoder::Step;

struct Decoded {
  std::string payload;
  std::size_t consumed = 0;
  Step step = Step::need_more;
};

Decoded decode(std::string_view bytes, std::size_t piece) {
  ChunkedDecoder decoder;
  Decoded decoded;
  for (std::size_t end = std::min(piece, bytes.size());; end = std::min(end + piece, bytes.size())) {
    do {
      auto const in = bytes.substr(decoded.consumed, end - decoded.consumed);
      auto const result = decoder.decode(in);
      WEIR_ASSERT(result.consumed <= in.size());
      WEIR_ASSERT((result.step == Step::payload) == !result.payload.empty());
      decoded.payload += result.payload;
      decoded.consumed += result.consumed;
      decoded.step = result.step;
    } while (decoded.step == Step::payload);
    if (decoded.step != Step::need_more || end == bytes.size()) return decoded;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view const bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
  auto const whole = decode(bytes, bytes.size() + 1);
  auto const pieces = decode(bytes, data[0] % 8 + 1);
  WEIR_ASSERT(whole.step == pieces.step && whole.payload == pieces.payload);
  if (whole.step == Step::done) WEIR_ASSERT(whole.consumed == pieces.consumed);
  return 0;
}
