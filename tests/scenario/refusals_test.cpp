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

std::vector<Malformed> bad_lines_and_targets() {
  std::string const end = "\r\nHost: a.test\r\n\r\n";
  return {
      {"G(T /x HTTP/1.1" + end, 400, Refusal::method},
      {"GE\0T /x HTTP/1.1"s + end, 400, Refusal::method},
      {"G\xc3\x89T /x HTTP/1.1" + end, 400, Refusal::method},
      {" GET /x HTTP/1.1" + end, 400, Refusal::method},
      {"\tGET /x HTTP/1.1" + end, 400, Refusal::method},
      {"GET:/x HTTP/1.1" + end, 400, Refusal::method},
      {"\x16\x03\x01\x02", 400, Refusal::method},
      {"GET  /x HTTP/1.1" + end, 400, Refusal::target},
      {"GET\t/x HTTP/1.1" + end, 400, Refusal::method},
      {"GET /x\tHTTP/1.1" + end, 400, Refusal::target},
      {"GET /x  HTTP/1.1" + end, 400, Refusal::malformed},
      {"GET /x HTTP/1.1 " + end, 400, Refusal::malformed},
      {"GET /x y HTTP/1.1" + end, 400, Refusal::malformed},
      {"GET /x HTTP/1.1\n", 400, Refusal::bare_cr_lf},
      {"GET /x\rHTTP/1.1" + end, 400, Refusal::bare_cr_lf},
      {"GET /x HTTP/1.1\r\r\nHost: a.test\r\n\r\n", 400, Refusal::bare_cr_lf},
      {"\n\nGET /x HTTP/1.1" + end, 400, Refusal::bare_cr_lf},
      {"\r\n\r\nGET /x HTTP/1.1" + end, 400, Refusal::method},
      {"GET /x\r\n", 505, Refusal::version},
      {"GET\r\n", 400, Refusal::malformed},
      {"GET /x HTTP/2.0" + end, 505, Refusal::version},
      {"GET /x HTTP/0.9" + end, 505, Refusal::version},
      {"GET /x HTTP/1.2" + end, 505, Refusal::version},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, Refusal::version},
      {"GET /x http/1.1" + end, 400, Refusal::malformed},
      {"GET /x HTTP/11" + end, 400, Refusal::malformed},
      {"GET /x HTTP/1.10" + end, 400, Refusal::malformed},
      {"GET /x HTTPS/1.1" + end, 400, Refusal::malformed},
      {target("x"), 400, Refusal::target},
      {target("*"), 400, Refusal::target},
      {target("a.test:80"), 400, Refusal::target},
      {target("/x#f"), 400, Refusal::target},
      {target("/x?a#f"), 400, Refusal::target},
      {target("/\x80"), 400, Refusal::target},
      {target("/x?\xff"), 400, Refusal::target},
      {target("/\x7f"), 400, Refusal::target},
      {target("/\0"s), 400, Refusal::target},
      {target("/\x01"), 400, Refusal::target},
      {target("/%"), 400, Refusal::target},
      {target("/%2"), 400, Refusal::target},
      {target("/%zz/x"), 400, Refusal::target},
      {target("/x%00.html"), 400, Refusal::target},
      {target("ftp://a.test/x"), 400, Refusal::target},
      {target("http://"), 400, Refusal::target},
      {target("http://user@a.test/x"), 400, Refusal::target},
      {target("http://a.test:99999/x"), 400, Refusal::target},
      {target("http:///x"), 400, Refusal::target},
      {"CONNECT /x HTTP/1.1" + end, 400, Refusal::target},
      {target("/" + std::string(9000, 'a')), 414, Refusal::target_too_long},
      {"GET /" + std::string(9000, 'a'), 414, Refusal::target_too_long},
  };
}

std::vector<Malformed> bad_fields() {
  return {
      {"GET /x HTTP/1.1\r\n\r\n", 400, Refusal::host_missing},
      {"GET http://a.test/x HTTP/1.1\r\n\r\n", 400, Refusal::host_missing},
      {with("Host: a.test"), 400, Refusal::host_repeated},
      {with("host: b.test"), 400, Refusal::host_repeated},
      {host(""), 400, Refusal::host},
      {host("a b"), 400, Refusal::host},
      {host("a.test, b.test"), 400, Refusal::host},
      {host("a.test/x"), 400, Refusal::host},
      {host("user@a.test"), 400, Refusal::host},
      {host("a.test:x"), 400, Refusal::host},
      {host("a.test:65536"), 400, Refusal::host},
      {host("[::1"), 400, Refusal::host},
      {host("[::g]"), 400, Refusal::host},
      {host("a..test"), 400, Refusal::host},
      {host("\xc3\xa9.test"), 400, Refusal::host},
      {with("No colon"), 400, Refusal::field_name},
      {with(": y"), 400, Refusal::field_name},
      {with("X : y"), 400, Refusal::field_name},
      {with("X\t: y"), 400, Refusal::field_name},
      {with("Content-Length : 4"), 400, Refusal::field_name},
      {with("X(: y"), 400, Refusal::field_name},
      {with("X\0: y"s), 400, Refusal::field_name},
      {with("X\xc3\xa9: y"), 400, Refusal::field_name},
      {with("X: a\0b"s), 400, Refusal::field_value},
      {with("X: a\x01"), 400, Refusal::field_value},
      {with("X: a\x7f"), 400, Refusal::field_value},
      {with("X: a\rb"), 400, Refusal::bare_cr_lf},
      {with("X: a\nY: b"), 400, Refusal::bare_cr_lf},
      {with("X: a\r\n Y"), 400, Refusal::obs_fold},
      {with("X: a\r\n\t"), 400, Refusal::obs_fold},
      {"GET /x HTTP/1.1\r\n Host: a.test\r\n\r\n", 400, Refusal::obs_fold},
      {with("X: " + std::string(17'000, 'a')), 431, Refusal::fields_too_large},
      {with(many_fields(100)), 431, Refusal::too_many_fields},
  };
}

std::vector<Malformed> bad_framings() {
  auto const length = [](std::string const& value) { return with("Content-Length: " + value); };
  auto const coding = [](std::string const& value) { return with("Transfer-Encoding: " + value) + "0\r\n\r\n"; };
  return {
      {length(""), 400, Refusal::content_length},
      {length("+4"), 400, Refusal::content_length},
      {length("-1"), 400, Refusal::content_length},
      {length("0x4"), 400, Refusal::content_length},
      {length("4a"), 400, Refusal::content_length},
      {length("4 4"), 400, Refusal::content_length},
      {length("99999999999999999999"), 400, Refusal::content_length},
      {length("4, 4"), 400, Refusal::content_length_repeated},
      {length("4,5"), 400, Refusal::content_length_repeated},
      {length("4\r\nContent-Length: 4"), 400, Refusal::content_length_repeated},
      {length("4\r\nContent-Length: 5"), 400, Refusal::content_length_repeated},
      {length("67108865"), 413, Refusal::body_too_large},
      {length("4\r\nTransfer-Encoding: chunked"), 400, Refusal::length_and_coding},
      {coding("chunked\r\nContent-Length: 4"), 400, Refusal::length_and_coding},
      {coding("gzip\r\nContent-Length: 4"), 400, Refusal::length_and_coding},
      {coding("gzip"), 501, Refusal::transfer_coding},
      {coding("gzip, chunked"), 501, Refusal::transfer_coding},
      {coding("chunked, identity"), 501, Refusal::transfer_coding},
      {coding("xchunked"), 501, Refusal::transfer_coding},
      {coding("identity"), 501, Refusal::transfer_coding},
      {coding("chunked\r\nTransfer-Encoding: gzip"), 400, Refusal::transfer_encoding},
      {coding("chunked, chunked"), 400, Refusal::transfer_encoding},
      {coding("chunked\r\nTransfer-Encoding: chunked"), 400, Refusal::transfer_encoding},
      {coding("chunked;a=b"), 400, Refusal::transfer_encoding},
      {coding(""), 400, Refusal::transfer_encoding},
      {coding("\"chunked\""), 400, Refusal::transfer_encoding},
      {coding("\x0b"
              "chunked"),
       400, Refusal::field_value},
      {"POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, Refusal::chunked_in_1_0},
  };
}

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
