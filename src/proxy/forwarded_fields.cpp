// FWD-1 to FWD-3, FWD-5, FWD-7: which fields of a request its origin gets.
#include <algorithm>
#include <array>
#include <string>

#include "weir/base/thread_room.hpp"
#include "weir/cache/cookies.hpp"
#include "weir/http/accept.hpp"
#include "weir/proxy/edits.hpp"
#include "weir/proxy/forward.hpp"

namespace weir::proxy {
namespace {

using http::FieldId;

constexpr std::array<std::string_view, 36> poisonous{"x-original-url",
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
                                                     "x-real-host",
                                                     "x-forward-host",
                                                     "x-forward-proto",
                                                     "x-original-path",
                                                     "x-http-path-override",
                                                     "x-http-status-code-override",
                                                     "x-invoke-path",
                                                     "x-invoke-query",
                                                     "x-invoke-status",
                                                     "proxy"};

constexpr std::size_t longest_tracestate = 512;

// Who the client is, in its own words: dropped unless it is trusted, and never part of a fetch for nobody (FWD-7).
constexpr std::array<std::string_view, 19> client_addresses{"x-real-ip",          "x-client-ip",
                                                            "true-client-ip",     "cf-connecting-ip",
                                                            "cf-connecting-ipv6", "x-cluster-client-ip",
                                                            "fastly-client-ip",   "fly-client-ip",
                                                            "client-ip",          "proxy-client-ip",
                                                            "wl-proxy-client-ip", "do-connecting-ip",
                                                            "x-remote-addr",      "x-remote-ip",
                                                            "x-originating-ip",   "x-original-forwarded-for",
                                                            "x-azure-clientip",   "x-envoy-external-address",
                                                            "forwarded-for"};

// On the path of a hit: most names are none of ours after their first letter.
bool begins_with_one_of(std::string_view letters, std::string_view name) noexcept {
  return !name.empty() && letters.find(http::to_lower(name.front())) != std::string_view::npos;
}

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

bool names(std::vector<std::string> const& list, std::string_view name) noexcept {
  return std::any_of(list.begin(), list.end(), [&](auto const& one) { return http::equal_ignoring_case(one, name); });
}

// A proxy's word on what it was asked, whatever its last part.
bool is_proxys_word(std::string_view name) noexcept {
  static constexpr std::string_view prefix = "x-forwarded-";
  return name.size() > prefix.size() && http::equal_ignoring_case(name.substr(0, prefix.size()), prefix);
}

bool tells_of_the_client(http::Field const& field) noexcept {
  if (field.id == FieldId::other) return is_client_address(field.name) || is_proxys_word(field.name);
  return field.id == FieldId::forwarded || field.id == FieldId::x_forwarded_for || field.id == FieldId::x_forwarded_proto ||
         field.id == FieldId::x_forwarded_host;
}

// RFC 9110 7.6.1, whatever Connection names.
bool is_of_connection(FieldId id) noexcept {
  switch (id) {
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
    default:
      return false;
  }
}

// Made anew by whoever sends the request, or by `Sight` below.
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

// Whether a Connection field names more than "keep-alive" and "close".
bool connection_names_fields(http::Fields request) noexcept {
  for (auto const& field : request) {
    if (field.id != FieldId::connection) continue;
    bool const plain = field.value.empty() || http::equal_ignoring_case(field.value, "keep-alive") ||
                       http::equal_ignoring_case(field.value, "close");
    if (!plain) return true;
  }
  return false;
}

class Sight {
 public:
  Sight(http::Request const& request, ForwardAs as, config::Policy const& policy, Requester const& requester,
        std::vector<http::Field>& out) noexcept
      : request_(request),
        policy_(policy),
        requester_(requester),
        out_(out),
        as_(as),
        strict_(is_strict(policy, as)),
        connection_names_(connection_names_fields(request.fields)) {}

  // False: no coding that we know is good enough for the client.
  bool fill(std::string_view cdn_loop_id) {
    out_.clear();
    out_.reserve(request_.fields.size() + 8);
    for (auto const& field : request_.fields) {
      bool const says_nothing = field.id == FieldId::x_forwarded_for && field.value.empty();
      if (passes(field) && !says_nothing) out_.push_back(field);
    }
    bool coded = true;
    if (as_ != ForwardAs::whole) {
      add_cookies();
      coded = add_coding();
      add_languages();
    }
    add_where();
    add_identity();
    out_.push_back({FieldId::cdn_loop, "CDN-Loop", cdn_loop_id});
    // A shared fetch stands for clients of every version, so it says nothing of the one that led it.
    bool const of_one = as_ == ForwardAs::whole;
    out_.push_back({FieldId::via, "Via", of_one && request_.version == 10 ? "1.0 weir" : "1.1 weir"});
    return coded;
  }

 private:
  // What is keyed is what is forwarded: nothing takes it away. What the operator sets is the same for everyone.
  bool is_keyed(std::string_view name) const noexcept {
    return names(policy_.key.headers, name) || is_set_by(policy_.headers.request, name);
  }
  bool is_let_through(std::string_view name) const noexcept { return is_keyed(name) || names(policy_.forward.allow, name); }

  bool passes(http::Field const& field) const {
    if (is_replaced(field.id) || stands_for_another(field)) return false;
    if (is_dropped_here(field) && !is_keyed(field.name)) return false;
    if (policy_.forward.mode != config::ForwardMode::all) {
      bool const believed = requester_.trusted && (as_ != ForwardAs::background || is_keyed(field.name));
      if (tells_of_the_client(field) && !believed && !is_set_by(policy_.headers.request, field.name)) return false;
      if (strict_ && !is_let_through(field.name) && !is_of_keyed_body(field.id))
        return as_ == ForwardAs::own && is_conditional_or_range(field.id);
      if (field.id == FieldId::other && is_poisonous(field.name) && !is_let_through(field.name)) return false;
    }
    return passes_as(field);
  }

  // CGI and all that came after it take `X_Forwarded_Host` for X-Forwarded-Host: a spelling with `_` does not bring what the
  // one with `-` may not, nor what is keyed or framed by it.
  bool stands_for_another(http::Field const& field) const {
    if (field.id != FieldId::other || field.name.find('_') == std::string_view::npos || is_let_through(field.name))
      return false;
    auto& dashed = base::thread_room().dashed_name;
    dashed = field.name;
    std::ranges::replace(dashed, '_', '-');
    auto const id = http::field_id(dashed);
    if (is_replaced(id) || is_of_connection(id) || names(policy_.key.headers, dashed)) return true;
    if (policy_.forward.mode == config::ForwardMode::all) return false;
    return id != FieldId::other || tells_of_the_client({id, dashed, {}}) || is_poisonous(dashed);
  }

  // COA-12: keyed with the body's digest.
  bool is_of_keyed_body(FieldId id) const noexcept {
    return request_.has_body() && (id == FieldId::content_type || id == FieldId::content_encoding);
  }

  bool is_dropped_here(http::Field const& field) const noexcept {
    return connection_names_ ? is_hop_by_hop(field, request_.fields) : is_of_connection(field.id);
  }

  bool passes_as(http::Field const& field) const noexcept {
    switch (as_) {
      case ForwardAs::whole:
        // RFC 9110 10.1.1: of an HTTP/1.0 client it is ignored.
        return field.id != FieldId::expect || (request_.has_body() && request_.version != 10);
      case ForwardAs::background:
        if (field.id == FieldId::authorization && !is_keyed(field.name)) return false;
        [[fallthrough]];
      case ForwardAs::canonical:
        if (is_conditional_or_range(field.id)) return false;
        [[fallthrough]];
      case ForwardAs::own:
        break;
    }
    switch (field.id) {  // added below, as they are keyed
      case FieldId::accept_language:
        return policy_.key.languages.empty();
      case FieldId::cookie:
      case FieldId::accept_encoding:
      case FieldId::expect:
        return false;
      default:
        return true;
    }
  }

  // In strict mode the keyed ones in the order of the key, then those that are allowed: the order says nothing then (FWD-2).
  void add_cookies() {
    bool const in_order = strict_ && !is_keyed("cookie");
    auto const is_named = [&](cache::Cookie const& cookie) {
      return std::ranges::find(policy_.key.cookies, cookie.name) != policy_.key.cookies.end();
    };
    if (in_order)
      for (auto const& name : policy_.key.cookies)
        add_cookies_if([&](cache::Cookie const& cookie) { return cookie.name == name; });
    add_cookies_if([&](cache::Cookie const& cookie) { return !in_order || !is_named(cookie); });
  }

  template <class Wanted>
  void add_cookies_if(Wanted const& wanted) {
    cache::for_each_cookie(request_.fields, [&](cache::Cookie const& cookie) {
      auto const use = cache::use_of(cookie, policy_.key, policy_.cookies);
      bool const goes =
          use == cache::CookieUse::keyed || (use == cache::CookieUse::credential && as_ != ForwardAs::background);
      if (goes && wanted(cookie)) out_.push_back({FieldId::cookie, "Cookie", cookie.text});
      return true;
    });
  }

  bool add_coding() {
    auto const choice = http::choose_coding(request_.fields, policy_.key.accept_encoding);
    if (!choice.identity_forbidden) {
      out_.push_back({FieldId::accept_encoding, "Accept-Encoding", choice.coding});
      return true;
    }
    // Not stored (KEY-5): the origin may have what we cannot key.
    for (auto const& field : request_.fields)
      if (field.id == FieldId::accept_encoding) out_.push_back(field);
    return false;
  }

  // KEY-5: the origin chooses from what is keyed, not from what else the client would take.
  void add_languages() {
    if (policy_.key.languages.empty() || !request_.fields.has(FieldId::accept_language)) return;
    if (strict_ && !is_let_through("accept-language")) return;
    auto& combined = base::thread_room().combined_field;
    combined.clear();
    request_.fields.append_combined(FieldId::accept_language, combined);
    auto const language = http::choose_language(combined, policy_.key.languages);
    if (!language.empty()) out_.push_back({FieldId::accept_language, "Accept-Language", language});
  }

  // Where the request came from and went to, as far as views can say it; `Forwarded` is composed for each fetch.
  void add_where() {
    bool const keep = policy_.forward.mode == config::ForwardMode::all && !requester_.trusted;
    if (keep) return;
    auto const has = [&](FieldId id) { return http::Fields(out_).has(id); };
    bool const for_somebody = as_ != ForwardAs::background || is_keyed("x-forwarded-for");
    bool const with_address =
        for_somebody && requester_.address != "unix" && (!strict_ || is_let_through("x-forwarded-for"));
    if (with_address) out_.push_back({FieldId::x_forwarded_for, "X-Forwarded-For", requester_.address});
    if (!has(FieldId::x_forwarded_proto)) out_.push_back({FieldId::x_forwarded_proto, "X-Forwarded-Proto", request_.scheme});
    if (!has(FieldId::x_forwarded_host) && !request_.authority.empty())
      out_.push_back({FieldId::x_forwarded_host, "X-Forwarded-Host", request_.authority});
  }

  // FWD-5. An id is made for each fetch that has none.
  void add_identity() {
    auto const& fields = request_.fields;
    auto const may = [&](std::string_view name) { return !strict_ || is_let_through(name); };
    auto const id = fields.only(FieldId::x_request_id);
    if (id && is_request_id(*id) && may("x-request-id")) out_.push_back({FieldId::x_request_id, "X-Request-Id", *id});
    auto const parent = fields.only(FieldId::traceparent);
    if (!parent || !is_traceparent(*parent) || !may("traceparent")) return;
    out_.push_back({FieldId::traceparent, "traceparent", *parent});
    std::size_t size = 0;
    for (auto const& field : fields)
      if (field.id == FieldId::tracestate) size += field.value.size() + 2;
    if (size > longest_tracestate || !may("tracestate")) return;
    for (auto const& field : fields)
      if (field.id == FieldId::tracestate && !field.value.empty())
        out_.push_back({FieldId::tracestate, "tracestate", field.value});
  }

  http::Request const& request_;
  config::Policy const& policy_;
  Requester const& requester_;
  std::vector<http::Field>& out_;
  ForwardAs as_;
  bool strict_;
  bool connection_names_;
};

}  // namespace

bool is_poisonous(std::string_view name) noexcept {
  if (!begins_with_one_of("xfp", name)) return false;
  return std::any_of(poisonous.begin(), poisonous.end(),
                     [&](std::string_view bad) { return http::equal_ignoring_case(name, bad); });
}

bool is_hop_by_hop(http::Field const& field, http::Fields all) noexcept {
  switch (field.id) {  // these frame or route a message: no client takes them off
    case FieldId::host:
    case FieldId::content_length:
    case FieldId::authorization:
    case FieldId::cookie:
    case FieldId::cache_control:
    case FieldId::cdn_loop:
    case FieldId::via:
      return false;
    default:
      return is_of_connection(field.id) || all.list_contains(FieldId::connection, field.name);
  }
}

bool is_client_address(std::string_view name) noexcept {
  if (!begins_with_one_of("xtcfpwd", name)) return false;
  return std::any_of(client_addresses.begin(), client_addresses.end(),
                     [&](std::string_view known) { return http::equal_ignoring_case(name, known); });
}

bool is_strict(config::Policy const& policy, ForwardAs as) noexcept {
  return policy.forward.mode == config::ForwardMode::strict && as != ForwardAs::whole;
}

bool reaches_origin(config::Policy const& policy, std::string_view name) noexcept {
  if (policy.forward.mode != config::ForwardMode::strict) return true;
  return names(policy.key.headers, name) || names(policy.forward.allow, name) || is_set_by(policy.headers.request, name);
}

bool forwarded_fields(http::Request const& request, ForwardAs as, config::Policy const& policy, Requester const& requester,
                      std::string_view cdn_loop_id, std::vector<http::Field>& out) {
  return Sight(request, as, policy, requester, out).fill(cdn_loop_id);
}

}  // namespace weir::proxy
