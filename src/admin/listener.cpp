#include "listener.hpp"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

namespace weir::admin {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

using MaybeAddress = boost::system::result<Address, StartError>;

MaybeAddress bad_address(std::string_view setting, std::string_view text, std::string_view why) {
  StartError error{StartFault::bad_address, std::string(setting) + ": `" + std::string(text) + "` " + std::string(why)};
  return MaybeAddress(boost::system::in_place_error, std::move(error));
}

std::string_view without_brackets(std::string_view host) noexcept {
  bool const bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

bool is_loopback(asio::ip::address const& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback();
  }
  return address.is_loopback();
}

// A socket file whose listener is gone. Anything else at the path is left alone.
bool is_abandoned_socket(asio::io_context& context, Address const& address) {
  struct stat file {};
  if (::lstat(address.unix_path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  Protocol::socket probe(context);
  error_code error;
  probe.connect(address.endpoint, error);
  return error == asio::error::connection_refused;
}

error_code bind_to(asio::io_context& context, Acceptor& acceptor, Address const& address) {
  error_code error;
  acceptor.bind(address.endpoint, error);
  if (error != asio::error::address_in_use || address.unix_path.empty()) return error;
  if (!is_abandoned_socket(context, address)) return error;
  ::unlink(address.unix_path.c_str());  // if that fails, so does the next line, with the same word
  acceptor.bind(address.endpoint, error);
  return error;
}

}  // namespace

boost::system::result<Address, StartError> parse_address(std::string_view setting, std::string_view text) {
  constexpr std::string_view unix_prefix = "unix:";
  if (text.starts_with(unix_prefix)) {
    std::string path(text.substr(unix_prefix.size()));
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
      return bad_address(setting, text, "names no path that a unix socket can have");
    }
    asio::local::stream_protocol::endpoint const endpoint(path);
    return Address{Protocol::endpoint(endpoint), true, std::move(path)};
  }
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(setting, text, "has no port");
  auto const port_text = text.substr(colon + 1);
  std::uint16_t port = 0;
  auto const [end, port_error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (port_error != std::errc() || end != port_text.data() + port_text.size()) {
    return bad_address(setting, text, "has no port from 0 to 65535");
  }
  auto const host = without_brackets(text.substr(0, colon));
  error_code error;
  auto const ip = asio::ip::make_address(host == "localhost" ? std::string("127.0.0.1") : std::string(host), error);
  if (error) return bad_address(setting, text, "is neither an IP address with a port nor a unix socket");
  return Address{Protocol::endpoint(asio::ip::tcp::endpoint(ip, port)), is_loopback(ip), {}};
}

boost::system::result<Acceptor, StartError> listen_on(asio::io_context& context, std::string_view setting,
                                                      Address const& address) {
  Acceptor acceptor(context);
  error_code error;
  acceptor.open(address.endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  // Linux gives the socket's file the mode of the socket, less the umask: set before binding, it is never open to more.
  if (!error && !address.unix_path.empty() && ::fchmod(acceptor.native_handle(), 0660) != 0) {
    error.assign(errno, boost::system::system_category());
  }
  if (!error) error = bind_to(context, acceptor, address);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return StartError{StartFault::cannot_listen, std::string(setting) + ": cannot listen: " + error.message()};
  return acceptor;
}

}  // namespace weir::admin
