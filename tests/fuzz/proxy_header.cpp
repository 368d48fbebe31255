// The PROXY header: what is said of the whole is said of no part of it too early, and nothing behind it matters.
// links: weir_wire
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/asio/ip/address.hpp>

#include "weir/base/assert.hpp"
#include "weir/wire/proxy_header.hpp"

using weir::wire::ProxyStep;
using weir::wire::read_proxy_header;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  auto const header = read_proxy_header(bytes);
  auto const with_more = read_proxy_header(std::string(bytes) + "\r\nGET / HTTP/1.1\r\n");
  switch (header.step) {
    case ProxyStep::malformed:
      WEIR_ASSERT(with_more.step == ProxyStep::malformed);
      break;
    case ProxyStep::need_more:
      WEIR_ASSERT(size < weir::wire::max_proxy_header);
      break;
    case ProxyStep::ready: {
      WEIR_ASSERT(header.size > 0 && header.size <= size && header.size <= weir::wire::max_proxy_header);
      WEIR_ASSERT(with_more.size == header.size && with_more.address == header.address);
      WEIR_ASSERT(read_proxy_header(bytes.substr(0, header.size - 1)).step == ProxyStep::need_more);
      boost::system::error_code error;
      if (!header.address.empty()) boost::asio::ip::make_address(header.address, error);
      WEIR_ASSERT(!error);
    }
  }
  return 0;
}
