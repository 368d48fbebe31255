// Heads off the wire: Beast's parser under rules of our own that are stricter than it (REQ-1, PITFALLS.md), giving
// http::Request and http::Response as views into the caller's buffer. Pure over bytes: no socket, no clock. Beast's types do
// not leave src/wire. Threads: a reader belongs to one connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/http/message.hpp"

namespace weir::wire {

inline constexpr std::size_t max_field_count = 256;  // the room in a head; settings may lower it

struct HeadLimits {
  std::size_t head_bytes = std::size_t{16} * 1024;  // start line and fields
  std::size_t field_count = 100;       // at most max_field_count
  std::size_t target = std::size_t{8} * 1024;
  std::uint64_t body = 64ULL << 20;  // of a declared length
};

// Why a request is refused; also the label of weir_key_rejections_total (SPEC OBS-2).
enum class Refusal : std::uint8_t {
  malformed,  // anything Beast refuses that has no better word
  method,
  target,
  target_too_long,
  version,
  host_missing,
  host_repeated,
  host,
  field_name,
  field_value,
  fields_too_large,
  too_many_fields,
  obs_fold,
  bare_cr_lf,
  content_length,
  content_length_repeated,
  length_and_coding,
  transfer_coding,    // one that we do not know
  transfer_encoding,  // the field is malformed, or `chunked` is there twice or with parameters
  chunked_in_1_0,
  body_too_large,
  none,
};
inline constexpr std::size_t refusal_count = 21;
std::string_view label(Refusal refusal) noexcept;
int status_of(Refusal refusal) noexcept;  // 400, 413, 414, 431, 501, 505

enum class HeadStep : std::uint8_t { refused, need_more, ready };

// A head's room: lines as views. Big (max_field_count fields); lives with the read buffer, not in an idle connection.
struct HeadRoom {
  std::array<http::Field, max_field_count> fields;
};

struct RequestHead {
  HeadStep step = HeadStep::need_more;
  Refusal refusal = Refusal::none;  // for `refused`
  std::size_t size = 0;             // for `ready`: bytes of the head with its blank line
  http::Request request;            // for `ready`
};

// Looks for one complete request head at the start of `bytes`. Empty lines before it (at most one CRLF) are part of it.
// `scheme` is the listener's ("http" or "https"). `scanned` carries how far earlier calls looked for the end; 0 at first,
// and 0 again after `refused` and `ready`. Refuses before the head is complete when it is already too long or its first line
// is bad.
RequestHead read_request_head(std::string_view bytes, std::string_view scheme, HeadLimits const& limits, HeadRoom& room,
                              std::size_t& scanned);

enum class ResponseFault : std::uint8_t { malformed, framing, too_large, none };

struct ResponseHead {
  HeadStep step = HeadStep::need_more;
  ResponseFault fault = ResponseFault::none;
  std::size_t size = 0;
  http::Response response;  // for `ready`; status 100 to 199 are interim: read on behind them
};

// One response head from an origin to a request with `method`. RFC 9112 6.3 framing: HEAD, 1xx, 204 and 304 have none;
// both Content-Length and Transfer-Encoding, repeated or malformed lengths, and codings other than one chunked are faults.
// `limits.target` and `limits.body` are not used. `scanned` as above.
ResponseHead read_response_head(std::string_view bytes, http::Method method, HeadLimits const& limits, HeadRoom& room,
                                std::size_t& scanned);

}  // namespace weir::wire
