// STO-3, SRV-1, SRV-2: the stored head and how a 304 freshens it (RFC 9111 3.1, 3.2, 4.3.4).
#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/head.hpp"

namespace weir::cache::test {
namespace {

std::string with_crlf(std::string_view text) {
  std::string out;
  for (char const c : with_dates(text)) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

struct Row {
  char const* name;
  char const* response;
  char const* head;
  HeadOptions options = {};
};
void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

class BuiltHead : public testing::TestWithParam<Row> {};

TEST_P(BuiltHead, Of) {  // STO-3
  WireResponse const wire(GetParam().response);
  EXPECT_EQ(build_head(wire.response, GetParam().options, noon.wall, nullptr), with_crlf(GetParam().head));
}

std::vector<std::string> const without_a{"A"};

INSTANTIATE_TEST_SUITE_P(
    Table, BuiltHead,
    testing::Values(Row{"date of receipt", "200 OK", "HTTP/1.1 200 OK\nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"its own date", "200 OK\nDate: $-5", "HTTP/1.1 200 OK\nDate: $-5\nVia: 1.1 weir\n"},
                    Row{"a broken date", "200 OK\nDate: soon", "HTTP/1.1 200 OK\nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"two dates", "200 OK\nDate: $-5\nDate: $-6", "HTTP/1.1 200 OK\nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"reason kept", "404 Nope", "HTTP/1.1 404 Nope\nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"empty reason stays empty", "404", "HTTP/1.1 404 \nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"broken reason", "404 a\x01", "HTTP/1.1 404 Not Found\nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"hop by hop, framing and Age",
                        "200 OK\nConnection: x-hop\nX-Hop: 1\nKeep-Alive: 1\nProxy-Connection: 1\nTE: t\nTrailer: t\n"
                        "Transfer-Encoding: chunked\nUpgrade: u\nProxy-Authenticate: p\nProxy-Authentication-Info: p\n"
                        "Proxy-Authorization: p\nContent-Length: 5\nAge: 7\nWeir-Cache-Control: max-age=1\nX-End: 1",
                        "HTTP/1.1 200 OK\nDate: $+0\nX-End: 1\nVia: 1.1 weir\n"},
                    Row{"Connection may name several, in any case",
                        "200 OK\nA: 1\nConnection: close, a\nB: 2\nConnection: B",
                        "HTTP/1.1 200 OK\nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"Age stays in what is passed on",
                        "200 OK\nAge: 7",
                        "HTTP/1.1 200 OK\nDate: $+0\nAge: 7\nVia: 1.1 weir\n",
                        {.for_store = false}},
                    Row{"tags go", "200 OK\nSurrogate-Key: a\nCache-Tag: b\nCache-Groups: \"c\"",
                        "HTTP/1.1 200 OK\nDate: $+0\nVia: 1.1 weir\n"},
                    Row{"tags stay if exposed",
                        "200 OK\nSurrogate-Key: a",
                        "HTTP/1.1 200 OK\nDate: $+0\nSurrogate-Key: a\nVia: 1.1 weir\n",
                        {.expose_tags = true}},
                    Row{"without",
                        "200 OK\na: 1\nA: 2\nB: 3",
                        "HTTP/1.1 200 OK\nDate: $+0\nB: 3\nVia: 1.1 weir\n",
                        {.without = &without_a}},
                    Row{"repeated fields keep their order", "200 OK\nA: 2\nB: 3\nA: 1",
                        "HTTP/1.1 200 OK\nDate: $+0\nA: 2\nB: 3\nA: 1\nVia: 1.1 weir\n"},
                    Row{"Via of others stays before ours", "200 OK\nVia: 1.0 old",
                        "HTTP/1.1 200 OK\nDate: $+0\nVia: 1.0 old\nVia: 1.1 weir\n"},
                    Row{"what no head may hold", "200 OK\nA: x\x01y\nB c: 1\nD: \xE9",
                        "HTTP/1.1 200 OK\nDate: $+0\nD: \xE9\nVia: 1.1 weir\n"}),
    row_name);

TEST(BuiltHead, TellsTheVersionThatCame) {
  WireResponse wire("200 OK");
  wire.response.version = 10;
  EXPECT_EQ(build_head(wire.response, {}, noon.wall, nullptr), with_crlf("HTTP/1.1 200 OK\nDate: $+0\nVia: 1.0 weir\n"));
}

TEST(BuiltHead, SlicesTheValidators) {  // SRV-2
  WireResponse const wire("200 OK\nETag: \"a\"\nX: 1\nLast-Modified: $-9");
  Facts facts;
  auto const head = build_head(wire.response, {}, noon.wall, &facts);
  EXPECT_EQ(head.substr(facts.etag.offset, facts.etag.size), "\"a\"");
  EXPECT_EQ(head.substr(facts.last_modified.offset, facts.last_modified.size), date_text(noon.wall - 9s));
  WireResponse const broken("200 OK\nLast-Modified: never");
  build_head(broken.response, {}, noon.wall, &facts);
  EXPECT_EQ(facts.etag.size, 0U);
  EXPECT_EQ(facts.last_modified.size, 0U);
}

struct Freshen {
  char const* name;
  char const* stored;  // the fields of the stored 200
  char const* update;  // those of the 304
  char const* head;    // field lines behind Date
};
void PrintTo(Freshen const& row, std::ostream* out) { *out << row.name; }

class FreshenedHead : public testing::TestWithParam<Freshen> {};

TEST_P(FreshenedHead, By304) {  // SRV-2
  WireResponse const stored(std::string("200 Fine\nDate: $-100\n") + GetParam().stored);
  WireResponse const update(std::string("304 Not Modified\n") + GetParam().update);
  auto const head = build_head(stored.response, {}, noon.wall, nullptr);
  EXPECT_EQ(freshen_head(head, update.response, {}, noon.wall, nullptr),
            with_crlf(std::string("HTTP/1.1 200 Fine\nDate: $+0\n") + GetParam().head + "Via: 1.1 weir\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Table, FreshenedHead,
    testing::Values(
        Freshen{"nothing new", "A: 1", "", "A: 1\n"}, Freshen{"replaced", "A: 1\nB: 2", "a: 3", "B: 2\na: 3\n"},
        Freshen{"all lines replaced", "A: 1\nA: 2", "A: 3\nA: 4", "A: 3\nA: 4\n"},
        Freshen{"added", "A: 1", "B: 2", "A: 1\nB: 2\n"},
        Freshen{"known fields", "Cache-Control: max-age=1\nExpires: 0", "Cache-Control: max-age=9",
                "Expires: 0\nCache-Control: max-age=9\n"},
        Freshen{"framing and coding stay", "Content-Encoding: br\nA: 1",
                "Content-Length: 0\nTransfer-Encoding: chunked\nContent-Encoding: gzip\nContent-Range: x",
                "Content-Encoding: br\nA: 1\n"},
        Freshen{"coding is not added", "A: 1", "Content-Encoding: gzip", "A: 1\n"},
        Freshen{"the type is updated", "Content-Type: text/a\nA: 1", "Content-Type: text/b", "A: 1\nContent-Type: text/b\n"},
        Freshen{"a digest of the body stays", "Content-MD5: a\nContent-Digest: b",
                "content-md5: c\ncontent-digest: d\nRepr-Digest: e", "Content-MD5: a\nContent-Digest: b\nRepr-Digest: e\n"},
        Freshen{"the stored tag stays", "ETag: \"a\"", "ETag: W/\"a\"", "ETag: \"a\"\n"},
        Freshen{"a tag is added", "A: 1", "ETag: W/\"a\"", "A: 1\nETag: W/\"a\"\n"},
        Freshen{"hop by hop", "A: 1", "Connection: a, b\nA: 2\nB: 3\nKeep-Alive: 1\nProxy-Authenticate: x\nAge: 5",
                "A: 1\n"},
        Freshen{"Via is the 304's", "Via: 1.1 old", "Via: 1.1 new", "Via: 1.1 new\n"},
        Freshen{"our directives do not go out", "A: 1", "Weir-Cache-Control: max-age=1", "A: 1\n"}),
    row_name);

TEST(FreshenedHead, KeepsTheDateOfThe304AndSlicesAnew) {  // SRV-2
  WireResponse const stored("200 OK\nETag: \"a\"\nX: 1");
  WireResponse const update("304 Not Modified\nDate: $-3\nLast-Modified: $-9\nX: longer");
  Facts facts;
  auto const head =
      freshen_head(build_head(stored.response, {}, noon.wall, nullptr), update.response, {}, noon.wall, &facts);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\nDate: " + date_text(noon.wall - 3s) + "\r\n")) << head;
  EXPECT_EQ(head.substr(facts.etag.offset, facts.etag.size), "\"a\"");
  EXPECT_EQ(head.substr(facts.last_modified.offset, facts.last_modified.size), date_text(noon.wall - 9s));
}

TEST(NotModified, IsAboutTheStoredResponse) {  // SRV-2
  auto const matches = [](char const* stored, char const* fields, char const* date = "Sun, 06 Nov 1994 08:49:37 GMT") {
    WireResponse const wire(std::string("304 Not Modified\n") + fields);
    return not_modified_matches(stored, date, wire.response);
  };
  EXPECT_TRUE(matches("\"a\"", ""));
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("\"a\"", "ETag: \"a\""));
  EXPECT_FALSE(matches("\"a\"", "ETag: \"b\""));
  EXPECT_FALSE(matches("\"a\"", "ETag: W/\"b\""));
  EXPECT_TRUE(matches("W/\"a\"", "ETag: \"a\"")) << "an origin that compresses weakens the tag of its 200 only";
  EXPECT_TRUE(matches("\"a\"", "ETag: W/\"a\""));
  EXPECT_FALSE(matches("", "ETag: \"b\""));
  EXPECT_TRUE(matches("", "ETag: W/\"b\"")) << "validated by Last-Modified";
  EXPECT_TRUE(matches("\"a\"", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"));
  EXPECT_FALSE(matches("\"a\"", "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT")) << "an older file came back";
  EXPECT_FALSE(matches("", "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"));
  EXPECT_TRUE(matches("\"a\"", "ETag: \"a\"\nLast-Modified: Sun, 06 Nov 1994 08:49:38 GMT")) << "the tag decides";
  EXPECT_TRUE(matches("\"a\"", "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT", "")) << "none is stored";
}

TEST(HeadAnswer, IsAboutTheStoredResponse) {  // SRV-4
  auto const is_about = [](char const* fields, std::uint64_t length = 0) {
    WireResponse wire(std::string("200 OK\n") + fields);
    wire.response.framing.length = length;
    return head_is_about("\"a\"", "Sun, 06 Nov 1994 08:49:37 GMT", 5, wire.response);
  };
  EXPECT_TRUE(is_about(""));
  EXPECT_TRUE(is_about("ETag: \"a\"\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\nContent-Length: 5", 5));
  EXPECT_TRUE(is_about("ETag: W/\"a\"")) << "as with a 304";
  EXPECT_FALSE(is_about("ETag: \"b\"\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT"));
  EXPECT_FALSE(is_about("ETag: \"a\"\nLast-Modified: Sun, 06 Nov 1994 08:49:38 GMT"));
  EXPECT_FALSE(is_about("ETag: \"a\"\nContent-Length: 6", 6));
  WireResponse const wire("200 OK\nETag: \"a\"");
  EXPECT_FALSE(head_is_about("", "", 5, wire.response)) << "a validator that the stored response never had";
}

TEST(ParsedHead, GivesTheFieldsBack) {
  std::string const head = "HTTP/1.1 203 X\r\nA: 1\r\nno colon\r\n: no name\r\nETag:\"x\"\r\n";
  auto const fields = parse_head_fields(head);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].name, "A");
  EXPECT_EQ(fields[0].value, "1");
  EXPECT_EQ(fields[1].id, http::FieldId::etag);
  EXPECT_EQ(fields[1].value, "\"x\"");
  EXPECT_EQ(parse_head_status(head), 203);
  EXPECT_EQ(parse_head_status("HTTP/1.1 x"), 0);
  EXPECT_EQ(parse_head_status(""), 0);
  EXPECT_TRUE(parse_head_fields("").empty());
}

}  // namespace
}  // namespace weir::cache::test
