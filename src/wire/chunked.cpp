#include "weir/wire/chunked.hpp"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <charconv>

#include "weir/base/assert.hpp"
#include "weir/http/field.hpp"

namespace weir::wire {

namespace {

namespace beast_http = boost::beast::http;

// Beast's parser of the coding. It gets one whole size line, one piece of payload or one whole trailer section at a time: it
// never sees half a line (it asserts against some of those) and what it may search is bounded.
class ChunkParser final : public beast_http::basic_parser<true> {
 public:
  ChunkParser() {
    body_limit(boost::none);  // whoever receives the payload bounds it
    Error error;
    feed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", error);
    WEIR_ASSERT(!error && chunked());
  }

  using Error = boost::beast::error_code;
  using View = boost::beast::string_view;

  std::size_t feed(std::string_view bytes, Error& error) {
    return put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  }
  std::uint64_t left() const noexcept { return left_; }

 private:
  void on_request_impl(beast_http::verb, View, View, int, Error&) override {}
  void on_response_impl(int, View, int, Error&) override {}
  void on_field_impl(beast_http::field, View, View, Error&) override {}
  void on_header_impl(Error&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, Error&) override {}
  std::size_t on_body_impl(View body, Error&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t size, View, Error&) override { left_ = size; }
  std::size_t on_chunk_body_impl(std::uint64_t, View body, Error&) override {
    left_ -= body.size();
    return body.size();
  }
  void on_finish_impl(Error&) override {}

  std::uint64_t left_ = 0;  // payload bytes of the current chunk still to come
};

using Result = ChunkedDecoder::Result;
using Step = ChunkedDecoder::Step;

}  // namespace

struct ChunkedDecoder::Impl {
  ChunkParser parser;
  bool behind_payload = false;    // the next size line stands behind the CRLF that ends a chunk
  std::size_t last_line_end = 0;  // of the last chunk's line, which Beast takes once; 0 before

  Result decode(std::string_view in);
  Result payload(std::string_view in);
  Result size_line(std::string_view in);
  Result trailers(std::string_view in);
};

ChunkedDecoder::ChunkedDecoder() : impl_(std::make_unique<Impl>()) {}
ChunkedDecoder::~ChunkedDecoder() = default;
ChunkedDecoder::ChunkedDecoder(ChunkedDecoder&&) noexcept = default;
ChunkedDecoder& ChunkedDecoder::operator=(ChunkedDecoder&&) noexcept = default;

// Once malformed, always: there is no place to go on from.
Result ChunkedDecoder::decode(std::string_view in) {
  if (!impl_) return {};
  Result const result = impl_->decode(in);
  if (result.step == Step::malformed) impl_.reset();
  return result;
}

Result ChunkedDecoder::Impl::decode(std::string_view in) {
  if (parser.is_done()) return {Step::done, 0, {}};
  if (last_line_end > 0) return trailers(in);
  if (parser.left() > 0) return payload(in);
  Result const line = size_line(in);
  if (line.step != Step::payload) return line;
  Result result = payload(in.substr(line.consumed));
  result.consumed += line.consumed;
  return result;
}

Result ChunkedDecoder::Impl::payload(std::string_view in) {
  auto const piece = in.substr(0, std::min<std::uint64_t>(in.size(), parser.left()));
  if (piece.empty()) return {Step::need_more, 0, {}};
  ChunkParser::Error error;
  if (parser.feed(piece, error) != piece.size() || error) return {};
  behind_payload = true;
  return {Step::payload, piece.size(), piece};
}

// `payload` with the bytes of the line when a chunk begins behind it.
Result ChunkedDecoder::Impl::size_line(std::string_view in) {
  static constexpr std::string_view line_break = "\r\n";
  std::size_t const begin = behind_payload ? line_break.size() : 0;
  if (behind_payload && !line_break.starts_with(in.substr(0, begin))) return {};
  auto const window = in.substr(0, max_chunk_line);
  std::size_t const line_feed = window.find('\n', begin);
  if (line_feed == std::string_view::npos) {
    if (in.size() >= max_chunk_line) return {};
    return {Step::need_more, 0, {}};
  }
  if (line_feed == begin || window[line_feed - 1] != '\r') return {};
  // REQ-1: between an extension's quotes Beast takes any byte, NUL too.
  if (!http::is_field_value(window.substr(begin, line_feed - 1 - begin))) return {};
  ChunkParser::Error error;
  std::size_t const used = parser.feed(window.substr(0, line_feed + 1), error);
  if (error == beast_http::error::need_more) {
    // Rightly only for the last chunk: zeros, and behind them an extension or nothing.
    char const behind_zeros = window[window.find_first_not_of('0', begin)];
    if (std::string_view("; \t\r").find(behind_zeros) == std::string_view::npos) return {};
    last_line_end = line_feed + 1;
    return trailers(in);
  }
  if (error || used != line_feed + 1 || parser.left() == 0) return {};
  return {Step::payload, used, {}};
}

// The last chunk's line again, as Beast wants it, with the fields behind it up to the blank line.
Result ChunkedDecoder::Impl::trailers(std::string_view in) {
  auto const window = in.substr(0, max_chunk_line);
  std::size_t const end = window.find("\r\n\r\n", last_line_end - 2);
  if (end == std::string_view::npos) {
    if (in.size() >= max_chunk_line) return {};
    return {Step::need_more, 0, {}};
  }
  // Beast takes a folded line for one (RFC 9112 5.2).
  auto const fields = window.substr(last_line_end - 2, end + 2 - last_line_end);
  if (fields.find("\r\n ") != std::string_view::npos || fields.find("\r\n\t") != std::string_view::npos) return {};
  ChunkParser::Error error;
  std::size_t const used = parser.feed(window.substr(0, end + 4), error);
  if (error || used != end + 4 || !parser.is_done()) return {};
  return {Step::done, used, {}};
}

std::size_t write_chunk_size(std::size_t size, char* out) noexcept {
  auto const [end, error] = std::to_chars(out, out + 16, size, 16);
  WEIR_ASSERT(error == std::errc());
  end[0] = '\r';
  end[1] = '\n';
  return static_cast<std::size_t>(end - out) + 2;
}

}  // namespace weir::wire
