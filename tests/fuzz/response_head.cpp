// Response heads: whole and cut in two the verdict is the same, and what is read is framed in one way only (RFC 9112 6.3).
// links: weir_wire
// words: http
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/wire/head.hpp"

namespace {

using namespace weir;

void expect_sound(wire::ResponseHead const& head, http::Method method, std::string_view bytes) {
  auto const& response = head.response;
  WEIR_ASSERT(bytes.substr(0, head.size).ends_with("\r\n\r\n"));
  WEIR_ASSERT(response.status >= 100 && response.status <= 999);
  WEIR_ASSERT(http::is_field_value(response.reason));
  for (auto const& field : response.fields) {
    WEIR_ASSERT(http::is_token(field.name) && http::is_field_value(field.value) && http::trim(field.value) == field.value);
  }
  auto const lengths = response.fields.count(http::FieldId::content_length);
  auto const codings = response.fields.count(http::FieldId::transfer_encoding);
  WEIR_ASSERT(lengths + codings <= 1);
  bool const bodiless =
      response.status < 200 || response.status == 204 || response.status == 304 || method == http::Method::head;
  WEIR_ASSERT((response.framing.kind == http::BodyKind::none) == bodiless);
  if (response.framing.kind == http::BodyKind::until_close) WEIR_ASSERT(!response.keep_alive && lengths + codings == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  static auto const room = std::make_unique<wire::HeadRoom>();
  std::string_view const bytes(reinterpret_cast<char const*>(data) + 1, size - 1);
  auto const method = data[0] % 2 == 0 ? http::Method::get : http::Method::head;
  wire::HeadLimits limits;
  limits.head_bytes = 1024;
  limits.field_count = 16;

  std::size_t scanned = 0;
  auto const whole = wire::read_response_head(bytes, method, limits, *room, scanned);
  if (whole.step == wire::HeadStep::ready) expect_sound(whole, method, bytes);
  scanned = 0;
  auto cut = wire::read_response_head(bytes.substr(0, data[0] % size), method, limits, *room, scanned);
  if (cut.step == wire::HeadStep::need_more) cut = wire::read_response_head(bytes, method, limits, *room, scanned);
  WEIR_ASSERT(cut.step == whole.step && cut.fault == whole.fault && cut.size == whole.size);
  WEIR_ASSERT(cut.response.status == whole.response.status && cut.response.framing.kind == whole.response.framing.kind);
  return 0;
}
