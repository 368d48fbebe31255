// links: weir_config
// words: yaml
// No text makes the loader throw or crash; what it accepts, it writes so that it reads back as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "weir/config/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace weir::config;
  // The first byte says where the text goes: the file, or behind a small file as a flag's value.
  if (size == 0) return 0;
  std::string const text(reinterpret_cast<char const*>(data) + 1, size - 1);
  Sources sources;
  sources.file = "weir.yaml";
  sources.environment = {{"NAME", "value"}};
  if (data[0] % 4 == 0) {
    std::size_t const equals = text.find('=');
    sources.yaml = "version: 1\norigins: {app: {url: \"http://127.0.0.1:9000\"}}\n";
    sources.set = {{text.substr(0, equals), equals == std::string::npos ? std::string() : text.substr(equals + 1)}};
  } else {
    sources.yaml = text;
  }
  Loaded const loaded = load(sources);
  if (loaded.settings.has_value() != loaded.mistakes.empty()) std::abort();
  for (Mistake const& mistake : loaded.mistakes)
    if (mistake.text().empty()) std::abort();
  if (!loaded.settings) return 0;

  std::string const dump = dump_yaml(*loaded.settings);
  Sources again;
  again.file = "weir.yaml";
  again.yaml = dump;
  Loaded const second = load(again);
  if (!second.settings || dump_yaml(*second.settings) != dump) std::abort();
  if (dump_json(*second.settings) != dump_json(*loaded.settings)) std::abort();
  return 0;
}
