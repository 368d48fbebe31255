// links: weir_http
// A selected range lies within the body; a parsed Content-Range within its length; tags match themselves. SRV-1, SRV-3.
#include "weir/http/range.hpp"

#include <cstdint>
#include <string>

#include "weir/base/assert.hpp"
#include "weir/http/etag.hpp"
#include "weir/http/field.hpp"

using namespace weir::http;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::uint64_t const body_size = data[0] == 255 ? UINT64_MAX - 1 : data[0];
  std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);

  auto const result = select_range(text, body_size);
  if (result.verdict == RangeVerdict::satisfiable) {
    WEIR_ASSERT(result.range.first <= result.range.last && result.range.last < body_size);
  }
  if (auto const parsed = parse_content_range(text)) {
    WEIR_ASSERT(parsed->range.first <= parsed->range.last);
    WEIR_ASSERT(!parsed->complete_length || parsed->range.last < *parsed->complete_length);
  }

  std::string const tag(text);
  if (is_strong_etag(tag)) {
    WEIR_ASSERT(strong_match(tag, tag) && any_weak_match("\"x\", W/" + tag, tag));
    WEIR_ASSERT(any_weak_match(tag + " ,\"y\"", "W/" + tag));
  } else {
    WEIR_ASSERT(!strong_match(tag, tag));
  }
  any_weak_match(text, "\"tag\"");
  return 0;
}
