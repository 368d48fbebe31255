#include "weir/cache/conditional.hpp"

#include <algorithm>
#include <chrono>

#include "weir/http/date.hpp"
#include "weir/http/etag.hpp"

namespace weir::cache {
namespace {

using http::FieldId;

// RFC 9110 13.1.1: strong comparison; "*" is any representation, and there is one.
bool if_match_holds(http::Fields request, std::string_view etag) noexcept {
  return std::ranges::any_of(request, [etag](http::Field const& field) {
    return field.id == FieldId::if_match && http::any_strong_match(field.value, etag);
  });
}

// RFC 9110 13.1.2. An empty tag is none: only "*" matches then.
bool if_none_match_hits(http::Fields request, std::string_view etag) noexcept {
  for (auto const& field : request) {
    if (field.id != FieldId::if_none_match) continue;
    if (http::trim(field.value) == "*" || (!etag.empty() && http::any_weak_match(field.value, etag))) return true;
  }
  return false;
}

// A date field of the request; several lines or no date: as if it were absent (RFC 9110 13.1.3, 13.1.4).
std::optional<base::WallTime> date_in(http::Fields request, FieldId id, base::WallTime now) noexcept {
  auto const value = request.only(id);
  return value ? http::parse_date(*value, now) : std::nullopt;
}

std::optional<base::WallTime> modified_at(Representation const& representation, base::WallTime now) noexcept {
  if (representation.last_modified.empty()) return std::nullopt;
  return http::parse_date(representation.last_modified, now);
}

// RFC 9110 13.1.5: a tag by strong comparison, a date only if it is exactly Last-Modified, and that is strong only if the
// response was dated a second later (8.8.2.2), as the representation could have changed twice within one.
bool if_range_holds(http::Fields request, Representation const& representation, base::WallTime now) noexcept {
  if (!request.has(FieldId::if_range)) return true;
  auto const value = request.only(FieldId::if_range);
  if (!value) return false;
  if (value->starts_with('"') || value->starts_with("W/")) return http::strong_match(*value, representation.etag);
  auto const date = http::parse_date(*value, now);
  auto const modified = modified_at(representation, now);
  if (!date || !modified || *date != *modified) return false;
  bool const dated = representation.date != base::WallTime();
  return !dated ||
         base::whole_seconds(representation.date.time_since_epoch()) > base::whole_seconds(modified->time_since_epoch());
}

bool not_modified(http::Fields request, Representation const& representation, base::WallTime now) noexcept {
  if (request.has(FieldId::if_none_match)) return if_none_match_hits(request, representation.etag);
  auto const since = date_in(request, FieldId::if_modified_since, now);
  return since && modified_at(representation, now).value_or(representation.date) <= *since;
}

bool precondition_failed(http::Fields request, Representation const& representation, base::WallTime now) noexcept {
  if (request.has(FieldId::if_match)) return !if_match_holds(request, representation.etag);
  auto const since = date_in(request, FieldId::if_unmodified_since, now);
  auto const modified = since ? modified_at(representation, now) : std::nullopt;
  return modified && *modified > *since;
}

}  // namespace

// The order is that of RFC 9110 13.2.2.
Selection select(http::Request const& request, Representation const& representation, base::WallTime now) noexcept {
  bool const get = request.method_id == http::Method::get;
  if (representation.status != 200 || (!get && request.method_id != http::Method::head)) return {};
  if (!has_conditionals(request.fields)) return {};
  if (precondition_failed(request.fields, representation, now)) return {.cut = Cut::precondition_failed, .range = {}};
  if (not_modified(request.fields, representation, now)) return {.cut = Cut::not_modified, .range = {}};

  auto const range = get && representation.size ? request.fields.only(FieldId::range) : std::nullopt;
  if (!range || !if_range_holds(request.fields, representation, now)) return {};
  auto const result = http::select_range(*range, *representation.size);
  switch (result.verdict) {
    case http::RangeVerdict::satisfiable:
      return {.cut = Cut::partial, .range = result.range};
    case http::RangeVerdict::unsatisfiable:
      return {.cut = Cut::unsatisfiable, .range = {}};
    case http::RangeVerdict::ignore:
      break;
  }
  return {};
}

bool has_conditionals(http::Fields request) noexcept {
  for (auto const& field : request) {
    switch (field.id) {
      case FieldId::if_match:
      case FieldId::if_none_match:
      case FieldId::if_modified_since:
      case FieldId::if_unmodified_since:
      case FieldId::range:
        return true;
      default:
        break;
    }
  }
  return false;
}

}  // namespace weir::cache
