#include "weir/wire/chunked.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace weir::wire {
namespace {

using namespace std::string_literals;
using Step = ChunkedDecoder::Step;

struct Decoded {
  std::string payload;
  Step step = Step::need_more;
  std::string rest;  // what was not consumed
  bool operator==(Decoded const&) const = default;
};

// A connection's buffer: what is consumed leaves it, the rest is given again with more behind it.
class Receiver {
 public:
  void receive(std::string_view bytes) {
    decoded_.rest += bytes;
    while (decoded_.step == Step::need_more || decoded_.step == Step::payload) {
      auto const result = decoder_.decode(decoded_.rest);
      decoded_.payload += result.payload;
      decoded_.step = result.step;
      decoded_.rest.erase(0, result.consumed);
      if (result.step == Step::need_more) break;
    }
  }
  Decoded const& decoded() const { return decoded_; }

 private:
  ChunkedDecoder decoder_;
  Decoded decoded_;
};

Decoded decode(std::string_view bytes) {
  Receiver receiver;
  receiver.receive(bytes);
  return receiver.decoded();
}

struct Row {
  std::string name;
  std::string bytes;
  Step step = Step::done;
  std::string payload = {};
  std::string rest = {};
};

std::string padded(std::string const& front, std::size_t size, std::string const& back) {
  return front + std::string(size - front.size() - back.size(), 'a') + back;
}

std::vector<Row> rows() {
  auto const malformed = Step::malformed;
  return {
      {"empty body", "0\r\n\r\n"},
      {"one chunk", "3\r\nabc\r\n0\r\n\r\n", Step::done, "abc"},
      {"next message behind", "3\r\nabc\r\n0\r\n\r\nGET /", Step::done, "abc", "GET /"},
      {"two chunks", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", Step::done, "abcde"},
      {"line breaks in the payload", "6\r\n\r\n0\r\n\r\r\n0\r\n\r\n", Step::done, "\r\n0\r\n\r"},
      {"hexadecimal sizes", "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", Step::done, "01234567890123456789"},
      {"leading zeros", "0003\r\nabc\r\n000\r\n\r\n", Step::done, "abc"},
      {"extensions", "3;a;b=c;d=\"e;\\\"f\"\r\nabc\r\n0;x\r\n\r\n", Step::done, "abc"},
      {"extension with text", "3;a=\"\tb \xc3\xa9\"\r\nabc\r\n0\r\n\r\n", Step::done, "abc"},
      {"extension behind white space", "3 ;a\r\nabc\r\n0\r\n\r\n", Step::done, "abc"},
      {"longest extension", padded("3;", max_chunk_line, "\r\n") + "abc\r\n0\r\n\r\n", Step::done, "abc"},
      {"trailers", "3\r\nabc\r\n0\r\nX: y\r\nZ:\r\n\r\nGET", Step::done, "abc", "GET"},
      {"trailer that looks like a length", "0\r\nContent-Length: 3\r\n\r\n", malformed, "",
       "0\r\nContent-Length: 3\r\n\r\n"},
      {"longest trailers", padded("0\r\nX: ", max_chunk_line, "\r\n\r\n")},
      {"cut in the size", "3", Step::need_more, "", "3"},
      {"cut in the payload", "3\r\nab", Step::need_more, "ab"},
      {"cut behind the payload", "3\r\nabc", Step::need_more, "abc"},
      {"cut before the blank line", "0\r\n", Step::need_more, "", "0\r\n"},
      {"cut in the trailers", "0\r\nX: y\r\n", Step::need_more, "", "0\r\nX: y\r\n"},
      {"chunk larger than any body limit of Beast's", "ffffffffffffffff\r\nabc", Step::need_more, "abc"},
      {"size over 64 bits", "10000000000000000\r\nabc", malformed, "", "10000000000000000\r\nabc"},
      {"size empty", "\r\nabc", malformed, "", "\r\nabc"},
      {"line feed alone", "\n", malformed, "", "\n"},
      {"size with a sign", "+3\r\nabc", malformed, "", "+3\r\nabc"},
      {"size with a minus", "-1\r\n", malformed, "", "-1\r\n"},
      {"size behind a space", " 3\r\nabc", malformed, "", " 3\r\nabc"},
      {"size before a space", "3 \r\nabc", malformed, "", "3 \r\nabc"},
      {"size with 0x", "0x3\r\nabc", malformed, "", "0x3\r\nabc"},
      {"size of letters", "xyz\r\n", malformed, "", "xyz\r\n"},
      {"size ends in a bare LF", "3\nabc\r\n0\r\n\r\n", malformed, "", "3\nabc\r\n0\r\n\r\n"},
      {"size ends in a bare CR", "3\rabc\r\n", malformed, "", "3\rabc\r\n"},
      {"two CR", "3\r\r\nabc", malformed, "", "3\r\r\nabc"},
      {"NUL in the size", "3\0\r\nabc"s, malformed, "", "3\0\r\nabc"s},
      {"extension without a name", "3;\r\nabc", malformed, "", "3;\r\nabc"},
      {"extension with an open quote", "3;a=\"b\r\nabc\r\n", malformed, "", "3;a=\"b\r\nabc\r\n"},
      {"extension with NUL", "5;a=\"b\0c\"\r\nhello"s, malformed, "", "5;a=\"b\0c\"\r\nhello"s},
      {"extension with a bare CR", "5;a=\"b\rc\"\r\nhello", malformed, "", "5;a=\"b\rc\"\r\nhello"},
      {"extension with controls", "5;a=\"\x01\x7f\"\r\nhello", malformed, "", "5;a=\"\x01\x7f\"\r\nhello"},
      {"last chunk's extension with NUL", "0;a=\"\0\"\r\n\r\n"s, malformed, "", "0;a=\"\0\"\r\n\r\n"s},
      {"last chunk's extension with CR", "0;a=\"\r\"\r\n\r\n", malformed, "", "0;a=\"\r\"\r\n\r\n"},
      {"extension hides a line", "3;a=\"\r\n\"\r\n", malformed, "", "3;a=\"\r\n\"\r\n"},
      {"last chunk's extension is no token", "0;@\r\n\r\n", malformed, "", "0;@\r\n\r\n"},
      {"extension one byte too long", padded("3;", max_chunk_line + 1, "\r\n"), malformed, "",
       padded("3;", max_chunk_line + 1, "\r\n")},
      {"endless extension", padded("3;", max_chunk_line, ""), malformed, "", padded("3;", max_chunk_line, "")},
      {"endless zeros", std::string(max_chunk_line, '0'), malformed, "", std::string(max_chunk_line, '0')},
      {"payload longer than its size", "3\r\nabcd\r\n", malformed, "abc", "d\r\n"},
      {"payload ends in a bare LF", "3\r\nabc\n0\r\n\r\n", malformed, "abc", "\n0\r\n\r\n"},
      {"payload ends in a bare CR", "3\r\nabc\r0\r\n", malformed, "abc", "\r0\r\n"},
      {"payload without its line break", "3\r\nabc0\r\n\r\n", malformed, "abc", "0\r\n\r\n"},
      {"size line is only a line feed", "3\r\nabc\r\n\n", malformed, "abc", "\r\n\n"},
      {"blank line between chunks", "3\r\nabc\r\n\r\n0\r\n\r\n", malformed, "abc", "\r\n\r\n0\r\n\r\n"},
      {"trailer with a bare LF", "0\r\nX: y\nZ: w\r\n\r\n", malformed, "", "0\r\nX: y\nZ: w\r\n\r\n"},
      {"trailer with a space before the colon", "0\r\nX : y\r\n\r\n", malformed, "", "0\r\nX : y\r\n\r\n"},
      {"folded trailer", "0\r\nX: y\r\n z\r\n\r\n", malformed, "", "0\r\nX: y\r\n z\r\n\r\n"},
      {"trailer folded at once", "0\r\n\tX: y\r\n\r\n", malformed, "", "0\r\n\tX: y\r\n\r\n"},
      {"trailer without a colon", "0\r\nGET / HTTP/1.1\r\n\r\n", malformed, "", "0\r\nGET / HTTP/1.1\r\n\r\n"},
      {"trailers one byte too long", padded("0\r\nX: ", max_chunk_line + 1, "\r\n\r\n"), malformed, "",
       padded("0\r\nX: ", max_chunk_line + 1, "\r\n\r\n")},
      {"endless trailers", padded("0\r\nX: ", max_chunk_line, ""), malformed, "", padded("0\r\nX: ", max_chunk_line, "")},
  };
}

// PITFALLS: extensions and trailers are bounded, trailers dropped
TEST(Chunked, DecodesEachRow) {
  for (auto const& row : rows()) {
    SCOPED_TRACE(row.name);
    auto const decoded = decode(row.bytes);
    EXPECT_EQ(static_cast<int>(decoded.step), static_cast<int>(row.step));
    EXPECT_EQ(decoded.payload, row.payload);
    EXPECT_EQ(decoded.rest, row.rest);
  }
}

// The verdict and the payload do not depend on how the bytes arrive.
TEST(Chunked, SaysTheSameForEveryCut) {
  for (auto const& row : rows()) {
    SCOPED_TRACE(row.name);
    auto const whole = decode(row.bytes);
    std::string_view const bytes = row.bytes;
    for (std::size_t cut = 0; cut <= bytes.size(); cut += (cut < 100 || bytes.size() - cut < 100) ? 1 : 37) {
      Receiver receiver;
      receiver.receive(bytes.substr(0, cut));
      receiver.receive(bytes.substr(cut));
      ASSERT_EQ(receiver.decoded().payload, whole.payload) << "cut at " << cut;
      ASSERT_EQ(static_cast<int>(receiver.decoded().step), static_cast<int>(whole.step)) << "cut at " << cut;
    }
    Receiver by_byte;
    for (char const c : row.bytes) by_byte.receive({&c, 1});
    ASSERT_EQ(by_byte.decoded().payload, whole.payload);
    ASSERT_EQ(static_cast<int>(by_byte.decoded().step), static_cast<int>(whole.step));
  }
}

// PITFALLS: Beast asserts when the blank line behind the last chunk comes in two pieces
TEST(Chunked, LastChunkMayArriveByteByByte) {
  Receiver receiver;
  for (std::string_view const piece : {"0", "\r", "\n", "\r"}) {
    receiver.receive(piece);
    EXPECT_EQ(receiver.decoded().step, Step::need_more);
  }
  receiver.receive("\n");
  EXPECT_EQ(receiver.decoded().step, Step::done);
}

TEST(Chunked, PayloadPointsIntoTheInput) {
  ChunkedDecoder decoder;
  std::string const bytes = "5\r\nabc";
  auto const result = decoder.decode(bytes);
  EXPECT_EQ(result.step, Step::payload);
  EXPECT_EQ(result.consumed, bytes.size());
  EXPECT_EQ(result.payload.data(), bytes.data() + 3);
  EXPECT_EQ(decoder.decode("").step, Step::need_more);
  EXPECT_EQ(decoder.decode("de\r\n0\r\n\r\n").payload, "de");
}

TEST(Chunked, SizeLineIsConsumedBeforeItsPayloadComes) {
  ChunkedDecoder decoder;
  auto const result = decoder.decode("5\r\n");
  EXPECT_EQ(result.step, Step::need_more);
  EXPECT_EQ(result.consumed, 3u);
}

TEST(Chunked, StaysDone) {
  ChunkedDecoder decoder;
  EXPECT_EQ(decoder.decode("0\r\n\r\nrest").step, Step::done);
  auto const again = decoder.decode("rest");
  EXPECT_EQ(again.step, Step::done);
  EXPECT_EQ(again.consumed, 0u);
}

TEST(Chunked, StaysMalformed) {
  ChunkedDecoder decoder;
  EXPECT_EQ(decoder.decode("x\r\n").step, Step::malformed);
  EXPECT_EQ(decoder.decode("0\r\n\r\n").step, Step::malformed);
}

TEST(Chunked, MovesWithItsState) {
  ChunkedDecoder first;
  EXPECT_EQ(first.decode("5\r\nabc").payload, "abc");
  ChunkedDecoder second = std::move(first);
  EXPECT_EQ(second.decode("de").payload, "de");
  first = std::move(second);
  EXPECT_EQ(first.decode("\r\n0\r\n\r\n").step, Step::done);
}

TEST(Chunked, WritesSizesThatItReads) {
  std::array<char, 18> out;
  auto const written = [&](std::size_t size) { return std::string(out.data(), write_chunk_size(size, out.data())); };
  EXPECT_EQ(written(1), "1\r\n");
  EXPECT_EQ(written(0x1a2b), "1a2b\r\n");
  EXPECT_EQ(written(~std::size_t{0}), "ffffffffffffffff\r\n");
  EXPECT_EQ(decode(written(3) + "abc\r\n0\r\n\r\n").payload, "abc");
}

}  // namespace
}  // namespace weir::wire
