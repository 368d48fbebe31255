// The settings that the decisions of this room depend on, with their defaults. config/ fills them from YAML, one set for
// each site or route; here they are plain values. Names are those of the configuration (SPEC sections 3 to 5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"

namespace weir::cache {

using base::Duration;
using namespace std::chrono_literals;

// An exact name or, with a trailing '*', a prefix. Cookie and query names respect case.
struct NamePattern {
  std::string text;  // without the '*'
  bool prefix = false;
  bool matches(std::string_view name) const noexcept { return prefix ? name.starts_with(text) : name == text; }
};

struct KeyRules {
  bool normalize_path = false;          // KEY-2: escapes of unreserved characters decoded, hex upper case
  std::vector<NamePattern> query_drop;  // KEY-3
  std::vector<NamePattern> query_keep;  // if not empty, only these stay
  bool query_sort = false;
  std::vector<std::string> headers;  // KEY-4, lower case
  std::vector<std::string> cookies;  // KEY-4
  std::vector<std::string> accept_encoding{"br", "gzip"};
  std::vector<std::string> languages;
  std::uint32_t max_vary_headers = 8;
  std::uint32_t max_variants = 8;
  std::vector<std::string> vary_allow;  // of "cookie" and "authorization": may be stored although Vary names it
};

enum class CookieMode : std::uint8_t { credential, bypass, ignore };

struct CookieRules {
  CookieMode mode = CookieMode::credential;
  std::vector<NamePattern> ignore;  // FWD-3; config fills the preset
  bool only_keyed = false;          // FWD-2, strict: what is not keyed is removed; set by config, no setting
};

struct ClientRules {
  bool honor_revalidation = false;  // SRV-5
};

enum class SetCookie : std::uint8_t { refuse, strip, store };

struct StorableRules {
  std::uint64_t max_object = 8ULL << 20;
  Duration error_max_ttl = 10s;
  SetCookie set_cookie = SetCookie::refuse;
  std::vector<std::string> targeted{"Weir-Cache-Control", "CDN-Cache-Control"};
  bool targeted_strict = true;
  bool ignore_cache_control = false;  // FRS-4
  bool request_errors = false;        // store also what `is_request_error`
};

struct FreshnessRules {
  Duration default_ttl{};     // FRS-1
  std::uint32_t jitter = 10;  // percent, FRS-2
  Duration heuristic_max = 1h;
  std::uint32_t heuristic_percent = 10;
  std::optional<Duration> override_ttl;  // FRS-4
  Duration keep = 1h;
  Duration default_stale_while_revalidate{};  // STL-1
  Duration default_stale_if_error{};
  bool early_refresh = true;  // FRS-3
};

}  // namespace weir::cache
