// links: weir_http
// words: cache_control
// One line a text line: as Cache-Control of any number of lines, and as a targeted field. STO-1, STO-4, FRS-1.
#include "weir/http/cache_control.hpp"

#include <algorithm>
#include <cstdint>

#include "weir/base/assert.hpp"

using namespace weir::http;

namespace {

void check(CacheControl const& parsed) {
  for (auto const& delta : {parsed.max_age, parsed.s_maxage, parsed.max_stale, parsed.min_fresh,
                            parsed.stale_while_revalidate, parsed.stale_if_error}) {
    WEIR_ASSERT(!delta || *delta <= max_delta);
  }
  for (auto const& list : {parsed.no_cache_fields, parsed.private_fields}) {
    for (auto const& name : list) WEIR_ASSERT(is_token(name) && name == lower(name));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<char const*>(data), size);
  std::vector<Field> lines;
  std::vector<Field> targeted;
  while (!rest.empty()) {
    auto const value = trim(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.size(), rest.find('\n') == std::string_view::npos ? rest.size() : rest.find('\n') + 1));
    lines.push_back({FieldId::cache_control, "Cache-Control", value});
    targeted.push_back({FieldId::cdn_cache_control, "CDN-Cache-Control", value});
  }
  auto const parsed = parse_cache_control(lines);
  check(parsed);
  WEIR_ASSERT(parsed.present == !lines.empty());
  if (auto const member = parse_targeted(targeted, "cdn-cache-control")) check(*member);

  // One more line can only add: nothing that came before hides it.
  lines.push_back({FieldId::cache_control, "Cache-Control", "no-store"});
  WEIR_ASSERT(parse_cache_control(lines).no_store);
  return 0;
}
