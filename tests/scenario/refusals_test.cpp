// Section 2: what Weir refuses before anything is looked up, what it lets through byte for byte, and what a client can cost.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <map>

#include "scenario/malformed.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using wire::Refusal;

void expect_all_refused(std::vector<Malformed> const& rows) {
  ScriptedOrigin origin;
  Weir weir(origin);
  std::map<Refusal, std::uint64_t> counted;
  for (auto const& row : rows) {
    SCOPED_TRACE(testing::PrintToString(row.bytes.substr(0, 80)));
    Client client(weir.port());
    client.send(row.bytes);
    auto const response = client.read();
    EXPECT_EQ(response.status, row.status);
    EXPECT_EQ(response.value("Connection"), "close");
    EXPECT_FALSE(response.value("Proxy-Status").empty());
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_EQ(weir.refusals(row.refusal), ++counted[row.refusal]);
  }
  EXPECT_EQ(weir.outcome(observe::Outcome::refused), rows.size());
  EXPECT_EQ(origin.connections(), 0U);
}

// REQ-1
TEST(Refusals, BadRequestLinesAreRefused) { expect_all_refused(bad_lines_and_targets()); }

// REQ-1, REQ-3
TEST(Refusals, BadFieldsAreRefused) { expect_all_refused(bad_fields()); }

// REQ-1
TEST(Refusals, BadFramingsAreRefused) { expect_all_refused(bad_framings()); }

// REQ-1: the table is no smaller than it was.
TEST(Refusals, TheTablesAreLarge) {
  EXPECT_GE(bad_lines_and_targets().size() + bad_fields().size() + bad_framings().size(), 110U);
}

// REQ-1: good requests before the bad one get their answers; what stands behind it is never looked at.
TEST(Refusals, MalformedInAPipelineEndsItThere) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.target); });
  Weir weir(origin);
  Client client(weir.port());
  client.send(write_request("GET", "/1") + with("X : y") + write_request("GET", "/2"));
  EXPECT_EQ(client.read().body, "/1");
  EXPECT_EQ(client.read().status, 400);
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_EQ(origin.calls(), 1U);
}

// REQ-1: what a client sends behind a refusal cannot take the answer away.
TEST(Refusals, RefusalIsReadThroughWhatStillComes) {
  ScriptedOrigin origin;
  Weir weir(origin);
  Client client(weir.port());
  client.send(with("Content-Length: 67108865") + std::string(200'000, 'x'));
  auto const response = client.read();
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.end, End::whole);
  EXPECT_EQ(origin.connections(), 0U);
}

// REQ-1, FWD-1
TEST(Refusals, WhatRealSitesSendPassesByteForByte) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.target + "|" + request.value("X")); });
  Weir weir(origin);
  std::string all;
  for (char c = 0x21; c < 0x7F; ++c)
    if (c != '#' && c != '%' && c != '?') all += c;
  std::string const high = "\x80\xc3\xa9\xff a\tb";
  for (auto const& wanted : std::vector<std::string>{"/" + all, "/?" + all + "?%", "/x?%zz%00%", "/a/../b/./c//d",
                                                     "/%2e%2E/%41", "//x", "/?", "/"}) {
    Client client(weir.port());
    auto const response = client.get(wanted, {{"Host", "my_site.test"}, {"X", high}});
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, wanted + "|" + high);
    EXPECT_EQ(origin.last_request().value("Host"), "my_site.test");
  }
}

}  // namespace
}  // namespace weir::test
