#include "request_rows.hpp"

namespace weir::wire {

using namespace std::string_literals;

namespace {

std::vector<RefusedRow> start_lines() {
  return {
      {"empty line twice", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::method},
      {"method empty", start(" / HTTP/1.1"), Refusal::method},
      {"method with colon", start("GE:T / HTTP/1.1"), Refusal::method},
      {"method with slash", start("GET/ / HTTP/1.1"), Refusal::method},
      {"method with NUL", start("GE\0T / HTTP/1.1"s), Refusal::method},
      {"method with high byte", start("G\xC9T / HTTP/1.1"), Refusal::method},
      {"method bad behind its 64th byte", start(std::string(80, 'A') + "( / HTTP/1.1"), Refusal::method},
      {"method ended by a tab", start("GET\t/ HTTP/1.1"), Refusal::method},
      {"space before the method", start(" GET / HTTP/1.1"), Refusal::method},
      {"TLS hello on a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03"s, Refusal::method},
      {"method alone", start("GET"), Refusal::malformed},
      {"bare CR in the method", start("GE\rT / HTTP/1.1"), Refusal::bare_cr_lf},
      {"bare CR in the target", start("GET /a\rb HTTP/1.1"), Refusal::bare_cr_lf},
      {"bare CR behind the version", start("GET / HTTP/1.1\r"), Refusal::bare_cr_lf},
      {"bare LF ends the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", Refusal::bare_cr_lf},
      {"bare LF before the request line", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::bare_cr_lf},
      {"bare LF everywhere", "GET / HTTP/1.1\nHost: a\n\n", Refusal::bare_cr_lf},
      {"two spaces before the target", start("GET  / HTTP/1.1"), Refusal::target},
      {"two spaces before the version", start("GET /  HTTP/1.1"), Refusal::malformed},
      {"space behind the version", start("GET / HTTP/1.1 "), Refusal::malformed},
      {"space in the target", start("GET /a b HTTP/1.1"), Refusal::malformed},
      {"tab before the version", start("GET /\tHTTP/1.1"), Refusal::target},
      {"HTTP/0.9 without a version", start("GET /"), Refusal::version},
      {"HTTP/0.9", start("GET / HTTP/0.9"), Refusal::version},
      {"HTTP/1.2", start("GET / HTTP/1.2"), Refusal::version},
      {"HTTP/2.0", start("GET / HTTP/2.0"), Refusal::version},
      {"HTTP/3.0", start("GET / HTTP/3.0"), Refusal::version},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refusal::version},
      {"version in lower case", start("GET / http/1.1"), Refusal::malformed},
      {"version with two digits", start("GET / HTTP/1.10"), Refusal::malformed},
      {"version with a leading zero", start("GET / HTTP/01.1"), Refusal::malformed},
      {"version with a comma", start("GET / HTTP/1,1"), Refusal::malformed},
      {"version without a minor", start("GET / HTTP/1"), Refusal::malformed},
      {"version of another protocol", start("GET / ICAP/1.0"), Refusal::malformed},
      {"version with letters", start("GET / HTTP/1.x"), Refusal::malformed},
  };
}

std::vector<RefusedRow> targets_and_hosts() {
  return {
      {"target with a fragment", get("/a#b"), Refusal::target},
      {"target with NUL", get("/a\0b"s), Refusal::target},
      {"target with a control byte", get("/a\x01"), Refusal::target},
      {"target with DEL", get("/a\x7F"), Refusal::target},
      {"target with a high byte", get("/caf\xC3\xA9"), Refusal::target},
      {"target with a high byte in the query", get("/?q=\xFF"), Refusal::target},
      {"target without a slash", get("index.html"), Refusal::target},
      {"bad escape in the path", get("/%zz"), Refusal::target},
      {"cut escape in the path", get("/%4"), Refusal::target},
      {"%00 in the path", get("/a%00b"), Refusal::target},
      {"absolute form of another scheme", get("ftp://a/"), Refusal::target},
      {"absolute form without a host", get("http:///x"), Refusal::target},
      {"absolute form with user information", get("http://u:p@a/"), Refusal::target},
      {"absolute form with a bad port", get("http://a:70000/"), Refusal::target},
      {"authority form for GET", get("a:443"), Refusal::target},
      {"asterisk for GET", get("*"), Refusal::target},
      {"CONNECT in origin form", start("CONNECT / HTTP/1.1"), Refusal::target},
      {"CONNECT in absolute form", start("CONNECT http://a/ HTTP/1.1"), Refusal::target},
      {"CONNECT without a port", start("CONNECT a HTTP/1.1"), Refusal::target},
      {"target one byte too long", get("/" + std::string(8 * 1024, 'a')), Refusal::target_too_long},
      {"target too long and endless", "GET /" + std::string(8 * 1024, 'a'), Refusal::target_too_long},
      {"target too long with bad bytes", get("/#" + std::string(8 * 1024, 'a')), Refusal::target_too_long},
      {"Host missing", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n", Refusal::host_missing},
      {"no field at all", "GET / HTTP/1.1\r\n\r\n", Refusal::host_missing},
      {"Host missing with the absolute form", "GET http://a/ HTTP/1.1\r\n\r\n", Refusal::host_missing},
      {"two Host lines", with("Host: b"), Refusal::host_repeated},
      {"two equal Host lines", with("hOST: a"), Refusal::host_repeated},
      {"two Host lines in 1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", Refusal::host_repeated},
      {"two Host lines with the absolute form", "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
       Refusal::host_repeated},
      {"Host empty", hosted(""), Refusal::host},
      {"Host with a space", hosted("a b"), Refusal::host},
      {"Host with a list", hosted("a, b"), Refusal::host},
      {"Host with a path", hosted("a/b"), Refusal::host},
      {"Host with user information", hosted("u@a"), Refusal::host},
      {"Host with a port of letters", hosted("a:b"), Refusal::host},
      {"Host with a port too large", hosted("a:65536"), Refusal::host},
      {"Host with an open bracket", hosted("[::1"), Refusal::host},
      {"Host with a high byte", hosted("\xC3\xA9.example"), Refusal::host},
      {"Host bad in 1.0", "GET / HTTP/1.0\r\nHost: a b\r\n\r\n", Refusal::host},
      {"Host bad with the absolute form", "GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", Refusal::host},
  };
}

std::vector<RefusedRow> fields() {
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 100; ++i) many += "X: y\r\n";
  return {
      {"space before the colon", with("X : y"), Refusal::field_name},
      {"tab before the colon", with("X\t: y"), Refusal::field_name},
      {"space before the colon of a length", with("Content-Length : 3"), Refusal::field_name},
      {"field name empty", with(": y"), Refusal::field_name},
      {"field line without a colon", with("X"), Refusal::field_name},
      {"field name with a space", with("X Y: z"), Refusal::field_name},
      {"field name with NUL", with("X\0: y"s), Refusal::field_name},
      {"field name with a high byte", with("X\xE9: y"), Refusal::field_name},
      {"field name with a bracket", with("X[]: y"), Refusal::field_name},
      {"field value with NUL", with("X: a\0b"s), Refusal::field_value},
      {"field value with a control byte", with("X: a\x0B"), Refusal::field_value},
      {"field value with DEL", with("X: a\x7F"), Refusal::field_value},
      {"Connection that is no list", with("Connection: @;"), Refusal::field_value},
      {"bare CR in a value", with("X: a\rb"), Refusal::bare_cr_lf},
      {"bare CR before the line's end", with("X: a\r"), Refusal::bare_cr_lf},
      {"bare CR in a name", with("X\rY: a"), Refusal::bare_cr_lf},
      {"bare CR in front of the blank line", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n", Refusal::bare_cr_lf},
      {"bare LF in a value", with("X: a\nY: b"), Refusal::bare_cr_lf},
      {"bare LF as blank line", "GET / HTTP/1.1\r\nHost: a\r\n\nX", Refusal::bare_cr_lf},
      {"folded line with a space", with("X: a\r\n b"), Refusal::obs_fold},
      {"folded line with a tab", with("X: a\r\n\tb"), Refusal::obs_fold},
      {"folded behind an empty value", with("X:\r\n a"), Refusal::obs_fold},
      {"folded line of white space", with("X: a\r\n \r\nY: b"), Refusal::obs_fold},
      {"folded coding", with("Transfer-Encoding:\r\n chunked"), Refusal::obs_fold},
      {"white space before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", Refusal::obs_fold},
      {"one field too many", many + "\r\n", Refusal::too_many_fields},
      {"one byte too many", with("X: " + std::string(16 * 1024 - with("X: ").size() + 1, 'a')), Refusal::fields_too_large},
      {"fields without an end", "GET / HTTP/1.1\r\nX: " + std::string(16 * 1024, 'a'), Refusal::fields_too_large},
      {"method without an end", std::string(16 * 1024, 'A'), Refusal::fields_too_large},
  };
}

std::vector<RefusedRow> framing() {
  return {
      {"length with a plus", with("Content-Length: +3"), Refusal::content_length},
      {"length with a minus", with("Content-Length: -3"), Refusal::content_length},
      {"length in hexadecimal", with("Content-Length: 0x3"), Refusal::content_length},
      {"length empty", with("Content-Length:"), Refusal::content_length},
      {"length with a space inside", with("Content-Length: 3 3"), Refusal::content_length},
      {"length with a fraction", with("Content-Length: 3.0"), Refusal::content_length},
      {"length quoted", with("Content-Length: \"3\""), Refusal::content_length},
      {"length over 64 bits", with("Content-Length: 18446744073709551616"), Refusal::content_length},
      {"length of forty digits", with("Content-Length: " + std::string(40, '9')), Refusal::content_length},
      {"length over 64 bits by leading digits", with("Content-Length: 99999999999999999999"), Refusal::content_length},
      {"length as a list", with("Content-Length: 3, 3"), Refusal::content_length_repeated},
      {"length as a differing list", with("Content-Length: 3, 4"), Refusal::content_length_repeated},
      {"length repeated", with("Content-Length: 3\r\nContent-Length: 3"), Refusal::content_length_repeated},
      {"length repeated differently", with("Content-Length: 3\r\nContent-Length: 4"), Refusal::content_length_repeated},
      {"length with an empty member", with("Content-Length: 3,"), Refusal::content_length},
      {"length over the body limit", with("Content-Length: 67108865"), Refusal::body_too_large},
      {"length of 64 bits", with("Content-Length: 18446744073709551615"), Refusal::body_too_large},
      {"length, then chunked", with("Content-Length: 3\r\nTransfer-Encoding: chunked"), Refusal::length_and_coding},
      {"chunked, then length", with("Transfer-Encoding: chunked\r\nContent-Length: 3"), Refusal::length_and_coding},
      {"gzip, then length", with("Transfer-Encoding: gzip\r\nContent-Length: 3"), Refusal::length_and_coding},
      {"length, then gzip", with("Content-Length: 3\r\nTransfer-Encoding: gzip"), Refusal::length_and_coding},
      {"both in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: x\r\nContent-Length: 3\r\n\r\n", Refusal::length_and_coding},
      {"coding gzip", with("Transfer-Encoding: gzip"), Refusal::transfer_coding},
      {"coding identity", with("Transfer-Encoding: identity"), Refusal::transfer_coding},
      {"coding xchunked", with("Transfer-Encoding: xchunked"), Refusal::transfer_coding},
      {"coding gzip, chunked", with("Transfer-Encoding: gzip, chunked"), Refusal::transfer_coding},
      {"coding chunked, identity", with("Transfer-Encoding: chunked, identity"), Refusal::transfer_coding},
      {"coding gzip and chunked in two lines", with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked"),
       Refusal::transfer_coding},
      {"coding with parameters", with("Transfer-Encoding: gzip;q=1"), Refusal::transfer_coding},
      {"chunked twice", with("Transfer-Encoding: chunked, chunked"), Refusal::transfer_encoding},
      {"chunked in two lines", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), Refusal::transfer_encoding},
      {"chunked, then another line", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip"),
       Refusal::transfer_encoding},
      {"chunked with parameters", with("Transfer-Encoding: chunked;a=b"), Refusal::transfer_encoding},
      {"chunked quoted", with("Transfer-Encoding: \"chunked\""), Refusal::transfer_encoding},
      {"chunked behind a comma", with("Transfer-Encoding: ,chunked"), Refusal::transfer_encoding},
      {"coding with a space inside", with("Transfer-Encoding: chun ked"), Refusal::transfer_encoding},
      {"coding empty", with("Transfer-Encoding:"), Refusal::transfer_encoding},
      {"coding with a vertical tab", with("Transfer-Encoding: \x0B"s + "chunked"), Refusal::field_value},
      {"chunked in 1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", Refusal::chunked_in_1_0},
  };
}

std::vector<RefusedRow> all_refused() {
  std::vector<RefusedRow> all;
  for (auto const& part : {start_lines(), targets_and_hosts(), fields(), framing()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<AcceptedRow> all_accepted() {
  std::string most = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 99; ++i) most += "X: y\r\n";
  std::string const largest = with("X: " + std::string(16 * 1024 - with("X: ").size(), 'a'));
  std::string const long_path = "/" + std::string(8 * 1024 - 1, 'a');
  static std::string const kept_path = long_path;
  std::string const one_0 = "GET / HTTP/1.0\r\n";
  return {
      {"plain", get("/")},
      {"empty line before", "\r\n" + get("/")},
      {"pipelined", get("/") + get("/next")},
      {"body behind", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET", "POST", "a", "/", "length 3"},
      {"every method character", start("!#$%&'*+-.^_`|~09azAZ / HTTP/1.1"), "!#$%&'*+-.^_`|~09azAZ"},
      {"method in lower case", start("get / HTTP/1.1"), "get"},
      {"method of 200 bytes", start(std::string(200, 'M') + " / HTTP/1.1"), "", "a"},
      {"every target byte", get("/!\"$&'()*+,-./09:;<=>@AZ[\\]^_`az{|}~%41"), "GET", "a",
       "/!\"$&'()*+,-./09:;<=>@AZ[\\]^_`az{|}~%41"},
      {"bad escape in the query", get("/?a=%zz&b=%0"), "GET", "a", "/"},
      {"%00 in the query", get("/?a=%00"), "GET", "a", "/"},
      {"query with every mark", get("/p?a?b/{}|\\^`\"<>"), "GET", "a", "/p"},
      {"empty query", get("/p?"), "GET", "a", "/p"},
      {"dot segments", get("/a/../b/./c"), "GET", "a", "/a/../b/./c"},
      {"two slashes", get("//b//c"), "GET", "a", "//b//c"},
      {"longest target", get(long_path), "GET", "a", kept_path},
      {"absolute form", get("http://b:81/x?y"), "GET", "b:81", "/x"},
      {"absolute form without a path", get("HTTP://b"), "GET", "b", "/"},
      {"absolute form with a query only", get("https://b?q"), "GET", "b", "/"},
      {"CONNECT", start("CONNECT b:443 HTTP/1.1"), "CONNECT", "b:443"},
      {"TRACE", start("TRACE / HTTP/1.1"), "TRACE"},
      {"OPTIONS for the server", start("OPTIONS * HTTP/1.1"), "OPTIONS", "a", "*"},
      {"OPTIONS for a path", start("OPTIONS /x HTTP/1.1"), "OPTIONS", "a", "/x"},
      {"host with an underscore", hosted("my_app.example"), "GET", "my_app.example"},
      {"host with a port", hosted("a.example:8080"), "GET", "a.example:8080"},
      {"host with an empty port", hosted("a:"), "GET", "a:"},
      {"host as IPv6", hosted("[2001:db8::1]:80"), "GET", "[2001:db8::1]:80"},
      {"host between white space", "GET / HTTP/1.1\r\nhOsT:\t a \t\r\n\r\n"},
      {"no white space behind the colon", "GET / HTTP/1.1\r\nHost:a\r\n\r\n"},
      {"high bytes in a value", with("X: caf\xC3\xA9 \x80\xFF")},
      {"tab and quotes in a value", with("X: a\tb \"c\\\" d\"")},
      {"empty value", with("X:")},
      {"value of white space", with("X: \t ")},
      {"odd field name", with("!#$%&'*+-.^_`|~09az: y")},
      {"colon in a value", with("X: a:b")},
      {"most fields", most + "\r\n"},
      {"largest head", largest},
      {"length 0", with("Content-Length: 0"), "GET", "a", "/", "length 0"},
      {"length behind white space", with("Content-Length:  \t3 "), "GET", "a", "/", "length 3"},
      {"length with leading zeros", with("Content-Length: 007"), "GET", "a", "/", "length 7"},
      {"length at the body limit", with("Content-Length: 67108864"), "GET", "a", "/", "length 67108864"},
      {"chunked", with("Transfer-Encoding: chunked"), "GET", "a", "/", "chunked"},
      {"chunked in capitals", with("TRANSFER-ENCODING: ChUnKeD\t"), "GET", "a", "/", "chunked"},
      {"close", with("Connection: close"), "GET", "a", "/", "none", false},
      {"close and keep-alive", with("Connection: close, keep-alive"), "GET", "a", "/", "none", false},
      {"keep-alive, then close", with("Connection: Keep-Alive\r\nConnection: te, CLOSE"), "GET", "a", "/", "none", false},
      {"a token that contains close", with("Connection: closed")},
      {"connection with empty members", with("Connection: , te ,,")},
      {"1.0", one_0 + "Host: a\r\n\r\n", "GET", "a", "/", "none", false},
      {"1.0 without Host", one_0 + "\r\n", "GET", "", "/", "none", false},
      {"1.0 with keep-alive", one_0 + "Host: a\r\nConnection: te, keep-ALIVE\r\n\r\n"},
      {"1.0 with keep-alive and close", one_0 + "Host: a\r\nConnection: keep-alive, close\r\n\r\n", "GET", "a", "/", "none",
       false},
      {"1.0 absolute without Host", "GET http://b/ HTTP/1.0\r\n\r\n", "GET", "b", "/", "none", false},
      {"1.0 with a length", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\n", "POST", "", "/", "length 3", false},
      {"proxy-connection has no say", with("Proxy-Connection: close")},
      {"te is not transfer-encoding", with("TE: gzip, trailers")},
      {"expectation", with("Expect: 100-continue")},
      {"upgrade", with("Upgrade: websocket\r\nConnection: Upgrade")},
  };
}

}  // namespace

std::vector<RefusedRow> const& refused_rows() {
  static std::vector<RefusedRow> const rows = all_refused();
  return rows;
}

std::vector<AcceptedRow> const& accepted_rows() {
  static std::vector<AcceptedRow> const rows = all_accepted();
  return rows;
}

}  // namespace weir::wire
