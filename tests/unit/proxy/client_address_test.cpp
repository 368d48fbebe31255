// FWD-1: who the client is behind trusted proxies.
#include <gtest/gtest.h>

#include "weir/config/load.hpp"
#include "weir/proxy/client_address.hpp"

namespace weir::proxy::test {
namespace {

struct Row {
  char const* peer;
  std::vector<std::string_view> forwarded_for;
  char const* client;
};

// FWD-1
TEST(ClientAddress, IsTheLastThatNobodyTrusts) {
  std::vector<config::Network> const trusted{*config::parse_network("10.0.0.0/8"), *config::parse_network("fd00::/8"),
                                             *config::parse_network("192.0.2.1")};
  for (auto const& row : std::vector<Row>{
           {"198.51.100.1", {}, "198.51.100.1"},
           {"198.51.100.1", {"203.0.113.5"}, "198.51.100.1"},  // a stranger is not believed
           {"10.0.0.1", {}, "10.0.0.1"},
           {"10.0.0.1", {"203.0.113.5"}, "203.0.113.5"},
           {"10.0.0.1", {"6.6.6.6, 203.0.113.5"}, "203.0.113.5"},
           {"10.0.0.1", {"6.6.6.6", "203.0.113.5, 10.2.3.4"}, "203.0.113.5"},
           {"10.0.0.1", {"203.0.113.5, 192.0.2.1", "fd00::9"}, "203.0.113.5"},
           {"10.0.0.1", {"10.0.0.9, 10.0.0.8"}, "10.0.0.9"},
           {"10.0.0.1", {"203.0.113.5:4711"}, "203.0.113.5"},
           {"10.0.0.1", {"[2001:db8::1]:4711"}, "2001:db8::1"},
           {"10.0.0.1", {"2001:db8::1"}, "2001:db8::1"},
           {"10.0.0.1", {"6.6.6.6, evil, 10.0.0.7"}, "10.0.0.7"},  // what is behind it was written by whom we trust
           {"10.0.0.1", {"unknown"}, "10.0.0.1"},
           {"10.0.0.1", {"6.6.6.6, \"203.0.113.5, x\""}, "10.0.0.1"},
           {"fd00::1", {"203.0.113.5"}, "203.0.113.5"},
           {"unix", {"203.0.113.5"}, "unix"},
       }) {
    std::vector<http::Field> fields;
    for (auto const value : row.forwarded_for) fields.push_back({http::FieldId::x_forwarded_for, "X-Forwarded-For", value});
    EXPECT_EQ(client_address(fields, row.peer, trusted), row.client);
  }
}

// FWD-1
TEST(ClientAddress, Networks) {
  std::vector<config::Network> const networks{*config::parse_network("10.1.0.0/16"), *config::parse_network("::1")};
  for (char const* inside : {"10.1.0.0", "10.1.255.255", "::1", "::ffff:10.1.2.3"})
    EXPECT_TRUE(in_networks(inside, networks));
  for (char const* outside : {"10.2.0.0", "::2", "", "unix", "10.1.0.0/16", "010.1.0.1", "fe80::1%eth0"})
    EXPECT_FALSE(in_networks(outside, networks)) << outside;
}

}  // namespace
}  // namespace weir::proxy::test
