#include <algorithm>

#include "field_lines.hpp"
#include "weir/base/assert.hpp"
#include "weir/wire/head.hpp"

namespace weir::wire {

namespace {

constexpr std::string_view protocol = "HTTP/1.";

ResponseHead faulty(ResponseFault fault, std::size_t& scanned) {
  scanned = 0;
  ResponseHead head;
  head.step = HeadStep::refused;
  head.fault = fault;
  return head;
}

ResponseHead unfinished(std::string_view bytes, HeadLimits const& limits, std::size_t& scanned) {
  if (bytes.size() >= limits.head_bytes) return faulty(ResponseFault::too_large, scanned);
  return {};
}

// RFC 9112 4, and the usual leniency: the space before an absent reason may be missing. `line` goes up to the line feed.
bool read_status_line(std::string_view line, http::Response& response) noexcept {
  if (line.empty() || line.find('\r') != line.size() - 1) return false;
  line.remove_suffix(1);
  if (line.size() < 12 || !line.starts_with(protocol) || (line[7] != '0' && line[7] != '1') || line[8] != ' ') return false;
  response.version = line[7] == '1' ? 11 : 10;
  response.status = 0;
  for (char const c : line.substr(9, 3)) {
    if (c < '0' || c > '9') return false;
    response.status = response.status * 10 + (c - '0');
  }
  if (response.status < 100) return false;
  if (line.size() > 12 && line[12] != ' ') return false;
  response.reason = line.substr(std::min<std::size_t>(line.size(), 13));
  return response.reason.empty() || http::is_field_value(response.reason);
}

ResponseFault fault_of(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return ResponseFault::none;
    case Refusal::too_many_fields:
      return ResponseFault::too_large;
    case Refusal::content_length:
    case Refusal::content_length_repeated:
    case Refusal::length_and_coding:
    case Refusal::transfer_coding:
    case Refusal::transfer_encoding:
    case Refusal::chunked_in_1_0:
      return ResponseFault::framing;
    default:
      return ResponseFault::malformed;
  }
}

// RFC 9112 6.3. Framing fields are judged even where the answer has no body: two readers of one connection must agree.
ResponseFault apply_fields(http::Method method, http::Response& response) noexcept {
  auto& framing = response.framing;
  framing.kind = http::BodyKind::until_close;
  if (auto const refusal = read_framing(response.fields, response.version, framing); refusal != Refusal::none) {
    return fault_of(refusal);
  }
  response.keep_alive = persists(response.fields, response.version) && response.status != 101;
  bool const bodiless_status = response.status < 200 || response.status == 204;
  if (bodiless_status || response.status == 304 || method == http::Method::head) {
    // A 1xx or 204 must not announce a body. Where it does, the body may follow, so the connection ends with it.
    bool const announced = framing.kind == http::BodyKind::chunked || framing.length > 0;
    if (bodiless_status && announced) response.keep_alive = false;
    framing.kind = http::BodyKind::none;
    if (method != http::Method::head) framing.length = 0;  // what a GET would have got is worth telling
  }
  if (framing.kind == http::BodyKind::until_close) response.keep_alive = false;
  return ResponseFault::none;
}

}  // namespace

ResponseHead read_response_head(std::string_view bytes, http::Method method, HeadLimits const& limits, HeadRoom& room,
                                std::size_t& scanned) {
  auto const window = bytes.substr(0, limits.head_bytes);
  std::size_t const line_feed = window.find('\n');
  auto const line = window.substr(0, line_feed);
  bool const first_look = scanned == 0;

  ResponseHead head;
  auto const room_for_fields = std::span(room.fields).first(std::min(limits.field_count, max_field_count));
  std::size_t plain = 0;
  if (first_look) {
    if (!protocol.starts_with(line.substr(0, protocol.size()))) return faulty(ResponseFault::malformed, scanned);
    if (line_feed == std::string_view::npos) return unfinished(bytes, limits, scanned);
    if (!read_status_line(line, head.response)) return faulty(ResponseFault::malformed, scanned);
    scanned = line_feed;
    std::size_t count = 0;
    plain = read_plain_fields(window.substr(line_feed + 1), room_for_fields, count);
    head.response.fields = http::Fields(room_for_fields.first(count));
    head.size = line_feed + 1 + plain;
  }
  auto fault = ResponseFault::none;
  if (plain == 0) {
    switch (find_head_end(window, scanned)) {
      case HeadEnd::need_more:
        return unfinished(bytes, limits, scanned);
      case HeadEnd::bare_cr_lf:
      case HeadEnd::obs_fold:
        return faulty(ResponseFault::malformed, scanned);
      case HeadEnd::found:
        break;
    }
    // A head that came in pieces had its first line judged when that was complete; the views are made now.
    if (!first_look) WEIR_ASSERT(read_status_line(line, head.response));
    head.size = scanned;
    FieldLines lines(room_for_fields);
    fault = fault_of(lines.read(window.substr(line_feed + 1, head.size - line_feed - 1)));
    head.response.fields = lines.fields();
  }
  if (fault == ResponseFault::none) fault = apply_fields(method, head.response);
  if (fault != ResponseFault::none) return faulty(fault, scanned);
  scanned = 0;
  head.step = HeadStep::ready;
  return head;
}

}  // namespace weir::wire
