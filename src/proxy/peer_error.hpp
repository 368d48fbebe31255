// What a failed write to the origin says about where its reason lies.
#pragma once

#include <boost/asio/error.hpp>

#include "weir/wire/stream.hpp"

namespace weir::proxy {

// The origin stopped reading: it may have answered before, which whoever reads will see. After any other error the origin
// would wait for the rest of a request, and we for its answer.
inline bool is_peers_doing(wire::error_code const& error) noexcept {
  return error == asio::error::broken_pipe || error == asio::error::connection_reset;
}

}  // namespace weir::proxy
