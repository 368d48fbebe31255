// links: weir_http
// An item is a list of one and, behind "k=", a dictionary of one; sizes stay within bounds. STO-4.
#include "weir/http/structured.hpp"

#include <cstdint>

#include "weir/base/assert.hpp"

using namespace weir::http;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  auto const list = parse_sf_list(text);
  if (list) WEIR_ASSERT(list->size() <= 1024);
  auto const dictionary = parse_sf_dictionary(text);
  if (dictionary) WEIR_ASSERT(dictionary->size() <= 1024);
  auto const item = parse_sf_item(text);
  if (item) {
    WEIR_ASSERT(list && list->size() == 1 && !list->front().is_inner_list);
    WEIR_ASSERT(list->front().item.value.index() == item->value.index());
    auto const start = text.find_first_not_of(' ');
    auto const member = parse_sf_dictionary("k=" + std::string(text.substr(start)));
    WEIR_ASSERT(member && member->size() == 1 && member->front().second.item.value.index() == item->value.index());
  }
  return 0;
}
