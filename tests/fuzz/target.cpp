// links: weir_http
// The parts of a target make up the target, and none holds what another part begins with. REQ-1, KEY-2.
#include "weir/http/target.hpp"

#include <algorithm>
#include <cstdint>

#include "weir/base/assert.hpp"
#include "weir/http/field.hpp"

using namespace weir::http;

namespace {

std::string joined(Target const& target, std::string_view whole) {
  std::string out;
  if (target.form == TargetForm::absolute) out.append(target.scheme).append("://");
  out.append(target.authority);
  // An absolute form without a path got a "/" that was not there.
  bool const added_path = target.form == TargetForm::absolute && !whole.substr(out.size()).starts_with('/');
  if (!added_path) out.append(target.path);
  if (target.has_query) out.append("?").append(target.query);
  return out;
}

void check_host(std::string_view host) {
  if (!is_host(host)) return;
  WEIR_ASSERT(std::all_of(host.begin(), host.end(), [](char c) { return c > 0x20 && c < 0x7F; }));
  WEIR_ASSERT(host.find_first_of("@/?#\\%,") == std::string_view::npos);
  for (std::string_view const scheme : {"http", "https"}) {
    std::string once, twice;
    append_normalized_host(host, scheme, once);
    append_normalized_host(once, scheme, twice);
    WEIR_ASSERT(is_host(once) && once == twice && once == lower(once));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  check_host(text);
  auto const target = parse_target(text);
  if (!target) return 0;
  WEIR_ASSERT(joined(*target, text) == text);
  WEIR_ASSERT(target->path.find_first_of("?#") == std::string_view::npos &&
              target->query.find('#') == std::string_view::npos);
  WEIR_ASSERT(target->has_query || target->query.empty());
  if (target->form == TargetForm::absolute || target->form == TargetForm::authority) WEIR_ASSERT(is_host(target->authority));
  if (target->form == TargetForm::origin || target->form == TargetForm::absolute) WEIR_ASSERT(target->path.starts_with('/'));
  return 0;
}
