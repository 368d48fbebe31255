// The request as the origin gets it (FWD-1, FWD-4 to FWD-6, COA-13): made once from the client's request, owned, because the
// fetch outlives the client. What is keyed is what is forwarded: path and query come from cache::rewrite_target. Threads:
// pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/cache/key.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/config/settings.hpp"
#include "weir/http/message.hpp"

namespace weir::proxy {

enum class ForwardAs : std::uint8_t {
  whole,      // bypassed or unsafe: everything end-to-end as it came
  own,        // cacheable, but a fetch of its own (on a marker, with credentials): method, range and conditionals as they came;
              // coding and cookies as for `canonical`, because its answer may be stored
  canonical,  // the shared fetch: GET without the client's conditionals, range, body and ignored cookies
  background,  // a fetch for nobody (FWD-7): `canonical` without credentials that are not keyed and without the client's
               // address
};

struct ForwardRequest {
  std::string method;
  http::Method method_id = http::Method::get;
  std::string scheme, authority;  // as they are keyed
  std::string path, query;
  bool has_query = false;
  std::string host;         // the Host field that is sent
  http::FieldArena fields;  // everything but Host and framing
  http::Framing framing;    // of the body that will be streamed

  // Start line, fields and blank line. With `basis`, its validators as If-None-Match and If-Modified-Since.
  std::string head(cache::StoredResponse const* basis) const;
};

// What of the connection goes into forwarded fields.
struct Requester {
  std::string_view address;  // text, or "unix"
  bool trusted = false;      // its X-Forwarded-* and Forwarded are believed and extended
};

// The request's fields as the origin gets them: what keys, selectors and look-ups read, so that what is keyed is what is
// forwarded. Replaces `out` with views into the request, the policy and the requester. Cookies stand one a line. Only what is
// composed for each fetch is missing: our `Forwarded` element and the request id of a request without one; an answer that
// varies on them is not stored (KEY-6). `request.authority` is normalised unless `as` is `whole`. False: the client refuses every
// coding that we know, and identity too (KEY-5).
bool forwarded_fields(http::Request const& request, ForwardAs as, config::Policy const& policy, Requester const& requester,
                      std::string_view cdn_loop_id, std::vector<http::Field>& out);

ForwardRequest make_forward(http::Request const& request, cache::ForwardTarget const& target, ForwardAs as,
                            config::Policy const& policy, config::Origin const& origin, std::string_view origin_authority,
                            Requester const& requester, std::string_view cdn_loop_id);

// FWD-2: a cacheable request reaches the origin with what is keyed, allowed, set by the operator and what HTTP needs: the
// coding, X-Forwarded-Proto and -Host (which say what the key says), Via, CDN-Loop and a new request id. Also validators and a
// range where `own` (the answer is then not stored).
bool is_strict(config::Policy const& policy, ForwardAs as) noexcept;
// Whether a strict policy lets a field of this name through on a cacheable request; any other policy does.
bool reaches_origin(config::Policy const& policy, std::string_view name) noexcept;

// RFC 9110 9.3.1: whoever expects no body with this method takes it for the next request, so nothing is to come behind it.
bool seldom_has_body(http::Method method) noexcept;
// X-Real-IP and its kin.
bool is_client_address(std::string_view name) noexcept;
// FWD-1: names that poison caches when they are not keyed; dropped in `guarded`.
bool is_poisonous(std::string_view name) noexcept;
// Hop-by-hop by RFC 9110 7.6.1, or named in Connection; fields that frame or route a message are never taken off by name.
bool is_hop_by_hop(http::Field const& field, http::Fields all) noexcept;
// RFC 9110 7.6.2: how many more servers may be asked, by the Max-Forwards of an OPTIONS; nothing if it does not say so.
std::optional<std::uint64_t> forwards_left(http::Request const& request) noexcept;
// FWD-6.
bool loops(http::Fields request, std::string_view cdn_loop_id) noexcept;

}  // namespace weir::proxy
