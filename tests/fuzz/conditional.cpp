// links: weir_cache
// A representation and a request's conditions: what is cut out lies within the body, the order of RFC 9110 13.2.2 holds, and
// conditions that do not count change nothing (SRV-1, SRV-3).
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/cache/conditional.hpp"
#include "weir/http/etag.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;
using cache::Cut;
using http::FieldId;

constexpr base::WallTime now{std::chrono::seconds(784'111'777)};

cache::Selection selected(std::vector<http::Field> const& fields, cache::Representation const& representation,
                          bool head = false) {
  http::Request request;
  request.method = head ? "HEAD" : "GET";
  request.method_id = head ? http::Method::head : http::Method::get;
  request.fields = fields;
  return cache::select(request, representation, now);
}

std::vector<http::Field> without(std::vector<http::Field> fields, FieldId id) {
  std::erase_if(fields, [id](http::Field const& field) { return field.id == id; });
  return fields;
}

std::vector<http::Field> with(std::vector<http::Field> fields, FieldId id, std::string_view value) {
  fields.push_back({id, http::field_name(id), value});
  return fields;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  cache::Representation representation;
  representation.size = take_byte(text);
  representation.etag = http::trim(take(text, '\n'));
  representation.last_modified = http::trim(take(text, '\n'));
  representation.date = now - std::chrono::seconds(10);
  if (!http::is_field_value(representation.etag) || !http::is_field_value(representation.last_modified)) return 0;
  auto const fields = fields_of(text);
  auto const whole = selected(fields, representation);
  if (whole.cut == Cut::partial)
    WEIR_ASSERT(whole.range.first <= whole.range.last && whole.range.last < *representation.size);

  auto const in_head = selected(fields, representation, true);
  bool const ranged = whole.cut == Cut::partial || whole.cut == Cut::unsatisfiable;
  WEIR_ASSERT(in_head.cut == (ranged ? Cut::whole : whole.cut));
  WEIR_ASSERT(selected(without(fields, FieldId::range), representation).cut == in_head.cut);

  http::Fields const view(fields);
  if (view.has(FieldId::if_none_match))
    WEIR_ASSERT(selected(without(fields, FieldId::if_modified_since), representation).cut == whole.cut);
  if (view.has(FieldId::if_match))
    WEIR_ASSERT(selected(without(fields, FieldId::if_unmodified_since), representation).cut == whole.cut);
  bool const failed = whole.cut == Cut::precondition_failed;
  WEIR_ASSERT(selected(with(fields, FieldId::if_none_match, "*"), representation).cut ==
              (failed ? Cut::precondition_failed : Cut::not_modified));
  if (http::is_strong_etag(representation.etag)) {
    WEIR_ASSERT(selected(with(fields, FieldId::if_match, representation.etag), representation).cut !=
                    Cut::precondition_failed ||
                failed);
    WEIR_ASSERT(selected(with(fields, FieldId::if_none_match, representation.etag), representation).cut ==
                (failed ? Cut::precondition_failed : Cut::not_modified));
  }
  auto other = representation;
  other.status = 404;
  WEIR_ASSERT(selected(fields, other).cut == Cut::whole);
  return 0;
}
