// links: weir_cache
// A Vary value, then two requests' fields, as text with a NUL between: a request selects what it was stored for, another one
// exactly if its selector has the same bytes; and any bytes may be taken for a selector.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/cache/vary.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

std::string selector_of(std::vector<http::Field> const& fields, std::vector<std::string> const& names,
                        cache::KeyRules const& rules) {
  cache::SelectorBytes out;
  cache::append_selector(fields, names, rules, out);
  return std::string(cache::view(out));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  cache::selector_names(text);
  cache::selects({}, text, {});

  std::vector<http::Field> const response{{http::FieldId::vary, "Vary", take(text, '\0')}};
  auto const left = fields_of(take(text, '\0'));
  auto const right = fields_of(text);
  cache::KeyRules rules;
  rules.vary_allow = {"cookie"};
  if (size % 2 == 0) rules.languages = {"en", "de-at"};
  auto const vary = cache::vary_names(response, rules);
  WEIR_ASSERT(vary.verdict == cache::VaryVerdict::usable || vary.names.empty());
  WEIR_ASSERT(vary.names.size() <= rules.max_vary_headers);

  auto const of_left = selector_of(left, vary.names, rules);
  auto const of_right = selector_of(right, vary.names, rules);
  WEIR_ASSERT(cache::selector_names(of_left) == vary.names);
  WEIR_ASSERT(cache::selects(left, of_left, rules));
  WEIR_ASSERT(cache::selects(right, of_left, rules) == (of_left == of_right));
  return 0;
}
