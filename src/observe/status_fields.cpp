#include "weir/observe/status_fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "weir/base/assert.hpp"

namespace weir::observe {
namespace {

// RFC 9651 3.3.1: an Integer has at most 15 digits.
constexpr std::int64_t max_integer = 999'999'999'999'999;

// Whole seconds away from 0: what is fresh for half a second more has ttl 1, what went stale half a second ago has -1, and
// while fresh Age and ttl add up to the lifetime.
std::int64_t away_from_zero(base::Duration d) noexcept {
  return d > base::Duration::zero() ? std::chrono::ceil<std::chrono::seconds>(d).count()
                                    : std::chrono::floor<std::chrono::seconds>(d).count();
}

}  // namespace

std::string_view label(Forwarded forwarded) noexcept {
  static constexpr std::array<std::string_view, 9> words{"none", "bypass",  "method", "uri-miss", "vary-miss",
                                                         "miss", "request", "stale",  "partial"};
  return words[static_cast<std::size_t>(forwarded)];
}

StatusText::StatusText(CacheStatus const& status) noexcept {
  WEIR_ASSERT(!status.hit || status.forwarded == Forwarded::none);
  WEIR_ASSERT(status.detail.size() <= max_detail);
  append("Weir");
  if (status.hit) append("; hit");
  if (status.forwarded != Forwarded::none) {
    append("; fwd=");
    append(label(status.forwarded));
  }
  if (status.forwarded_status != 0) {
    append("; fwd-status=");
    append(std::int64_t{status.forwarded_status});
  }
  if (status.stored) append("; stored");
  if (status.collapsed == Collapsed::yes) append("; collapsed");
  if (status.collapsed == Collapsed::no) append("; collapsed=?0");
  if (status.ttl) {
    append("; ttl=");
    append(away_from_zero(*status.ttl));
  }
  if (!status.detail.empty()) {
    append("; detail=");
    append(status.detail);
  }
}

StatusText::StatusText(ProxyStatus const& status) noexcept {
  WEIR_ASSERT(!status.error.empty() && status.error.size() <= max_proxy_error);
  append("Weir; error=");
  append(status.error);
  if (status.received_status != 0) {
    append("; received-status=");
    append(std::int64_t{status.received_status});
  }
}

void StatusText::append(std::string_view text) noexcept {
  WEIR_ASSERT(size_ + text.size() <= bytes_.size());
  std::memcpy(bytes_.data() + size_, text.data(), text.size());
  size_ += text.size();
}

void StatusText::append(std::int64_t number) noexcept {
  number = std::clamp(number, -max_integer, max_integer);
  auto const end = std::to_chars(bytes_.data() + size_, bytes_.data() + bytes_.size(), number);
  WEIR_ASSERT(end.ec == std::errc());
  size_ = static_cast<std::size_t>(end.ptr - bytes_.data());
}

}  // namespace weir::observe
