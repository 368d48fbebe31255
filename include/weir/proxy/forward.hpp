// The request as the origin gets it (FWD-1, FWD-4 to FWD-6, COA-13): made once from the client's request, owned, because the
// fetch outlives the client. What is keyed is what is forwarded: path and query come from cache::rewrite_target. Threads:
// pure.
#pragma once

#include <string>
#include <string_view>

#include "weir/cache/key.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/config/settings.hpp"
#include "weir/http/message.hpp"

namespace weir::proxy {

enum class ForwardAs : std::uint8_t {
  whole,  // bypassed or unsafe: everything end-to-end as it came
  own,    // cacheable, but a fetch of its own (on a marker, with credentials): method, range and conditionals as they came;
          // coding and cookies as for `canonical`, because its answer may be stored
  background,  // FWD-7: as `canonical`, without credentials and without the address of whoever triggered it
  canonical,   // the shared fetch: GET without the client's conditionals, range, body and ignored cookies
};

struct ForwardRequest {
  std::string method;
  http::Method method_id = http::Method::get;
  std::string scheme, authority;  // as the client asked
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

ForwardRequest make_forward(http::Request const& request, cache::ForwardTarget const& target, ForwardAs as,
                            config::Policy const& policy, config::Origin const& origin, std::string_view origin_authority,
                            Requester const& requester, std::string_view cdn_loop_id);

// FWD-1: names that poison caches when they are not keyed; dropped in `guarded`.
bool is_poisonous(std::string_view name) noexcept;
// Hop-by-hop by RFC 9110 7.6.1, or named in Connection; fields that frame or route a message are never taken off by name.
bool is_hop_by_hop(http::Field const& field, http::Fields all) noexcept;
// FWD-6.
bool loops(http::Fields request, std::string_view cdn_loop_id) noexcept;

}  // namespace weir::proxy
