// links: weir_wire
// words: http
// Responses one behind the other, to GET and HEAD as the first byte's bits say, with interim ones between: however the bytes
// are cut on their way, they are the same, and what is accepted means the same to a second reader: status, reason, fields,
// body, and where the next one begins (RFC 9112 6.3).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "parts/input.hpp"
#include "parts/second_reader.hpp"
#include "parts/stream.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

constexpr std::size_t most_messages = 8;

wire::HeadLimits limits() {
  wire::HeadLimits limits;
  limits.head_bytes = 2048;
  limits.field_count = 32;
  return limits;
}

Message message_of(wire::ResponseHead const& head, std::size_t begin) {
  Message message;
  message.first = head.response.version == 11 ? "HTTP/1.1" : "HTTP/1.0";
  message.second = std::to_string(head.response.status);
  message.third = head.response.reason;
  add_fields(head.response.fields, message);
  message.begin = begin;
  message.body_at = message.end = begin + head.size;
  return message;
}

Conversation read(std::string_view stream, std::string_view cuts, std::uint8_t to_head) {
  static auto const room = std::make_unique<wire::HeadRoom>();
  Arriving arriving(stream, cuts);
  Conversation read;
  std::size_t at = 0, scanned = 0;
  while (read.messages.size() < most_messages) {
    auto const method = bit(to_head, static_cast<int>(read.messages.size())) ? http::Method::head : http::Method::get;
    auto const head = wire::read_response_head(arriving.from(at), method, limits(), *room, scanned);
    if (head.step == wire::HeadStep::refused) read.ended = Ended::refused;
    if (head.step == wire::HeadStep::refused) return read;
    if (head.step == wire::HeadStep::need_more) {
      read.ended = Ended::head_unfinished;
      if (!arriving.more()) return read;
      continue;
    }
    auto message = message_of(head, at);
    bool const last = !head.response.keep_alive && head.response.status >= 200;
    if (!read_body(arriving, head.response.framing, message, read.ended)) return read;
    at = message.end;
    read.messages.push_back(std::move(message));
    if (last) return read;
  }
  return read;
}

void expect_second_reader_agrees(Message const& message, bool to_head, std::string_view stream) {
  auto const again = read_response_again(stream.substr(message.begin), to_head);
  WEIR_ASSERT(again && again->rest.version == message.first && std::to_string(again->status) == message.second);
  WEIR_ASSERT(again->reason == message.third && again->rest.fields == message.fields);
  WEIR_ASSERT(message.begin + again->rest.size == message.body_at);
  auto const body = fuzz::read_body(again->rest.framing, stream.substr(message.body_at));
  WEIR_ASSERT(body && body->payload == message.body && message.body_at + body->size == message.end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const to_head = take_byte(text);
  auto const cuts = text.substr(0, std::min<std::size_t>(3, text.size()));
  text.remove_prefix(cuts.size());
  auto const whole = read(text, {}, to_head);
  WEIR_ASSERT(read(text, cuts, to_head) == whole);
  WEIR_ASSERT(read(text, std::string_view("\0", 1), to_head) == whole);
  for (std::size_t i = 0; i < whole.messages.size(); ++i)
    expect_second_reader_agrees(whole.messages[i], bit(to_head, static_cast<int>(i)), text);
  return 0;
}
