// The strict reader of responses and requests, against exact bytes: a reader that forgives would hide mistakes of Weir's.
#include "support/message.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace weir::test {
namespace {

Response read_all(std::string bytes, std::string_view method, End end) {
  ResponseReader reader(method);
  if (reader.take(bytes)) return reader.so_far(End::whole);
  return reader.so_far(end);
}

struct Row {
  char const* name;
  char const* bytes;
  End end;  // expected, when the peer closes after the bytes
  int status;
  char const* body;
  char const* method = "GET";
};

std::ostream& operator<<(std::ostream& out, Row const& row) { return out << row.name; }

class ResponseRows : public testing::TestWithParam<Row> {};

TEST_P(ResponseRows, AreReadInOnePieceAndByteByByte) {
  Row const& row = GetParam();
  Response const at_once = read_all(row.bytes, row.method, End::finished);
  EXPECT_EQ(at_once.end, row.end) << at_once;
  EXPECT_EQ(at_once.complete, row.end == End::whole);
  EXPECT_EQ(at_once.status, row.status);
  EXPECT_EQ(at_once.body, row.body);

  ResponseReader slow(row.method);
  std::string buffer;
  bool done = false;
  for (char const* byte = row.bytes; *byte != '\0' && !done; ++byte) done = slow.take(buffer += *byte);
  Response const in_bytes = slow.so_far(End::finished);
  EXPECT_EQ(in_bytes.end, row.end) << in_bytes;
  EXPECT_EQ(in_bytes.body, row.body);
}

constexpr Row rows[] = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", End::whole, 200, "hello"},
    {"short_length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", End::finished, 200, "hell"},
    {"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", End::whole, 200, ""},
    {"no_reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", End::whole, 200, ""},
    {"until_close", "HTTP/1.1 200 OK\r\n\r\nhello", End::whole, 200, "hello"},
    {"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", End::whole, 200,
     "hello"},
    {"no_last_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n", End::finished, 200, "hel"},
    {"cut_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", End::finished, 200, "hel"},
    {"no_blank_line_after_last_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", End::finished, 200, ""},
    {"long_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhel\r\n0\r\n\r\n", End::malformed, 200, "he"},
    {"bad_chunk_size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", End::malformed, 200, ""},
    {"head_has_no_body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", End::whole, 200, "", "HEAD"},
    {"204", "HTTP/1.1 204 No Content\r\n\r\n", End::whole, 204, ""},
    {"204_with_length", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", End::malformed, 204, ""},
    {"304_with_length", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", End::whole, 304, ""},
    {"cut_head", "HTTP/1.1 200 OK\r\nContent-Le", End::finished, 0, ""},
    {"nothing", "", End::finished, 0, ""},
    {"length_and_chunked", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", End::malformed, 200,
     ""},
    {"two_lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", End::malformed, 200, ""},
    {"signed_length", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", End::malformed, 200, ""},
    {"unknown_coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", End::malformed, 200, ""},
    {"chunked_in_1_0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", End::malformed, 200, ""},
    {"bare_lf", "HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", End::malformed, 0, ""},
    {"folded", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", End::malformed, 0, ""},
    {"space_before_colon", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", End::malformed, 0, ""},
    {"bad_status", "HTTP/1.1 20 OK\r\n\r\n", End::malformed, 0, ""},
    {"bad_version", "HTTP/2 200 OK\r\n\r\n", End::malformed, 0, ""},
};

INSTANTIATE_TEST_SUITE_P(Wire, ResponseRows, testing::ValuesIn(rows),
                         [](testing::TestParamInfo<Row> const& row) { return std::string(row.param.name); });

TEST(ResponseReader, KeepsFieldsInOrderAndJoinsLines) {
  Response const r =
      read_all("HTTP/1.1 200 OK\r\nB: 1\r\nA:  x \r\nb: 2\r\nContent-Length: 0\r\n\r\n", "GET", End::finished);
  EXPECT_EQ(r.fields, (Fields{{"B", "1"}, {"A", "x"}, {"b", "2"}, {"Content-Length", "0"}}));
  EXPECT_EQ(r.value("b"), "1, 2");
  EXPECT_EQ(r.count("B"), 2u);
  EXPECT_FALSE(r.has("C"));
  EXPECT_EQ(r.version, "HTTP/1.1");
  EXPECT_EQ(r.reason, "OK");
}

TEST(ResponseReader, PutsInterimHeadsApartAndLeavesWhatFollows) {
  std::string bytes =
      "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 404";
  std::string const raw = bytes.substr(0, bytes.size() - 12);
  ResponseReader reader;
  ASSERT_TRUE(reader.take(bytes));
  Response const r = reader.so_far(End::whole);
  ASSERT_EQ(r.interim.size(), 1u);
  EXPECT_EQ(r.interim[0].status, 103);
  EXPECT_EQ(r.interim[0].value("Link"), "</a>");
  EXPECT_EQ(r.body, "ok");
  EXPECT_EQ(r.raw, raw);
  EXPECT_EQ(bytes, "HTTP/1.1 404");
}

TEST(ResponseReader, KeepsTrailersApart) {
  Response const r =
      read_all("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nDigest: x\r\n\r\n", "GET", End::finished);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.trailers, (Fields{{"Digest", "x"}}));
  EXPECT_FALSE(r.has("Digest"));
}

TEST(ResponseReader, SaysThatAResetCutACloseDelimitedBody) {
  Response const r = read_all("HTTP/1.1 200 OK\r\n\r\nhel", "GET", End::reset);
  EXPECT_FALSE(r.complete);
  EXPECT_EQ(r.end, End::reset);
}

TEST(ResponseReader, LeavesTunnelledBytesAfterA101) {
  std::string bytes = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nxyz";
  ResponseReader reader;
  ASSERT_TRUE(reader.take(bytes));
  EXPECT_EQ(reader.so_far(End::whole).status, 101);
  EXPECT_EQ(bytes, "xyz");
}

TEST(RequestReader, ReadsHeadThenBody) {
  std::string bytes = "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET";
  RequestReader reader;
  ASSERT_TRUE(reader.take_head(bytes));
  EXPECT_FALSE(reader.request().complete);
  ASSERT_TRUE(reader.take_body(bytes));
  EXPECT_TRUE(reader.request().complete);
  EXPECT_EQ(reader.request().method, "POST");
  EXPECT_EQ(reader.request().target, "/a?b");
  EXPECT_EQ(reader.request().body, "abc");
  EXPECT_EQ(bytes, "GET");
}

TEST(RequestReader, RefusesWhatAProxyMustNotSend) {
  for (std::string bytes :
       {"GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET /\r\n\r\n", "G T / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nA b\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    std::string const sent = bytes;
    RequestReader reader;
    ASSERT_TRUE(reader.take_head(bytes)) << sent;
    EXPECT_FALSE(reader.problem().empty()) << sent;
  }
}

}  // namespace
}  // namespace weir::test
