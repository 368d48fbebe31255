// links: weir_proxy
// A policy, drawn from the first bytes, and a request as text: in strict mode the key can be rebuilt from the forwarded
// request alone and nothing else is in it; in every mode a variant is selected by what the origin got (FWD-2, KEY-6).
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../unit/proxy/rebuild.hpp"
#include "parts/policy.hpp"
#include "weir/base/assert.hpp"
#include "weir/http/target.hpp"

using namespace weir;
using namespace weir::fuzz;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size < 2) return 0;
  auto const policy = policy_of(data[0], data[1]);
  auto text = text_of(data + 2, size - 2);
  http::Request request;
  request.method = "GET";
  request.method_id = http::Method::get;
  request.scheme = size % 2 == 0 ? "http" : "https";
  auto const line = take(text, '\n');
  auto const target = http::parse_target(line);
  auto const host = take(text, '\n');
  if (!target || target->form != http::TargetForm::origin || !http::is_host(host)) return 0;
  request.authority = host;
  request.path = target->path;
  request.query = target->query;
  request.has_query = target->has_query;
  auto const came = fields_of(text);
  std::vector<http::Field> edited;
  proxy::edit_fields(came, policy.headers.request, edited);
  request.fields = edited;

  proxy::test::Trip const trip(request, policy, size % 3 == 0);
  if (policy.forward.mode == config::ForwardMode::strict) {
    WEIR_ASSERT(proxy::test::key_from_forwarded(trip.forward, policy.key) == cache::view(trip.key));
    WEIR_ASSERT(proxy::test::stowaway(trip.forward, policy).empty());
  }
  for (auto const& field : came) {
    if (field.id == http::FieldId::forwarded || field.id == http::FieldId::x_request_id) continue;
    auto const name = http::lower(field.name);
    WEIR_ASSERT(proxy::test::selecting_value(trip.seen, name, policy.key) ==
                proxy::test::selecting_value(trip.forward.fields.fields(), name, policy.key));
  }
  return 0;
}
