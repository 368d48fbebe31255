#include "weir/proxy/forward.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "weir/base/hash.hpp"
#include "weir/http/accept.hpp"
#include "weir/wire/write.hpp"

namespace weir::proxy {
namespace {

using http::FieldId;

constexpr std::array<std::string_view, 27> poisonous{"x-original-url",
                                                     "x-rewrite-url",
                                                     "x-original-host",
                                                     "x-http-method-override",
                                                     "x-http-method",
                                                     "x-method-override",
                                                     "x-forwarded-scheme",
                                                     "x-forwarded-server",
                                                     "x-forwarded-port",
                                                     "x-forwarded-prefix",
                                                     "x-forwarded-ssl",
                                                     "x-forwarded-path",
                                                     "x-forwarded-uri",
                                                     "x-forwarded-by",
                                                     "x-forwarded",
                                                     "x-host",
                                                     "x-backend-host",
                                                     "x-proxy-host",
                                                     "x-url-scheme",
                                                     "x-override-url",
                                                     "x-original-uri",
                                                     "x-wap-profile",
                                                     "x-forwarded-proto-version",
                                                     "x-http-host-override",
                                                     "front-end-https",
                                                     "x-real-url",
                                                     "proxy"};

bool is_conditional_or_range(FieldId id) noexcept {
  switch (id) {
    case FieldId::if_match:
    case FieldId::if_none_match:
    case FieldId::if_modified_since:
    case FieldId::if_unmodified_since:
    case FieldId::if_range:
    case FieldId::range:
      return true;
    default:
      return false;
  }
}

// FWD-5: what may pass; anything else is replaced or dropped, so that a log line or a trace cannot be forged.
bool is_request_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= 128 &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7F && c != '"' && c != ','; });
}

bool is_traceparent(std::string_view value) noexcept {
  if (value.size() < 55 || value[2] != '-' || value[35] != '-' || value[52] != '-') return false;
  auto const hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  for (std::size_t i = 0; i < 55; ++i)
    if (i != 2 && i != 35 && i != 52 && !hex(value[i])) return false;
  auto const zero = [&](std::size_t from, std::size_t size) {
    return value.substr(from, size).find_first_not_of('0') == std::string_view::npos;
  };
  return value.substr(0, 2) != "ff" && !zero(3, 32) && !zero(36, 16) && (value.size() == 55 || value[55] == '-');
}

std::string new_request_id() {
  thread_local std::mt19937_64 random(std::random_device{}());
  std::array<std::uint64_t, 2> const bits{random(), random()};
  return base::to_hex({reinterpret_cast<char const*>(bits.data()), sizeof bits});
}

bool is_replaced(FieldId id) noexcept {
  switch (id) {
    case FieldId::host:
    case FieldId::content_length:
    case FieldId::transfer_encoding:
    case FieldId::x_request_id:
    case FieldId::traceparent:
    case FieldId::tracestate:
      return true;
    default:
      return false;
  }
}

bool tells_of_the_client(FieldId id) noexcept {
  return id == FieldId::forwarded || id == FieldId::x_forwarded_for || id == FieldId::x_forwarded_proto ||
         id == FieldId::x_forwarded_host;
}

// FWD-7: credentials, and fields that name the client's address.
bool is_somebodys(http::Field const& field) noexcept {
  static constexpr std::array<std::string_view, 6> addresses{"x-real-ip",        "x-client-ip",      "true-client-ip",
                                                             "cf-connecting-ip", "fastly-client-ip", "x-cluster-client-ip"};
  if (field.id == FieldId::authorization || tells_of_the_client(field.id)) return true;
  return field.id == FieldId::other && std::any_of(addresses.begin(), addresses.end(), [&](std::string_view name) {
           return http::equal_ignoring_case(field.name, name);
         });
}

bool passes(http::Field const& field, http::Request const& request, ForwardAs as, config::Policy const& policy,
            bool trusted) {
  if (is_replaced(field.id)) return false;
  // What is keyed is what is forwarded: `Connection` cannot take it away.
  auto const& keyed = policy.key.headers;
  bool const is_keyed = std::any_of(keyed.begin(), keyed.end(),
                                    [&](std::string const& name) { return http::equal_ignoring_case(field.name, name); });
  if (is_hop_by_hop(field, request.fields) && !is_keyed) return false;
  if (policy.forward.mode != config::ForwardMode::all) {
    if (is_poisonous(field.name) && !is_keyed) return false;
    if (tells_of_the_client(field.id) && !trusted) return false;
  }
  if (as == ForwardAs::background && !is_keyed && is_somebodys(field)) return false;
  if (as == ForwardAs::whole) return field.id != FieldId::expect || request.has_body();
  if (field.id == FieldId::expect || field.id == FieldId::cookie || field.id == FieldId::accept_encoding) return false;
  return as == ForwardAs::own || !is_conditional_or_range(field.id);
}

void add_forwarded(http::FieldArena& fields, http::Request const& request, Requester const& requester, bool set) {
  if (!set) return;
  bool const ip = requester.address != "unix";
  bool const v6 = requester.address.find(':') != std::string_view::npos;
  std::string chain;
  if (fields.fields().append_combined(FieldId::x_forwarded_for, chain) && ip) chain += ", ";
  if (ip) chain += requester.address;
  if (!chain.empty()) fields.set(FieldId::x_forwarded_for, chain);
  if (!fields.fields().has(FieldId::x_forwarded_proto)) fields.add(FieldId::x_forwarded_proto, request.scheme);
  if (!fields.fields().has(FieldId::x_forwarded_host) && !request.authority.empty())
    fields.add(FieldId::x_forwarded_host, request.authority);
  std::string element =
      ip ? (v6 ? "for=\"[" + std::string(requester.address) + "]\"" : "for=" + std::string(requester.address))
         : std::string("for=unknown");
  if (!request.authority.empty()) element += ";host=\"" + std::string(request.authority) + '"';
  element += ";proto=" + std::string(request.scheme);
  fields.add(FieldId::forwarded, element);
}

void add_identity(http::FieldArena& fields, http::Request const& request) {
  auto const id = request.fields.only(FieldId::x_request_id);
  fields.add(FieldId::x_request_id, id && is_request_id(*id) ? std::string(*id) : new_request_id());
  auto const parent = request.fields.only(FieldId::traceparent);
  if (!parent || !is_traceparent(*parent)) return;
  fields.add(FieldId::traceparent, *parent);
  std::string state;
  if (request.fields.append_combined(FieldId::tracestate, state) && state.size() <= 512)
    fields.add(FieldId::tracestate, state);
}

}  // namespace

bool is_poisonous(std::string_view name) noexcept {
  if (name.size() < 5 || (name[0] | 0x20) < 'f') return false;
  return std::any_of(poisonous.begin(), poisonous.end(),
                     [&](std::string_view bad) { return http::equal_ignoring_case(name, bad); });
}

bool is_hop_by_hop(http::Field const& field, http::Fields all) noexcept {
  switch (field.id) {
    case FieldId::connection:
    case FieldId::keep_alive:
    case FieldId::proxy_connection:
    case FieldId::proxy_authorization:
    case FieldId::proxy_authenticate:
    case FieldId::te:
    case FieldId::trailer:
    case FieldId::transfer_encoding:
    case FieldId::upgrade:
      return true;
    case FieldId::host:
    case FieldId::content_length:
    case FieldId::authorization:
    case FieldId::cookie:
    case FieldId::cache_control:
    case FieldId::cdn_loop:
    case FieldId::via:
      return false;
    default:
      return all.list_contains(FieldId::connection, field.name);
  }
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
  ForwardRequest forward;
  bool const is_get = as == ForwardAs::canonical || as == ForwardAs::background;
  forward.method = is_get ? std::string_view("GET") : request.method;
  forward.method_id = is_get ? http::Method::get : request.method_id;
  forward.scheme = request.scheme;
  forward.authority = request.authority;
  forward.path = target.path;
  forward.query = target.query;
  forward.has_query = target.has_query;
  if (!origin.host_header.empty())
    forward.host = origin.host_header;
  else
    forward.host = request.authority.empty() ? origin_authority : request.authority;
  if (as == ForwardAs::whole) forward.framing = request.framing;

  auto& fields = forward.fields;
  for (auto const& field : request.fields)
    if (passes(field, request, as, policy, requester.trusted)) fields.add(field.name, field.value);
  if (as != ForwardAs::whole) {
    if (auto const cookies = cache::forwarded_cookies(request.fields, policy.cookies, policy.key.cookies); !cookies.empty())
      fields.add(FieldId::cookie, cookies);
    auto const choice = http::choose_coding(request.fields, policy.key.accept_encoding);
    std::string as_it_came;
    if (choice.identity_forbidden && request.fields.append_combined(FieldId::accept_encoding, as_it_came))
      fields.add(FieldId::accept_encoding, as_it_came);  // not stored (KEY-5): the origin may have what we cannot key
    else
      fields.add(FieldId::accept_encoding, choice.coding);
  }
  bool const for_nobody = as == ForwardAs::background;
  add_forwarded(fields, request, for_nobody ? Requester{"unix", false} : requester,
                policy.forward.mode != config::ForwardMode::all || requester.trusted);
  add_identity(fields, request);
  fields.add(FieldId::cdn_loop, cdn_loop_id);
  fields.add(FieldId::via, request.version == 10 ? "1.0 weir" : "1.1 weir");
  return forward;
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
