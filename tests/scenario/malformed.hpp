// Requests to be refused, and how to write them.
#pragma once

#include <string>
#include <vector>

#include "scenario/weir.hpp"

namespace weir::test {

using namespace std::string_literals;
using wire::Refusal;

struct Malformed {
  std::string bytes;
  int status;
  Refusal refusal;
};

// A head whose second line, behind a good Host, is `line`.
inline std::string with(std::string const& line, std::string const& method = "POST") {
  return method + " /x HTTP/1.1\r\nHost: a.test\r\n" + line + "\r\n\r\n";
}
inline std::string target(std::string const& bytes) { return "GET " + bytes + " HTTP/1.1\r\nHost: a.test\r\n\r\n"; }
inline std::string host(std::string const& value) { return "GET /x HTTP/1.1\r\nHost: " + value + "\r\n\r\n"; }
inline std::string many_fields(int count) {
  std::string fields = "X: y";
  for (int i = 1; i < count; ++i) fields += "\r\nX: y";
  return fields;
}

inline std::vector<Malformed> bad_lines_and_targets() {
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

inline std::vector<Malformed> bad_fields() {
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

inline std::vector<Malformed> bad_framings() {
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

}  // namespace weir::test
