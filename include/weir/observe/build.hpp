// Which Weir this is: for weir_build_info, `weir -V` and the start-up log line. The build may define WEIR_VERSION and
// WEIR_REVISION (string literals).
#pragma once

#include <string_view>

namespace weir::observe {

#ifdef WEIR_VERSION
inline constexpr std::string_view version = WEIR_VERSION;
#else
inline constexpr std::string_view version = "0.1.0";
#endif
#ifdef WEIR_REVISION
inline constexpr std::string_view revision = WEIR_REVISION;
#else
inline constexpr std::string_view revision = "unknown";
#endif
#ifdef __clang__
inline constexpr std::string_view compiler = "clang " __clang_version__;
#else
inline constexpr std::string_view compiler = "g++ " __VERSION__;
#endif

}  // namespace weir::observe
