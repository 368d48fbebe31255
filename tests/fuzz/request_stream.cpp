// links: weir_wire
// words: http
// Requests one behind the other, with their bodies: however the bytes are cut on their way, they are the same requests, and
// what is accepted means the same to a second reader: method, target, version, fields, body, and where the next one begins.
// What is forwarded is built of such parts, and reads as them (REQ-1).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "parts/input.hpp"
#include "parts/second_reader.hpp"
#include "parts/stream.hpp"
#include "weir/wire/write.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

wire::HeadLimits limits() {
  wire::HeadLimits limits;
  limits.head_bytes = 2048;
  limits.target = 256;
  limits.field_count = 32;
  limits.body = 4096;
  return limits;
}

Message message_of(wire::RequestHead const& head, std::size_t begin) {
  Message message;
  message.first = head.request.method;
  message.second = head.request.target;
  message.third = head.request.version == 11 ? "HTTP/1.1" : "HTTP/1.0";
  add_fields(head.request.fields, message);
  message.begin = begin;
  message.body_at = message.end = begin + head.size;
  return message;
}

Conversation read(std::string_view stream, std::string_view cuts) {
  static auto const room = std::make_unique<wire::HeadRoom>();
  Arriving arriving(stream, cuts);
  Conversation read;
  std::size_t at = 0, scanned = 0;
  for (;;) {
    auto const head = wire::read_request_head(arriving.from(at), "http", limits(), *room, scanned);
    if (head.step == wire::HeadStep::refused) read.ended = Ended::refused;
    if (head.step == wire::HeadStep::refused) return read;
    if (head.step == wire::HeadStep::need_more) {
      read.ended = Ended::head_unfinished;
      if (!arriving.more()) return read;
      continue;
    }
    auto message = message_of(head, at);
    if (!read_body(arriving, head.request.framing, message, read.ended)) return read;
    at = message.end;
    read.messages.push_back(std::move(message));
  }
}

void expect_second_reader_agrees(Message const& message, std::string_view stream) {
  auto const again = wire::read_again(std::string(stream.substr(message.begin)));
  WEIR_ASSERT(again && again->method == message.first && again->target == message.second);
  WEIR_ASSERT(again->version == message.third && again->fields == message.fields);
  WEIR_ASSERT(message.begin + again->size == message.body_at);
  auto const body = fuzz::read_body(again->framing, stream.substr(message.body_at));
  WEIR_ASSERT(body && body->payload == message.body && message.body_at + body->size == message.end);
}

// Written anew, its body in one piece, and read again.
void expect_same_when_written(Message const& message) {
  std::string out = message.first + " " + message.second + " " + message.third + "\r\n";
  bool chunked = false;
  for (auto const& [name, value] : message.fields) {
    wire::append_field(out, name, value);
    chunked = chunked || http::field_id(name) == http::FieldId::transfer_encoding;
  }
  out += "\r\n";
  auto const head = out.size();
  char size[18];
  if (chunked && !message.body.empty())
    out.append(size, wire::write_chunk_size(message.body.size(), size)).append(message.body).append("\r\n");
  else if (!chunked)
    out += message.body;
  if (chunked) out += "0\r\n\r\n";
  auto const again = read(out, {});
  if (again.messages.empty() && head > message.body_at - message.begin) return;  // it grew by blanks, over the limit
  WEIR_ASSERT(again.messages.size() == 1 && again.ended == Ended::head_unfinished);
  auto expected = message;
  expected.begin = 0;
  expected.body_at = head;
  expected.end = out.size();
  WEIR_ASSERT(again.messages.front() == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const cuts = text.substr(0, std::min<std::size_t>(3, size));
  text.remove_prefix(cuts.size());
  auto const whole = read(text, {});
  WEIR_ASSERT(read(text, cuts) == whole);
  WEIR_ASSERT(read(text, std::string_view("\0", 1)) == whole);
  for (auto const& message : whole.messages) {
    expect_second_reader_agrees(message, text);
    expect_same_when_written(message);
  }
  return 0;
}
