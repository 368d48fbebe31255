#include "weir/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace weir::base {

void assertion_failed(char const* condition, char const* file, int line) noexcept {
  std::fprintf(stderr, "weir: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace weir::base
