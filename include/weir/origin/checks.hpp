// Active checks of an origin's servers (REL-3): each is asked for `health_check.path` at every interval, from the start on,
// and 2xx and 3xx are healthy. Threads: the worker of `io`.
#pragma once

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>

#include "weir/config/settings.hpp"
#include "weir/origin/servers.hpp"

namespace weir::origin {

// Begins them if the settings ask for them, there is more than one server, and nobody has begun them yet. They end with
// `io`, or when nobody else has `servers`. `tls`: for servers that want it.
void start_checks(boost::asio::io_context& io, config::Origin const& settings, std::shared_ptr<Servers> const& servers,
                  std::shared_ptr<boost::asio::ssl::context> const& tls);

}  // namespace weir::origin
