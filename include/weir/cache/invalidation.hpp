// SRV-6, RFC 9111 4.4: what a response to an unsafe request makes invalid. Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "weir/http/message.hpp"

namespace weir::cache {

// A 2xx or 3xx final status to an unsafe or unknown method.
bool invalidates(http::Method method, int status) noexcept;

// A same-origin URI that Location or Content-Location names, resolved against the request's URI.
struct UriParts {
  std::string path;
  std::string query;
  bool has_query = false;
};
// At most two; not those of another scheme, host or port.
std::vector<UriParts> invalidated_locations(http::Request const& request, http::Response const& response);

// Whether the response has one Content-Location and it names the request's own URI: a POST's answer may then be stored for
// GET (RFC 9110 9.3.3).
bool content_location_is_target(http::Request const& request, http::Response const& response);

}  // namespace weir::cache
