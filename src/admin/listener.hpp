// One address of the admin listener, opened. For server.cpp.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/result.hpp>

#include "weir/admin/server.hpp"

namespace weir::admin {

using Protocol = boost::asio::generic::stream_protocol;
using Acceptor = boost::asio::basic_socket_acceptor<Protocol>;

struct Address {
  Protocol::endpoint endpoint;
  bool local = false;  // loopback or a unix socket: whoever reaches it is on this machine
  std::string unix_path;
};

// "127.0.0.1:9640", "[::1]:9640", "localhost:9640" or "unix:/run/weir/admin.sock". No names are resolved.
boost::system::result<Address, StartError> parse_address(std::string_view setting, std::string_view text);
// A unix socket that nobody listens on any more is replaced; it gets mode 0660.
boost::system::result<Acceptor, StartError> listen_on(boost::asio::io_context& context, std::string_view setting,
                                                      Address const& address);

}  // namespace weir::admin
