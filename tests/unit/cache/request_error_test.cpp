#include "weir/cache/request_error.hpp"

#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"

namespace weir::cache::test {
namespace {

TEST(RequestError, ByItsDefinition) {
  for (int const status : {401, 403, 406, 407, 408, 411, 412, 413, 415, 416, 417, 421, 425, 426, 428, 429, 431})
    EXPECT_TRUE(is_request_error(status, WireRequest("GET /\nHost: a").fields())) << status;
}

TEST(RequestError, OtherStatusesAreWhereTheRequestIsOdd) {
  WireRequest const plain("GET /\nHost: a"), odd("GET /\nHost: a\nExpect: x");
  for (int const status :
       {400, 402, 404, 405, 409, 410, 414, 418, 422, 423, 424, 451, 499, 500, 501, 502, 503, 504, 505, 511, 599}) {
    EXPECT_FALSE(is_request_error(status, plain.fields())) << status;
    EXPECT_TRUE(is_request_error(status, odd.fields())) << status;
  }
  for (int const status : {200, 204, 299, 301, 308, 399}) EXPECT_FALSE(is_request_error(status, odd.fields())) << status;
}

struct Row {
  char const* name;
  char const* fields;
  bool odd;
};

constexpr auto row_number = [](auto const& param) { return "row_" + std::to_string(param.index); };

class OddRequest : public testing::TestWithParam<Row> {};

TEST_P(OddRequest, Of) {
  std::string const request = std::string("GET /\nHost: a\n") + GetParam().fields;
  EXPECT_EQ(is_request_error(400, WireRequest(request).fields()), GetParam().odd);
}

INSTANTIATE_TEST_SUITE_P(
    Values, OddRequest,
    testing::Values(Row{"empty", "X-A:", false}, Row{"printable", "X-A: az AZ 09 ~!", false}, Row{"tab", "X-A: a\tb", true},
                    Row{"control", "X-A: a\x01", true}, Row{"delete", "X-A: a\x7f", true}, Row{"latin-1", "X-A: \xe9", true},
                    Row{"a browser's",
                        "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0)\nAccept: text/html,"
                        "application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\nAccept-Language: en-US,en;q=0.5\n"
                        "Accept-Encoding: gzip, deflate, br, zstd\nReferer: https://a.test/b?c=d#e\n"
                        "Origin: null\nSec-Fetch-Mode: cors\nCookie: a=b; c=d",
                        false}),
    row_number);

INSTANTIATE_TEST_SUITE_P(OfContent, OddRequest,
                         testing::Values(Row{"", "Content-Encoding: gzip", true}, Row{"", "Content-Language: en", true},
                                         Row{"", "Content-Length: 0", false}, Row{"", "Content-Length: 1", true},
                                         Row{"", "Authorization: a", true}, Row{"", "Content-Location: /", true},
                                         Row{"", "Content-Range: bytes 0-1/2", true},
                                         Row{"", "Content-Type: text/html; charset=\"a\"", false},
                                         Row{"", "Content-Type: json", true}, Row{"", "Content-Type: a b/c", true},
                                         Row{"", "Expect: a", true}, Row{"", "Max-Forwards: 1", true},
                                         Row{"", "TE: trailers", true}, Row{"", "Trailer: a", true},
                                         Row{"", "Transfer-Encoding: chunked", true}, Row{"", "Upgrade: a", true}),
                         row_number);

INSTANTIATE_TEST_SUITE_P(
    Preferences, OddRequest,
    testing::Values(Row{"", "Accept: */*", false}, Row{"", "Accept: text/html;level=1;q=0.5, text/*", false},
                    Row{"", "Accept: , text/html ,,", false}, Row{"", "Accept:", false}, Row{"", "Accept: evil", false},
                    Row{"", "Accept: text/", true}, Row{"", "Accept: /html", true}, Row{"", "Accept: a/b/c", true},
                    Row{"", "Accept: text html", true}, Row{"", "Accept: text/html, \"", true},
                    Row{"", "Accept: text/html, ;q=1", true}, Row{"", "Accept-Language: en-GB;q=0.5, *", false},
                    Row{"", "Accept-Language: en GB", true}, Row{"", "Accept-Encoding: gzip;q=1, br", false},
                    Row{"", "Accept-Encoding: {}", true}, Row{"", "User-Agent: {} \"a\" <b>", false}),
    row_number);

INSTANTIATE_TEST_SUITE_P(Uris, OddRequest,
                         testing::Values(Row{"", "Referer: /relative?a=%20", false}, Row{"", "Referer: a b", true},
                                         Row{"", "Referer: <a>", true}, Row{"", "Referer: a\\b", true},
                                         Row{"", "Origin: https://a.test:80", false}, Row{"", "Origin: {a}", true},
                                         Row{"", "Origin: `a|b^c`", true}),
                         row_number);

TEST(RequestError, ByBytes) {
  auto const bytes = [](std::size_t count) { return "GET /\nX-A: " + std::string(count - 3, 'a'); };
  EXPECT_FALSE(is_request_error(400, WireRequest(bytes(ordinary_field_bytes)).fields()));
  EXPECT_TRUE(is_request_error(400, WireRequest(bytes(ordinary_field_bytes + 1)).fields()));
  EXPECT_TRUE(is_request_error(400, WireRequest(bytes(ordinary_field_bytes) + "\nA: b").fields()));
  std::string const name(ordinary_field_bytes, 'n');
  EXPECT_FALSE(is_request_error(400, WireRequest("GET /\n" + name + ":").fields()));
  EXPECT_TRUE(is_request_error(400, WireRequest("GET /\n" + name + ": a").fields()));
}

TEST(RequestError, ByNumberOfFields) {
  std::string request = "GET /";
  for (std::size_t i = 0; i < ordinary_fields; ++i) request += "\nA: b";
  EXPECT_FALSE(is_request_error(400, WireRequest(request).fields()));
  EXPECT_TRUE(is_request_error(400, WireRequest(request + "\nA: b").fields()));
}

}  // namespace
}  // namespace weir::cache::test
