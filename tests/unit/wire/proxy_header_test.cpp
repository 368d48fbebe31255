// SPEC section 12 (`proxy_protocol`), REQ-3: whose connection it is, as the proxy's header tells.
#include "weir/wire/proxy_header.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::wire {
namespace {

using namespace std::string_literals;

struct Row {
  char const* name;
  std::string bytes;
  ProxyStep step = ProxyStep::malformed;
  std::string address{};
  std::string rest{};  // of `bytes`, behind a header
};

constexpr auto ready = ProxyStep::ready, more = ProxyStep::need_more, bad = ProxyStep::malformed;

std::string const signature = "\r\n\r\n\0\r\nQUIT\n"s;

std::string binary(char version_and_command, char family, std::string const& payload) {
  auto const size = payload.size();
  return signature + version_and_command + family + static_cast<char>(size >> 8) + static_cast<char>(size & 0xff) + payload;
}
std::string const v4 = "\xc0\x00\x02\x07\x0a\x00\x00\x01\x30\x39\x00\x50"s;
std::string const v6 = "\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07"s + std::string(16, '\1') + "\x30\x39\x00\x50"s;
std::string const mapped = std::string(10, '\0') + "\xff\xff\xc0\x00\x02\x07"s + std::string(16, '\1') + "\x30\x39\x00\x50"s;

std::vector<Row> rows() {
  auto const line = [](std::string const& text) { return text + "\r\n"; };
  return {
      {"nothing", "", more},
      {"half_a_word", "PRO", more},
      {"another_word", "PROXX", bad},
      {"a_request", "GET / HTTP/1.1\r\n", bad},
      {"a_handshake", "\x16\x03\x01"s, bad},
      {"a_line_that_goes_on", "PROXY TCP4 192.0.2.7", more},
      {"without_its_end", "PROXY TCP4 192.0.2.7 10.0.0.1 12345 80\r", more},
      {"tcp4", line("PROXY TCP4 192.0.2.7 10.0.0.1 12345 80") + "GET /", ready, "192.0.2.7", "GET /"},
      {"tcp6", line("PROXY TCP6 2001:DB8::7 ::1 1 65535"), ready, "2001:db8::7"},
      {"tcp6_that_is_ipv4", line("PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2"), ready, "192.0.2.7"},
      {"unknown", line("PROXY UNKNOWN"), ready},
      {"unknown_with_words", line("PROXY UNKNOWN ffff:f...f:ffff 1 2 3") + "x", ready, "", "x"},
      {"longest", line("PROXY UNKNOWN " + std::string(91, 'x')), ready},
      {"too_long", line("PROXY UNKNOWN " + std::string(92, 'x')), bad},
      {"endless", "PROXY UNKNOWN " + std::string(93, 'x'), bad},
      {"bare_lf", "PROXY TCP4 192.0.2.7 10.0.0.1 12345 80\n", bad},
      {"lower_case", "proxy TCP4 192.0.2.7 10.0.0.1 12345 80\r\n", bad},
      {"no_family", line("PROXY "), bad},
      {"other_family", line("PROXY UDP4 192.0.2.7 10.0.0.1 12345 80"), bad},
      {"wrong_family", line("PROXY TCP4 2001:db8::7 ::1 1 2"), bad},
      {"wrong_family_6", line("PROXY TCP6 192.0.2.7 10.0.0.1 1 2"), bad},
      {"a_name", line("PROXY TCP4 localhost 10.0.0.1 1 2"), bad},
      {"a_zone", line("PROXY TCP6 fe80::1%eth0 ::1 1 2"), bad},
      {"bad_destination", line("PROXY TCP4 192.0.2.7 10.0.0 1 2"), bad},
      {"one_port", line("PROXY TCP4 192.0.2.7 10.0.0.1 12345"), bad},
      {"three_ports", line("PROXY TCP4 192.0.2.7 10.0.0.1 1 2 3"), bad},
      {"two_spaces", line("PROXY TCP4 192.0.2.7  10.0.0.1 1 2"), bad},
      {"port_too_large", line("PROXY TCP4 192.0.2.7 10.0.0.1 65536 80"), bad},
      {"port_with_zero", line("PROXY TCP4 192.0.2.7 10.0.0.1 012 80"), bad},
      {"port_negative", line("PROXY TCP4 192.0.2.7 10.0.0.1 -1 80"), bad},
      {"nul_in_address", "PROXY TCP4 192.0.2.7\0 10.0.0.1 1 2\r\n"s, bad},

      {"half_a_signature", signature.substr(0, 5), more},
      {"broken_signature", "\r\n\r\n\0\r\nQUIX"s, bad},
      {"signature_alone", signature, more},
      {"v2_tcp4", binary(0x21, 0x11, v4) + "GET /", ready, "192.0.2.7", "GET /"},
      {"v2_tcp4_with_more", binary(0x21, 0x11, v4 + "\x04\x00\x01x"s), ready, "192.0.2.7"},
      {"v2_tcp4_part", binary(0x21, 0x11, v4).substr(0, 20), more},
      {"v2_tcp4_short", binary(0x21, 0x11, v4.substr(1)), bad},
      {"v2_tcp6", binary(0x21, 0x21, v6), ready, "2001:db8::7"},
      {"v2_tcp6_that_is_ipv4", binary(0x21, 0x21, mapped), ready, "192.0.2.7"},
      {"v2_tcp6_short", binary(0x21, 0x21, v4), bad},
      {"v2_unix", binary(0x21, 0x31, std::string(216, 'u')), ready},
      {"v2_unix_short", binary(0x21, 0x31, std::string(215, 'u')), bad},
      {"v2_local", binary(0x20, 0x00, ""), ready},
      {"v2_local_with_addresses", binary(0x20, 0x11, v4) + "x", ready, "", "x"},
      {"v2_unspecified", binary(0x21, 0x00, "abc"), ready},
      {"v2_datagrams", binary(0x21, 0x12, v4), bad},
      {"v2_family_unheard_of", binary(0x21, 0x41, v4), bad},
      {"v2_command_unheard_of", binary(0x22, 0x11, v4), bad},
      {"v1_in_binary", binary(0x11, 0x11, v4), bad},
      {"v3", binary(0x31, 0x11, v4), bad},
      {"v2_longest", binary(0x21, 0x11, v4 + std::string(max_proxy_header - 28, 't')), ready, "192.0.2.7"},
      {"v2_too_long", signature + "\x21\x11\x0f\xf1"s, bad},  // said before it is sent
  };
}

TEST(ProxyHeader, IsReadAsItsRowsSay) {
  for (auto const& row : rows()) {
    SCOPED_TRACE(row.name);
    auto const header = read_proxy_header(row.bytes);
    EXPECT_EQ(static_cast<int>(header.step), static_cast<int>(row.step));
    if (header.step != ready) continue;
    EXPECT_EQ(header.address, row.address);
    EXPECT_EQ(row.bytes.substr(header.size), row.rest);
    EXPECT_EQ(header.own, std::string_view(row.name).starts_with("v2_local"));
  }
}

// However the bytes arrive, nothing is decided too early and nothing is taken that is not the header's.
TEST(ProxyHeader, MeansTheSameInPieces) {
  for (auto const& row : rows()) {
    if (row.step != ready) continue;
    SCOPED_TRACE(row.name);
    auto const size = row.bytes.size() - row.rest.size();
    for (std::size_t part = 0; part < size; ++part)
      ASSERT_EQ(static_cast<int>(read_proxy_header(row.bytes.substr(0, part)).step), static_cast<int>(more)) << part;
    EXPECT_EQ(read_proxy_header(row.bytes.substr(0, size)).size, size);
  }
}

}  // namespace
}  // namespace weir::wire
