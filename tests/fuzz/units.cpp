// links: weir_origin
// Durations, sizes, numbers, networks, origins' addresses and names in a query: what is read is written so that it reads as
// the same, and lies within what arithmetic can bear (LCY-1).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../../src/config/units.hpp"
#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/http/target.hpp"
#include "weir/origin/address.hpp"

using namespace weir;
using namespace weir::fuzz;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = text_of(data, size);
  if (auto const duration = config::parse_duration(text)) {
    WEIR_ASSERT(*duration >= base::Duration::zero() && *duration <= std::chrono::hours(24) * 36'500);
    WEIR_ASSERT(config::parse_duration(config::format_duration(*duration)) == duration);
  }
  if (auto const bytes = config::parse_size(text)) {
    WEIR_ASSERT(*bytes <= INT64_MAX && config::parse_size(config::format_size(*bytes)) == bytes);
  }
  if (auto const number = config::parse_number(text)) WEIR_ASSERT(std::to_string(*number) == text);
  if (auto const network = config::parse_network(text)) {
    WEIR_ASSERT(network->prefix <= 128);
    auto const again = config::parse_network(config::format_network(*network));
    WEIR_ASSERT(again && again->address == network->address && again->prefix == network->prefix);
  }
  if (auto const address = origin::parse_address(text)) {
    WEIR_ASSERT(address->unix_path.empty() != address->host.empty() && !address->authority.empty());
    if (!address->unix_path.empty()) return 0;
    WEIR_ASSERT(http::is_host(address->authority) && std::stoul(address->port) <= 65'535);
    auto const again = origin::parse_address((address->tls ? "https://" : "http://") + address->authority);
    WEIR_ASSERT(again && again->host == address->host && again->port == address->port && again->tls == address->tls);
  }
  return 0;
}
