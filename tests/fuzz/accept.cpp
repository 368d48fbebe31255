// links: weir_http
// Choices are among what is offered; a normal form is its own normal form. KEY-5.
#include "weir/http/accept.hpp"

#include <algorithm>
#include <cstdint>

#include "weir/base/assert.hpp"

using namespace weir::http;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  static std::vector<std::string> const codings{"br", "gzip", "zstd"};
  static std::vector<std::string> const languages{"en", "de", "de-ch", "zh-hant"};

  std::vector<Field> const lines{{FieldId::accept_encoding, "Accept-Encoding", text}};
  auto const choice = choose_coding(lines, codings);
  bool const ours = std::find(codings.begin(), codings.end(), choice.coding) != codings.end();
  WEIR_ASSERT(ours || choice.coding == "identity");
  WEIR_ASSERT(!ours || !choice.identity_forbidden);

  std::string once, twice;
  append_normalized_languages(text, once);
  append_normalized_languages(once, twice);
  WEIR_ASSERT(once == twice);
  WEIR_ASSERT(once.size() <= 9 * text.size());  // a weight for each member

  auto const language = choose_language(text, languages);
  WEIR_ASSERT(language.empty() || std::find(languages.begin(), languages.end(), language) != languages.end());
  return 0;
}
