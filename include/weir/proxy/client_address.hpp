// FWD-1: who the client is, behind proxies that are trusted. Threads: pure.
#pragma once

#include <string_view>
#include <vector>

#include "weir/config/settings.hpp"
#include "weir/http/field.hpp"

namespace weir::proxy {

// `address`: an IP address as text; anything else is in no network.
bool in_networks(std::string_view address, std::vector<config::Network> const& networks) noexcept;

// The peer, or where it is a trusted proxy the last address in X-Forwarded-For that is none of them. The list is read from
// its end, where those whom we trust wrote; it ends at the first word that is no address, and the one behind it counts. A
// view into `request` or `peer`.
std::string_view client_address(http::Fields request, std::string_view peer,
                                std::vector<config::Network> const& trusted_proxies);

}  // namespace weir::proxy
