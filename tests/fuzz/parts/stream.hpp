// Messages one behind the other on a connection, read as Weir reads them: in reads of any size, head, body, next head.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/wire/chunked.hpp"
#include "weir/wire/head.hpp"

namespace weir::fuzz {

struct Message {
  std::string first, second, third;  // method, target, version; or version, status, reason
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  std::size_t begin = 0, body_at = 0, end = 0;  // in the stream
  bool operator==(Message const&) const = default;
};

enum class Ended : std::uint8_t { refused, body_malformed, head_unfinished, body_unfinished };

struct Conversation {
  std::vector<Message> messages;  // whole ones
  Ended ended = Ended::head_unfinished;
  bool operator==(Conversation const&) const = default;
};

// What has come so far of a stream that is cut as `cuts` says, again and again from its first byte on.
class Arriving {
 public:
  Arriving(std::string_view stream, std::string_view cuts) : stream_(stream), cuts_(cuts) {}
  std::string_view from(std::size_t at) const { return stream_.substr(at, seen_ - at); }
  bool more() {
    if (seen_ == stream_.size()) return false;
    auto const cut =
        cuts_.empty() ? stream_.size() : std::size_t{1} + static_cast<unsigned char>(cuts_[next_++ % cuts_.size()]);
    seen_ = std::min(stream_.size(), seen_ + cut);
    return true;
  }

 private:
  std::string_view stream_, cuts_;
  std::size_t seen_ = 0, next_ = 0;
};

// False: `ended` says why there is no whole body.
inline bool read_body(Arriving& arriving, http::Framing const& framing, Message& message, Ended& ended) {
  ended = Ended::body_unfinished;
  if (framing.kind == http::BodyKind::chunked) {
    wire::ChunkedDecoder decoder;
    for (;;) {
      auto const result = decoder.decode(arriving.from(message.end));
      message.end += result.consumed;
      message.body += result.payload;
      if (result.step == wire::ChunkedDecoder::Step::done) return true;
      if (result.step == wire::ChunkedDecoder::Step::malformed) ended = Ended::body_malformed;
      if (result.step == wire::ChunkedDecoder::Step::malformed) return false;
      if (result.step == wire::ChunkedDecoder::Step::need_more && !arriving.more()) return false;
    }
  }
  if (framing.kind == http::BodyKind::none) return true;
  bool const until_close = framing.kind == http::BodyKind::until_close;
  auto const length = until_close ? std::numeric_limits<std::uint64_t>::max() : framing.length;
  while (arriving.from(message.end).size() < length)
    if (!arriving.more()) break;
  auto const there = arriving.from(message.end);
  if (!until_close && there.size() < length) return false;
  message.body = there.substr(0, length);
  message.end += message.body.size();
  return true;
}

inline void add_fields(http::Fields fields, Message& message) {
  for (auto const& field : fields) message.fields.emplace_back(field.name, field.value);
}

}  // namespace weir::fuzz
