// Our own mistakes end the process, in release too, with the place and the sentence.
#pragma once

namespace weir::base {

[[noreturn]] void assertion_failed(char const* condition, char const* file, int line) noexcept;

}  // namespace weir::base

#define WEIR_ASSERT(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::weir::base::assertion_failed(#condition, __FILE__, __LINE__))
