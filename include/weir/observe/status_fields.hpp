// The fields that tell a client what Weir did: Cache-Status (RFC 9211) and Proxy-Status (RFC 9209), OBS-1 and STL-2. Values
// in, text out, in a buffer of fixed size: nothing is allocated. Our member is appended to what is there as a line of its
// own. Threads: pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/base/clock.hpp"

namespace weir::observe {

// RFC 9211 2.2, why the request went to the origin. `none`: it did not.
enum class Forwarded : std::uint8_t { none, bypass, method, uri_miss, vary_miss, miss, request, stale, partial };
std::string_view label(Forwarded forwarded) noexcept;  // "uri-miss"

enum class Collapsed : std::uint8_t { unsaid, yes, no };  // `no`: it waited for another's fetch and had to fetch after all

// The words of `detail`.
namespace detail {
inline constexpr std::string_view circuit_open = "circuit-open";
inline constexpr std::string_view coalesce_timeout = "coalesce-timeout";
inline constexpr std::string_view hit_for_miss = "hit-for-miss";
inline constexpr std::string_view negative = "negative";
inline constexpr std::string_view shed = "shed";
inline constexpr std::string_view stale_if_error = "stale-if-error";
inline constexpr std::string_view stale_while_revalidate = "stale-while-revalidate";
}  // namespace detail

inline constexpr std::size_t max_detail = 40;

struct CacheStatus {
  bool hit = false;  // only with `forwarded` none
  Forwarded forwarded = Forwarded::none;
  int forwarded_status = 0;  // of the origin's answer; 0: none came
  bool stored = false;
  Collapsed collapsed = Collapsed::unsaid;
  std::optional<base::Duration>
      ttl{};                  // what is left of the lifetime, whole seconds away from 0; negative: stale for so long
  std::string_view detail{};  // a token of at most max_detail bytes; empty: none
};

inline constexpr std::size_t max_proxy_error = 40;

struct ProxyStatus {
  std::string_view error{};  // a token of at most max_proxy_error bytes, RFC 9209 2.3
  int received_status = 0;   // of the origin's answer; 0: none came
};

// A field value. Big enough for any value above; what does not fit is our own mistake.
class StatusText {
 public:
  static constexpr std::size_t max_size = 192;
  explicit StatusText(CacheStatus const& status) noexcept;
  explicit StatusText(ProxyStatus const& status) noexcept;
  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  void append(std::string_view text) noexcept;
  void append(std::int64_t number) noexcept;

  std::array<char, max_size> bytes_;
  std::size_t size_ = 0;
};

}  // namespace weir::observe
