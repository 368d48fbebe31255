// How many drawn cases a property test tries: a tenth of what it is meant to hold for, so that it fits into every run, or
// with WEIR_ALL_CASES in the environment all of them. Threads: any.
#pragma once

#include <cstdlib>

namespace weir::test {

inline int drawn_cases(int all) { return std::getenv("WEIR_ALL_CASES") != nullptr ? all : all / 10; }

}  // namespace weir::test
