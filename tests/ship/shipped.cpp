#include "ship/shipped.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weir::ship {
namespace {

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string("start it by tests/ship/run: there is no ") + name);
  return value;
}

}  // namespace

std::filesystem::path tree() { return WEIR_SOURCE_DIR; }

std::string content(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

MetricsPage daemon_page() { return read_page(content(variable("WEIR_METRICS_PAGE"))); }

void hand_out(std::string_view name, std::string_view text) {
  std::ofstream out(std::filesystem::path(variable("WEIR_SHIP_OUT")) / name, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + std::string(name));
}

}  // namespace weir::ship
