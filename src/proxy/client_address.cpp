#include "weir/proxy/client_address.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/container/small_vector.hpp>

namespace weir::proxy {
namespace {

namespace ip = boost::asio::ip;

ip::address parse(std::string_view text, boost::system::error_code& error) noexcept {
  char digits[64];
  if (text.empty() || text.size() >= sizeof digits || text.find('%') != std::string_view::npos) {
    error = boost::system::errc::make_error_code(boost::system::errc::invalid_argument);
    return {};
  }
  digits[text.copy(digits, sizeof digits - 1)] = '\0';
  return ip::make_address(digits, error);
}

// Without brackets and port.
std::string_view host_of(std::string_view member) noexcept {
  if (member.starts_with('[')) {
    auto const end = member.find(']');
    return end == std::string_view::npos ? member : member.substr(1, end - 1);
  }
  auto const colon = member.find(':');
  bool const with_port = colon != std::string_view::npos && member.find(':', colon + 1) == std::string_view::npos;
  return with_port ? member.substr(0, colon) : member;
}

}  // namespace

bool in_networks(std::string_view address, std::vector<config::Network> const& networks) noexcept {
  if (networks.empty()) return false;
  boost::system::error_code error;
  auto const parsed = parse(address, error);
  if (error) return false;
  auto const bytes = (parsed.is_v4() ? ip::make_address_v6(ip::v4_mapped, parsed.to_v4()) : parsed.to_v6()).to_bytes();
  for (auto const& network : networks) {
    bool inside = true;
    for (unsigned bit = 0; bit < network.prefix && inside; ++bit)
      inside = ((bytes[bit / 8] ^ network.address[bit / 8]) & (0x80U >> (bit % 8))) == 0;
    if (inside) return true;
  }
  return false;
}

std::string_view client_address(http::Fields request, std::string_view peer,
                                std::vector<config::Network> const& trusted_proxies) {
  if (!in_networks(peer, trusted_proxies)) return peer;
  boost::container::small_vector<std::string_view, 16> chain;
  for (auto const& field : request) {
    if (field.id != http::FieldId::x_forwarded_for) continue;
    http::for_each_member(field.value, [&](std::string_view member) {
      chain.push_back(host_of(member));
      return true;
    });
  }
  auto client = peer;
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    boost::system::error_code error;
    parse(*at, error);
    if (error) break;
    client = *at;
    if (!in_networks(client, trusted_proxies)) break;
  }
  return client;
}

}  // namespace weir::proxy
