// Request heads: whole and cut in two the verdict is the same, and what is accepted holds nothing that could split a head or
// be framed in two ways (REQ-1).
// links: weir_wire
// words: http
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/http/target.hpp"
#include "weir/wire/head.hpp"

namespace {

using namespace weir;

void expect_inside(std::string_view part, std::string_view bytes) {
  WEIR_ASSERT(part.empty() || (part.data() >= bytes.data() && part.data() + part.size() <= bytes.data() + bytes.size()));
}

void expect_sound(wire::RequestHead const& head, std::string_view bytes) {
  auto const& request = head.request;
  auto const head_bytes = bytes.substr(0, head.size);
  WEIR_ASSERT(head.size >= 4 && head_bytes.ends_with("\r\n\r\n"));
  WEIR_ASSERT(http::is_token(request.method));
  WEIR_ASSERT(http::parse_target(request.target).has_value());
  WEIR_ASSERT(request.version == 10 || request.version == 11);
  WEIR_ASSERT(request.path == "*" || request.path.starts_with('/'));
  WEIR_ASSERT(request.authority.empty() ? request.version == 10 : http::is_host(request.authority));
  expect_inside(request.method, head_bytes);
  expect_inside(request.target, head_bytes);
  for (auto const& field : request.fields) {
    expect_inside(field.name, head_bytes);
    expect_inside(field.value, head_bytes);
    WEIR_ASSERT(http::is_token(field.name) && http::is_field_value(field.value) && http::trim(field.value) == field.value);
    WEIR_ASSERT(field.id == http::field_id(field.name));
  }
  WEIR_ASSERT(request.fields.count(http::FieldId::host) <= 1);
  auto const lengths = request.fields.count(http::FieldId::content_length);
  auto const codings = request.fields.count(http::FieldId::transfer_encoding);
  WEIR_ASSERT(lengths + codings <= 1);
  WEIR_ASSERT((request.framing.kind == http::BodyKind::length) == (lengths == 1));
  WEIR_ASSERT((request.framing.kind == http::BodyKind::chunked) == (codings == 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  static auto const room = std::make_unique<wire::HeadRoom>();
  std::string_view const bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
  wire::HeadLimits limits;
  limits.head_bytes = 1024;
  limits.target = 128;
  limits.field_count = 16;

  std::size_t scanned = 0;
  auto const whole = wire::read_request_head(bytes, "http", limits, *room, scanned);
  if (whole.step == wire::HeadStep::ready) expect_sound(whole, bytes);
  // A head that came in one piece is read in one pass where nothing in it is special, one that was cut by Beast.
  std::vector<http::Field> const fields(whole.request.fields.begin(), whole.request.fields.end());
  scanned = 0;
  auto cut = wire::read_request_head(bytes.substr(0, data[0] % size), "http", limits, *room, scanned);
  if (cut.step == wire::HeadStep::need_more) cut = wire::read_request_head(bytes, "http", limits, *room, scanned);
  WEIR_ASSERT(cut.step == whole.step && cut.refusal == whole.refusal && cut.size == whole.size);
  WEIR_ASSERT(cut.request.target == whole.request.target && cut.request.framing.length == whole.request.framing.length);
  WEIR_ASSERT(cut.request.fields.size() == fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto const& again = cut.request.fields.begin()[static_cast<std::ptrdiff_t>(i)];
    WEIR_ASSERT(again.id == fields[i].id && again.name == fields[i].name && again.value == fields[i].value);
  }
  return 0;
}
