// links: weir_proxy
// words: http
// A policy, a way to forward, and a request head as it came: what the origin gets is one head that Weir and a second reader
// read alike, without what belongs to the connection, in which nothing names a client that nobody vouches for, and which is
// known again if it comes back (FWD-1, FWD-4 to FWD-7).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../unit/proxy/rebuild.hpp"
#include "parts/policy.hpp"
#include "parts/second_reader.hpp"
#include "weir/base/assert.hpp"
#include "weir/proxy/client_address.hpp"
#include "weir/wire/head.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;
using proxy::ForwardAs;

wire::RequestHead read(std::string_view bytes, std::size_t most_fields, wire::HeadRoom& room) {
  std::size_t scanned = 0;
  wire::HeadLimits limits;
  limits.head_bytes = std::size_t{1} << 16U;
  limits.target = std::size_t{1} << 15U;
  limits.field_count = most_fields;
  return wire::read_request_head(bytes, "http", limits, room, scanned);
}

void expect_one_head(proxy::ForwardRequest const& forward, std::string const& sent) {
  static auto const room = std::make_unique<wire::HeadRoom>();
  auto const again = read(sent, wire::max_field_count, *room);
  WEIR_ASSERT(again.step == wire::HeadStep::ready && again.size == sent.size());
  auto const& request = again.request;
  WEIR_ASSERT(request.method == forward.method && request.path == forward.path && request.query == forward.query);
  WEIR_ASSERT(request.has_query == forward.has_query && request.fields.first(http::FieldId::host) == forward.host);
  auto const second = wire::read_again(sent);
  WEIR_ASSERT(second && second->size == sent.size() && second->fields.size() == request.fields.size());
  WEIR_ASSERT((second->framing == "none") == (request.framing.kind == http::BodyKind::none));
  std::vector<http::Field> apart;
  for (auto const& field : request.fields)
    if (field.id != http::FieldId::host && field.id != http::FieldId::content_length &&
        field.id != http::FieldId::transfer_encoding)
      apart.push_back(field);
  auto const meant = forward.fields.fields();
  WEIR_ASSERT(std::ranges::equal(apart, meant, [](http::Field const& a, http::Field const& b) {
    return a.id == b.id && a.name == b.name && a.value == http::trim(b.value);
  }));
}

void expect_ours(proxy::ForwardRequest const& forward, config::Policy const& policy, ForwardAs as, bool trusted,
                 http::Fields came) {
  auto const fields = forward.fields.fields();
  WEIR_ASSERT(proxy::loops(fields, "weir-test") && fields.has(http::FieldId::via));
  // Behind a body that few origins expect nothing may come.
  bool const last = as == ForwardAs::whole && fields.only(http::FieldId::connection) == "close";
  WEIR_ASSERT(last || !fields.has(http::FieldId::connection));
  for (auto const id : {http::FieldId::te, http::FieldId::trailer, http::FieldId::upgrade, http::FieldId::keep_alive,
                        http::FieldId::proxy_authorization})
    WEIR_ASSERT(!fields.has(id));
  WEIR_ASSERT(fields.count(http::FieldId::x_request_id) <= 1 && fields.count(http::FieldId::traceparent) <= 1);
  if (policy.forward.mode == config::ForwardMode::all) return;
  for (auto const& field : fields) {
    bool const same = std::ranges::any_of(came, [&](auto const& one) { return one.name.data() == field.name.data(); });
    WEIR_ASSERT(!same);  // it owns what it sends
    if (!trusted || as == ForwardAs::background) WEIR_ASSERT(!proxy::is_client_address(field.name));
    WEIR_ASSERT(!proxy::is_poisonous(field.name));
  }
  if (!trusted && as != ForwardAs::background && fields.has(http::FieldId::x_forwarded_for))
    WEIR_ASSERT(fields.only(http::FieldId::x_forwarded_for) == "192.0.2.7");
  if (as == ForwardAs::background && std::ranges::find(policy.key.headers, "authorization") == policy.key.headers.end())
    WEIR_ASSERT(!fields.has(http::FieldId::authorization));
}

void expect_address(http::Fields request) {
  static std::vector<config::Network> const trusted{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 0}, 104}};
  WEIR_ASSERT(proxy::client_address(request, "192.0.2.7", trusted) == "192.0.2.7");
  auto const address = proxy::client_address(request, "10.0.0.1", trusted);
  WEIR_ASSERT(address == "10.0.0.1" || address.find_first_not_of("0123456789abcdefABCDEF.:") == std::string_view::npos);
  WEIR_ASSERT(proxy::client_address(request, address, {}) == address);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const first = take_byte(text), second = take_byte(text), third = take_byte(text);
  auto const policy = policy_of(first, second);
  auto const as = static_cast<ForwardAs>(third & 3U);
  bool const trusted = bit(third, 2);
  static auto const room = std::make_unique<wire::HeadRoom>();
  auto const head = read(text, wire::max_field_count - 16, *room);  // what is added needs room, too
  if (head.step != wire::HeadStep::ready) return 0;
  auto const method = head.request.method_id;
  bool const reads = method == http::Method::get || method == http::Method::head;
  if (method == http::Method::connect || method == http::Method::trace || (as != ForwardAs::whole && !reads)) return 0;
  expect_address(head.request.fields);

  std::vector<http::Field> edited;
  proxy::edit_fields(head.request.fields, policy.headers.request, edited);
  auto request = head.request;
  request.fields = edited;
  proxy::test::Trip const trip(request, policy, trusted, as);
  expect_one_head(trip.forward, trip.forward.head(nullptr));
  expect_ours(trip.forward, policy, as, trusted, head.request.fields);
  if (as == ForwardAs::canonical && policy.forward.mode == config::ForwardMode::strict)
    WEIR_ASSERT(proxy::test::key_from_forwarded(trip.forward, policy.key) == cache::view(trip.key));
  return 0;
}
