#include "weir/proxy/forward.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <random>

#include "weir/base/hash.hpp"
#include "weir/cache/selecting_value.hpp"
#include "weir/cache/vary.hpp"
#include "weir/http/target.hpp"
#include "weir/proxy/edits.hpp"
#include "weir/wire/write.hpp"

namespace weir::proxy {
namespace {

using http::FieldId;

std::string new_request_id() {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::array<std::uint64_t, 2> const bits{random(), random()};
  return base::to_hex({reinterpret_cast<char const*>(bits.data()), sizeof bits});
}

// Lines that are one list become one line.
void add_joined(http::Fields seen, FieldId id, std::string_view name, std::string_view separator, http::FieldArena& fields) {
  std::string joined;
  for (auto const& field : seen) {
    if (field.id != id) continue;
    if (!joined.empty()) joined += separator;
    joined += field.value;
  }
  if (!joined.empty()) fields.add(name, joined);
}

// The element that says who asked us for what (RFC 7239 4).
std::string forwarded_element(http::Request const& request, Requester const& requester) {
  bool const ip = requester.address != "unix";
  bool const v6 = requester.address.find(':') != std::string_view::npos;
  std::string element =
      ip ? (v6 ? "for=\"[" + std::string(requester.address) + "]\"" : "for=" + std::string(requester.address))
         : std::string("for=unknown");
  if (!request.authority.empty()) element += ";host=\"" + std::string(request.authority) + '"';
  return element + ";proto=" + std::string(request.scheme);
}

bool names_itself(config::Policy const& policy, ForwardAs as, Requester const& requester) {
  if (policy.forward.mode == config::ForwardMode::all) return requester.trusted;
  return !is_strict(policy, as) || reaches_origin(policy, "forwarded");
}

bool is_keyed(config::Policy const& policy, std::string_view name) noexcept {
  for (auto const& keyed : policy.key.headers)
    if (http::equal_ignoring_case(keyed, name)) return true;
  return false;
}

constexpr std::string_view refused = ";q=0";

// Of languages as they are keyed: whether some say more than that they are refused.
bool has_weights(std::string_view keyed) {
  bool weights = keyed.find('"') != std::string_view::npos;
  http::for_each_member(keyed, [&](std::string_view language) {
    auto const parameters = language.find(';');
    weights = weights || (parameters != std::string_view::npos && language.substr(parameters) != refused);
    return !weights;
  });
  return weights;
}

// FWD-2: two requests with one key are one request to the origin. Languages keep their order by weights that fall; where one
// is malformed all stay as they are keyed.
void add_as_keyed(http::Fields seen, std::string const& name, config::Policy const& policy, http::FieldArena& fields) {
  boost::container::small_vector<char, 256> value;
  if (!cache::append_selecting_value(seen, name, policy.key, value)) return;
  std::string_view const keyed(value.data(), value.size());
  if (http::field_id(name) != FieldId::accept_language || !policy.key.languages.empty() || has_weights(keyed))
    return fields.add(name, keyed);
  std::string weighted;
  int weight = 1000;
  http::for_each_member(keyed, [&](std::string_view language) {
    if (!weighted.empty()) weighted += ", ";
    weighted += language;
    if (language.ends_with(refused)) return true;
    auto const digits = std::to_string(weight);
    if (weight < 1000) weighted += ";q=0." + std::string(3 - digits.size(), '0') + digits;
    if (weight > 1) --weight;
    return true;
  });
  fields.add(name, weighted);
}

bool is_joined(FieldId id) noexcept { return id == FieldId::x_forwarded_for || id == FieldId::tracestate; }

// Strict: forwarded as its keyed value. The coding is that already; a list that is joined is its own value.
bool is_rendered(config::Policy const& policy, http::Field const& field) noexcept {
  return !is_joined(field.id) && field.id != FieldId::accept_encoding && field.id != FieldId::cookie &&
         is_keyed(policy, field.name);
}

}  // namespace

std::optional<std::uint64_t> forwards_left(http::Request const& request) noexcept {
  if (request.method_id != http::Method::options) return std::nullopt;
  auto const text = request.fields.only(FieldId::max_forwards);
  if (!text || text->empty()) return std::nullopt;
  std::uint64_t count = 0;
  auto const [end, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (end != text->data() + text->size() || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? count : std::numeric_limits<std::uint64_t>::max();
}

bool loops(http::Fields request, std::string_view cdn_loop_id) noexcept {
  for (auto const& field : request) {
    if (field.id != FieldId::cdn_loop) continue;
    bool found = false;
    http::for_each_member(field.value, [&](std::string_view member) {
      auto const id = http::trim(member.substr(0, member.find(';')));
      found = http::equal_ignoring_case(id, cdn_loop_id);
      return !found;
    });
    if (found) return true;
  }
  return false;
}

ForwardRequest make_forward(http::Request const& request, cache::ForwardTarget const& target, ForwardAs as,
                            config::Policy const& policy, config::Origin const& origin, std::string_view origin_authority,
                            Requester const& requester, std::string_view cdn_loop_id) {
  bool const shared = as == ForwardAs::canonical || as == ForwardAs::background;
  bool const strict = is_strict(policy, as);
  ForwardRequest forward;
  forward.method = shared ? std::string_view("GET") : request.method;
  forward.method_id = shared ? http::Method::get : request.method_id;
  forward.scheme = request.scheme;
  cache::SelectorBytes authority;
  http::append_normalized_host(request.authority, request.scheme, authority);
  forward.authority = cache::view(authority);
  bool const as_it_came = as == ForwardAs::whole;  // FWD-4: nothing of it is keyed
  forward.path = as_it_came ? request.path : target.path;
  forward.query = as_it_came ? request.query : target.query;
  forward.has_query = as_it_came ? request.has_query : target.has_query;
  if (!origin.host_header.empty())
    forward.host = origin.host_header;
  else
    forward.host = request.authority.empty() ? origin_authority : request.authority;
  if (as == ForwardAs::whole) forward.framing = request.framing;

  std::vector<http::Field> seen;
  forwarded_fields(request, as, policy, requester, cdn_loop_id, seen);
  auto& fields = forward.fields;
  bool const cookies_apart = as == ForwardAs::whole;
  for (auto const& field : seen) {
    if (is_joined(field.id) || (field.id == FieldId::cookie && !cookies_apart)) continue;
    if (strict && is_rendered(policy, field)) continue;
    fields.add(field.name, field.value);
  }
  if (strict)
    for (auto const& name : policy.key.headers)
      if (is_rendered(policy, {http::field_id(name), name, {}})) add_as_keyed(seen, name, policy, fields);
  if (!cookies_apart) add_joined(seen, FieldId::cookie, "Cookie", "; ", fields);
  add_joined(seen, FieldId::x_forwarded_for, "X-Forwarded-For", ", ", fields);
  add_joined(seen, FieldId::tracestate, "tracestate", ", ", fields);
  if (auto const left = forwards_left(request); left && *left > 0)
    fields.set(FieldId::max_forwards, std::to_string(*left - 1));
  // Nothing comes behind such a body, so nothing can be made of it.
  if (as == ForwardAs::whole && request.has_body() && seldom_has_body(request.method_id))
    fields.add(FieldId::connection, "close");
  bool const for_nobody = as == ForwardAs::background;
  if (names_itself(policy, as, requester))
    fields.add(FieldId::forwarded, forwarded_element(request, for_nobody ? Requester{"unix", false} : requester));
  bool const keyed_id = strict && is_keyed(policy, "x-request-id");
  if (!keyed_id && !fields.fields().has(FieldId::x_request_id)) fields.add(FieldId::x_request_id, new_request_id());
  return forward;
}

bool seldom_has_body(http::Method method) noexcept {
  return method == http::Method::get || method == http::Method::head || method == http::Method::delete_ ||
         method == http::Method::options;
}

std::string ForwardRequest::head(cache::StoredResponse const* basis) const {
  std::string out;
  out.reserve(1024);
  wire::append_request_line(out, method, path, query, has_query);
  wire::append_field(out, "Host", host);
  for (auto const& field : fields.fields()) wire::append_field(out, field.name, field.value);
  if (basis != nullptr) {
    if (!basis->etag().empty()) wire::append_field(out, "If-None-Match", basis->etag());
    if (!basis->last_modified().empty()) wire::append_field(out, "If-Modified-Since", basis->last_modified());
  }
  if (framing.kind == http::BodyKind::length)
    wire::append_field(out, "Content-Length", framing.length);
  else if (framing.kind == http::BodyKind::chunked)
    wire::append_field(out, "Transfer-Encoding", "chunked");
  else if (method_id == http::Method::post || method_id == http::Method::put || method_id == http::Method::patch)
    wire::append_field(out, "Content-Length", std::uint64_t{0});
  out += "\r\n";
  return out;
}

}  // namespace weir::proxy
