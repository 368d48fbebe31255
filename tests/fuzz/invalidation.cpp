// links: weir_cache
// A request's target, then Location, Content-Location and groups as an origin may write them: a place that is made invalid
// is one that a request could ask for, of the same origin, and names itself; a group that is made invalid is one that
// answers can belong to (SRV-6, PRG-1).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/cache/epochs.hpp"
#include "weir/cache/invalidation.hpp"
#include "weir/http/target.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;
using http::FieldId;

std::vector<cache::UriParts> places(http::Request const& request, std::string_view location) {
  std::vector<http::Field> const fields{{FieldId::location, "Location", location}};
  http::Response response;
  response.status = 201;
  response.fields = fields;
  return cache::invalidated_locations(request, response);
}

std::string target_of(cache::UriParts const& uri) { return uri.has_query ? uri.path + "?" + uri.query : uri.path; }

void expect_place(http::Request const& request, cache::UriParts const& uri) {
  auto const target = target_of(uri);
  auto const parsed = http::parse_target(target);
  WEIR_ASSERT(parsed && parsed->form == http::TargetForm::origin && parsed->path == uri.path);
  for (std::string_view const from : {"//shop.example", "HTTP://Shop.Example:80", "http://shop.example."}) {
    auto const again = places(request, std::string(from) + target);
    WEIR_ASSERT(again.size() == 1);
    if (uri.path == request.path) continue;  // as it came, dot segments and all
    WEIR_ASSERT(target_of(again.front()) == target);
  }
  for (std::string_view const from :
       {"//other.example", "https://shop.example", "http://shop.example:81", "ftp://shop.example"})
    WEIR_ASSERT(places(request, std::string(from) + target).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const target = http::parse_target(take(text, '\n'));
  if (!target || target->form != http::TargetForm::origin) return 0;
  http::Request request;
  request.method = "POST";
  request.method_id = http::Method::post;
  request.scheme = "http";
  request.authority = "shop.example";
  request.path = target->path;
  request.query = target->query;
  request.has_query = target->has_query;
  auto const location = http::trim(take(text, '\n'));
  auto const tags = http::trim(text);
  if (!http::is_field_value(location) || !http::is_field_value(tags)) return 0;
  for (auto const& uri : places(request, location)) expect_place(request, uri);
  std::vector<http::Field> const self{{FieldId::content_location, "Content-Location", location}};
  http::Response response;
  response.fields = self;
  if (cache::content_location_is_target(request, response)) WEIR_ASSERT(places(request, location).size() == 1);

  std::vector<http::Field> const belongs{{FieldId::cache_groups, "Cache-Groups", tags}};
  std::vector<http::Field> const ends{{FieldId::cache_group_invalidation, "Cache-Group-Invalidation", tags}};
  auto const of = cache::tags_of(http::Fields(belongs), "shop", "http", "shop.example");
  for (auto const tag : cache::invalidated_groups(http::Fields(ends), "http", "shop.example"))
    WEIR_ASSERT(std::ranges::find(of, tag) != of.end());
  std::vector<http::Field> const words{{FieldId::surrogate_key, "Surrogate-Key", tags},
                                       {FieldId::cache_tag, "Cache-Tag", tags}};
  auto const named = cache::tags_of(http::Fields(words), "shop", "http", "shop.example");
  WEIR_ASSERT(std::ranges::is_sorted(named) && named.size() <= tags.size() + 2);
  return 0;
}
