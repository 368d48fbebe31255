// The cookies of a request one by one, and what each is to us (FWD-3, KEY-4). Threads: pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/cache/rules.hpp"
#include "weir/http/field.hpp"

namespace weir::cache {

// One `name=value` of a Cookie field. Without '=' it has no name: nobody can key or ignore it, so it is a credential.
struct Cookie {
  std::string_view text;   // as it came, trimmed
  std::string_view name;
  std::string_view value;
};

// Calls `visit(cookie)` for each cookie of all Cookie lines, in order; `visit` returns false to stop.
template <class Visit>
void for_each_cookie(http::Fields request, Visit&& visit) {
  for (auto const& field : request) {
    if (field.id != http::FieldId::cookie) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      auto const end = rest.find(';');
      auto const text = http::trim(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      if (text.empty()) continue;
      auto const equals = text.find('=');
      Cookie cookie{.text = text, .name = {}, .value = {}};
      if (equals != std::string_view::npos) {
        cookie.name = text.substr(0, equals);
        cookie.value = text.substr(equals + 1);
      }
      if (!visit(std::as_const(cookie))) return;
    }
  }
}

// What a cookie is to us (FWD-3); the safe one first. Ignored ones are not forwarded; keyed by name they are, whatever else is
// said of them: what is keyed is what is forwarded.
enum class CookieUse : std::uint8_t { credential, ignored, keyed };
CookieUse use_of(Cookie const& cookie, KeyRules const& key, CookieRules const& cookies) noexcept;

// What of a Cookie field is what (FWD-3).
struct CookieView {
  bool has_credential = false;   // a cookie that is neither keyed nor ignored
};
CookieView classify_cookies(http::Fields request, KeyRules const& key, CookieRules const& cookies) noexcept;
// The preset of FWD-3 ("analytics").
std::vector<NamePattern> const& analytics_cookies();

}  // namespace weir::cache
