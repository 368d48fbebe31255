#include "weir/observe/cookie_names.hpp"

#include <algorithm>

#include "weir/observe/log.hpp"

namespace weir::observe {
namespace {

constexpr std::size_t most_logged = 8;

std::string joined(std::vector<CookieNames::Row> const& rows) {
  std::string names;
  for (auto const& row : rows) names += (names.empty() ? "" : ", ") + row.name;
  return names;
}

}  // namespace

void CookieNames::count(std::string_view name) noexcept {
  name = name.substr(0, longest);
  std::lock_guard const lock(mutex_);
  Place* place = &table_.front();
  for (auto& other : table_) {
    if (other.count > 0 && other.name() == name) {
      ++other.count;
      return;
    }
    if (other.count < place->count) place = &other;
  }
  // It takes the place of the rarest and inherits its count: too high rather than too low.
  std::copy(name.begin(), name.end(), place->bytes.begin());
  place->size = static_cast<std::uint8_t>(name.size());
  ++place->count;
}

std::vector<CookieNames::Row> CookieNames::top(std::size_t at_most) const {
  std::vector<Row> rows;
  rows.reserve(places);
  {
    std::lock_guard const lock(mutex_);
    for (auto const& place : table_)
      if (place.count > 0) rows.push_back({std::string(place.name()), place.count});
  }
  std::sort(rows.begin(), rows.end(),
            [](Row const& a, Row const& b) { return a.requests != b.requests ? a.requests > b.requests : a.name < b.name; });
  if (rows.size() > at_most) rows.resize(at_most);
  return rows;
}

bool CookieNames::look(base::SteadyTime now, std::uint64_t cacheable, std::uint64_t with_credential) {
  if (next_look_ == base::SteadyTime::min()) next_look_ = now + period;
  if (now < next_look_) return false;
  next_look_ = now + period;
  auto const requests = cacheable - cacheable_then_;
  auto const with = with_credential - with_credential_then_;
  cacheable_then_ = cacheable;
  with_credential_then_ = with_credential;
  if (with * bad_share <= requests) return false;
  auto const names = joined(top(most_logged));
  log_warning("cookie-credentials",
              {{"requests", requests}, {"with_credential_cookie", with}, {"names", std::string_view(names)}});
  return true;
}

bool StrippedCookies::look(base::SteadyTime now) {
  if (!watching()) return false;
  if (until_ == base::SteadyTime::min()) until_ = now + watched;
  if (now < until_) return false;
  watching_.store(false, std::memory_order_relaxed);
  auto const names = joined(names_.top(CookieNames::places));
  if (names.empty()) return false;
  log_warning("strict-strips-cookies", {{"names", std::string_view(names)}});
  return true;
}

}  // namespace weir::observe
