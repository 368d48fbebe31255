// One call to the admin listener of a running Weir, as the sub-commands make it (LCY-1). Blocks, on an io_context of its
// own; starts no thread but the resolver's, for an address with a name. Threads: the caller's.
#pragma once

#include <string>

#include <boost/system/result.hpp>

#include "weir/base/clock.hpp"

namespace weir::admin {

struct Order {
  std::string address = "127.0.0.1:9640";  // or "[::1]:9640", "host:9640", "unix:/run/weir/admin.sock"
  std::string token;                       // empty: none
  std::string method = "GET";
  std::string target;                                  // "/v1/stats"
  std::string body;                                    // JSON; empty: none
  base::Duration patience = std::chrono::seconds(30);  // for all of it
};

struct Reply {
  int status = 0;
  std::string body;
};

// At most 64 MiB of answer. The error is a sentence that names the address.
boost::system::result<Reply, std::string> call(Order const& order);

// For a query: everything but letters, digits and "-._~" becomes %XX.
std::string escaped(std::string_view text);

}  // namespace weir::admin
