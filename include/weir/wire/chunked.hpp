// The chunked coding (RFC 9112 7.1). Decoding with Beast, bounded: a chunk-size line with its extension, and the whole
// trailer section, must fit in `max_chunk_line`. Trailers are dropped. Threads: one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace weir::wire {

inline constexpr std::size_t max_chunk_line = std::size_t{8} * 1024;

class ChunkedDecoder {
 public:
  ChunkedDecoder();
  ~ChunkedDecoder();
  ChunkedDecoder(ChunkedDecoder&&) noexcept;
  ChunkedDecoder& operator=(ChunkedDecoder&&) noexcept;

  enum class Step : std::uint8_t { malformed, need_more, payload, done };
  struct Result {
    Step step = Step::malformed;
    std::size_t consumed = 0;  // bytes of `in` that are dealt with; give the rest again with more behind it
    std::string_view payload;  // for `payload`: view into `in`
  };
  // One step: skips lines up to the next payload, gives at most one piece of payload. `need_more` with everything kept from
  // `consumed` on. `malformed` also when more than max_chunk_line bytes bring no progress.
  Result decode(std::string_view in);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "1a2b\r\n" into `out` (at least 18 bytes); returns its size. The chunk ends with CRLF, the body with "0\r\n\r\n".
std::size_t write_chunk_size(std::size_t size, char* out) noexcept;

}  // namespace weir::wire
