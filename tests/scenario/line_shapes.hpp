// Shapes of requests by their lines, targets, hosts and the fields of the connection.
#pragma once

#include "scenario/shape.hpp"

namespace weir::test {

// A GET of `request_target`, and how it is forwarded.
inline Shape gets(std::string name, std::string const& request_target, std::string target, std::string host = "a.test") {
  return forwarded("target: " + name, test::target(request_target), "GET", std::move(target), "", std::move(host));
}

inline std::vector<Shape> line_shapes() {
  std::string const end = "\r\nHost: a.test\r\n\r\n", fields = "\r\nHost: a.test\r\n";
  return {
      forwarded("lines: an empty one before", "\r\nGET /x HTTP/1.1" + end, "GET", "/x"),
      forwarded("lines: tabs and spaces around values", "GET /x HTTP/1.1\r\nHost:\t a.test \t\r\nX:\ty\t\r\n\r\n", "GET",
                "/x"),
      forwarded("lines: values without spaces", "GET /x HTTP/1.1\r\nHost:a.test\r\nX:y\r\n\r\n", "GET", "/x"),
      forwarded("lines: an empty value", "GET /x HTTP/1.1" + fields + "X:\r\nY: \r\n\r\n", "GET", "/x"),
      forwarded("lines: a value of colons", "GET /x HTTP/1.1" + fields + "X: : ::\r\n\r\n", "GET", "/x"),
      forwarded("lines: high bytes in a value", "GET /x HTTP/1.1" + fields + "X: \x80\xff\xa0\r\n\r\n", "GET", "/x"),
      forwarded("lines: a name of marks", "GET /x HTTP/1.1" + fields + "!#$%&'*+-.^_`|~: y\r\n\r\n", "GET", "/x"),
      forwarded("lines: a method of marks", "!#$%&'*+-.^_`|~9 /x HTTP/1.1" + end, "!#$%&'*+-.^_`|~9", "/x"),
      forwarded("lines: a method in small letters", "get /x HTTP/1.1" + end, "get", "/x"),
      forwarded("lines: a method that is a version", "HTTP /x HTTP/1.1" + end, "HTTP", "/x"),
      refused("lines: LF for every end", "GET /x HTTP/1.1\nHost: a.test\n\n", Refusal::bare_cr_lf),
      refused("lines: LF for the empty line", "GET /x HTTP/1.1\r\nHost: a.test\r\n\n", Refusal::bare_cr_lf),
      refused("lines: CR for the empty line", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\r\n", Refusal::bare_cr_lf),
      refused("lines: LF before", "\nGET /x HTTP/1.1" + end, Refusal::bare_cr_lf),
      refused("lines: CR before", "\rGET /x HTTP/1.1" + end, Refusal::bare_cr_lf),
      refused("lines: NUL before", "\0GET /x HTTP/1.1"s + end, Refusal::method),
      refused("lines: a byte order mark before", "\xef\xbb\xbfGET /x HTTP/1.1" + end, Refusal::method),
      refused("lines: folded request line", "GET /x\r\n HTTP/1.1" + end, Refusal::version, 505),
      refused("lines: vertical tab for a space", "GET\x0b/x HTTP/1.1" + end, Refusal::method),
      refused("lines: form feed for a space", "GET /x\x0cHTTP/1.1" + end, Refusal::target),
      refused("lines: wide space for a space", "GET /x\xa0HTTP/1.1" + end, Refusal::target),
      refused("lines: a second request line in the target", "GET /x HTTP/1.1\rGET /evil HTTP/1.1" + end,
              Refusal::bare_cr_lf),
      refused("lines: two versions", "GET /x HTTP/1.1 HTTP/1.1" + end, Refusal::malformed),
      refused("lines: a version behind a tab", "GET /x \tHTTP/1.1" + end, Refusal::malformed),
      refused("lines: a version of one digit", "GET /x HTTP/1" + end, Refusal::malformed),
      refused("lines: a version with a comma", "GET /x HTTP/1,1" + end, Refusal::malformed),
      refused("lines: a version with zeros", "GET /x HTTP/01.1" + end, Refusal::malformed),
      refused("lines: a version with a plus", "GET /x HTTP/+1.1" + end, Refusal::malformed),
      refused("lines: a version of 3", "GET /x HTTP/3.0" + end, Refusal::version, 505),
      refused("lines: a version of 1.9", "GET /x HTTP/1.9" + end, Refusal::version, 505),
      refused("lines: a version of 0.9 with fields", "POST /x HTTP/0.9" + fields + "Content-Length: 4\r\n\r\nbody",
              Refusal::version, 505),
      refused("lines: no version, with fields", "GET /x" + end, Refusal::version, 505),
      refused("lines: a version of NUL", "GET /x HTTP/1.\0"s + end, Refusal::malformed),
      refused("lines: the first field begins with a space", "GET /x HTTP/1.1\r\n X: y" + end, Refusal::obs_fold),
      refused("lines: a field of a colon", "GET /x HTTP/1.1" + fields + ":\r\n\r\n", Refusal::field_name),
      refused("lines: a field of a space", "GET /x HTTP/1.1" + fields + " \r\n\r\n", Refusal::obs_fold),
      refused("lines: a field without a colon at the end", "GET /x HTTP/1.1" + fields + "X\r\n\r\n", Refusal::field_name),
      refused("lines: a request for a field", "GET /x HTTP/1.1" + fields + "GET /evil HTTP/1.1\r\n\r\n",
              Refusal::field_name),
      refused("lines: another protocol's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Refusal::version, 505),
      refused("lines: another protocol's hello", "\x16\x03\x01\x01\xfe\x01", Refusal::method),
      refused("lines: a PROXY header", "PROXY TCP4 6.6.6.6 7.7.7.7 1 2\r\nGET /x HTTP/1.1" + end, Refusal::target),
  };
}

inline std::vector<Shape> target_shapes() {
  auto const bad = [](std::string const& name, std::string const& request_target) {
    return refused("target: " + name, test::target(request_target), Refusal::target);
  };
  auto const bad_host = [](std::string const& name, std::string const& value, Refusal refusal = Refusal::host) {
    return refused("host: " + name, test::host(value), refusal);
  };
  auto const host_is = [](std::string const& name, std::string const& value, std::string const& seen) {
    return forwarded("host: " + name, test::host(value), "GET", "/x", "", seen);
  };
  return {
      gets("absolute", "http://a.test/x", "/x"),
      gets("absolute, another host", "http://b.test/x", "/x", "b.test"),
      gets("absolute, in capitals", "HTTP://B.TEST/x", "/x", "b.test"),
      gets("absolute, of https", "https://b.test/x", "/x", "b.test"),
      gets("absolute, with a port", "http://b.test:81/x", "/x", "b.test:81"),
      gets("absolute, without a path", "http://b.test", "/", "b.test"),
      gets("absolute, a query alone", "http://b.test?/x", "/?/x", "b.test"),
      gets("absolute in a path", "/http://b.test/x", "/http://b.test/x"),
      gets("a host in a path", "//b.test/x", "//b.test/x"),
      gets("user and host in a path", "//u@b.test/x", "//u@b.test/x"),
      gets("dots", "/x/../../y/./z/..;/", "/x/../../y/./z/..;/"),
      gets("dots in escapes", "/x%2f%2e%2e%2fy", "/x%2f%2e%2e%2fy"),
      gets("backslashes", "/x\\..\\y", "/x\\..\\y"),
      gets("a request in escapes", "/x%20HTTP/1.1%0d%0aHost:%20b.test", "/x%20HTTP/1.1%0d%0aHost:%20b.test"),
      gets("an escape of an escape", "/x%2500%252e", "/x%2500%252e"),
      gets("question marks", "/x???", "/x???"),
      gets("bad escapes in its query", "/x?%%00%0d%0a%zz", "/x?%%00%0d%0a%zz"),
      gets("quotes and brackets", "/x\"<>[]{}|^`'", "/x\"<>[]{}|^`'"),
      forwarded("target: asterisk", "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n", "OPTIONS", "*"),
      forwarded("target: a server whole", "OPTIONS http://b.test HTTP/1.1\r\nHost: a.test\r\n\r\n", "OPTIONS", "*", "",
                "b.test"),
      bad("absolute, with a user", "http://evil@b.test/x"),
      bad("absolute, with user and word", "http://a.test:80@b.test/x"),
      bad("absolute, without a host", "http:///x"),
      bad("absolute, a port alone", "http://:80/x"),
      bad("absolute, of one slash", "http:/b.test/x"),
      bad("absolute, of no slash", "http:b.test/x"),
      bad("absolute, of another scheme", "file:///x"),
      bad("absolute, a space in escapes", "http://b.test%20/x"),
      bad("absolute, a backslash", "http://b.test\\@a.test/x"),
      bad("absolute, a fragment", "http://b.test#@a.test/x"),
      bad("absolute, two hosts", "http://b.test,a.test/x"),
      bad("absolute, a port that is none", "http://b.test:8x/x"),
      bad("relative", "x"),
      bad("a query alone", "?x"),
      bad("an authority", "b.test:80"),
      bad("an at", "@b.test/x"),
      bad("a fragment", "/x#y"),
      bad("a CR in escapes that ends nowhere", "/x%0"),
      bad("a NUL in escapes", "/x%00"),
      bad("asterisk of GET", "*"),
      bad("a tab", "/x\ty"),
      bad("a high byte", "/x\xc3\xa9"),
      host_is("in capitals", "A.TEST", "a.test"),
      host_is("with a final dot", "a.test.", "a.test"),
      host_is("with its default port", "a.test:80", "a.test"),
      host_is("an address", "[::1]:81", "[::1]:81"),
      host_is("with underscores", "my_site.test", "my_site.test"),
      bad_host("a list", "a.test, b.test"),
      bad_host("two words", "a.test b.test"),
      bad_host("a tab", "a.test\tb.test"),
      bad_host("a path", "a.test/x"),
      bad_host("a query", "a.test?x"),
      bad_host("a fragment", "a.test#x"),
      bad_host("a user", "u@a.test"),
      bad_host("a user behind a port", "a.test:80@b.test"),
      bad_host("a backslash", "a.test\\b.test"),
      bad_host("escapes", "%61.test"),
      bad_host("quotes", "\"a.test\""),
      bad_host("a semicolon", "a.test;b.test"),
      bad_host("an equals sign", "a.test=b"),
      bad_host("an asterisk", "*"),
      bad_host("a dot", "."),
      bad_host("a dot before", ".a.test"),
      bad_host("two dots behind", "a.test.."),
      bad_host("a port of letters", "a.test:b"),
      bad_host("a port too large", "a.test:65536"),
      bad_host("two ports", "a.test:80:81"),
      bad_host("an address without its end", "[::1"),
      bad_host("an address and more", "[::1]b"),
      bad_host("a zone", "[fe80::1%25eth0]"),
      bad_host("high bytes", "\xc3\xa9.test"),
      bad_host("a NUL", "a.test\0"s, Refusal::field_value),
      bad_host("folded", "a.test\r\n b.test", Refusal::obs_fold),
      bad_host("twice", "a.test\r\nHost: a.test", Refusal::host_repeated),
      bad_host("twice, otherwise", "a.test\r\nHOST: b.test", Refusal::host_repeated),
      bad_host("twice, once empty", "a.test\r\nHost:", Refusal::host_repeated),
      bad_host("with a space before its colon", "a.test\r\nHost : b.test", Refusal::field_name),
      refused("host: twice beside an absolute target",
              "GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", Refusal::host_repeated),
      refused("host: bad beside an absolute target", "GET http://a.test/x HTTP/1.1\r\nHost: a b\r\n\r\n", Refusal::host),
      refused("host: none", "GET /x HTTP/1.1\r\nX: y\r\n\r\n", Refusal::host_missing),
      refused("host: none beside an absolute target", "GET http://a.test/x HTTP/1.1\r\nX: y\r\n\r\n", Refusal::host_missing),
  };
}

// Fields about the connection, which claim to change how a message is read.
inline std::vector<Shape> field_shapes() {
  std::string const length = "\r\nContent-Length: " + evil_size, chunked = "\r\nTransfer-Encoding: chunked";
  auto const whole = [&](std::string const& name, std::string const& line) {
    return forwarded("fields: " + name, post(line + length, evil_request), "POST", "/x", evil_request);
  };
  auto const in_chunks = [&](std::string const& name, std::string const& line) {
    return forwarded("fields: " + name + ", in chunks", post(line + chunked, evil_chunks), "POST", "/x", evil_request);
  };
  auto const going_on = [&](std::string const& name, std::string const& line) {
    auto shape = whole(name, line);
    shape.continues = true;
    return shape;
  };
  return {
      whole("Connection names the length", "Connection: Content-Length"),
      in_chunks("Connection names the coding", "Connection: Transfer-Encoding"),
      whole("Connection names the host", "Connection: Host"),
      whole("Connection names all of them", "Connection: keep-alive, Host, Content-Length, Transfer-Encoding, Connection"),
      in_chunks("Connection names all of them",
                "Connection: keep-alive, Host, Content-Length, Transfer-Encoding, Connection"),
      whole("Connection in two lines", "Connection: Content-Length\r\nConnection: keep-alive"),
      whole("close and the length", "Connection: Content-Length, close").closing(),
      in_chunks("close", "Connection: close").closing(),
      whole("close in capitals", "CONNECTION: CLOSE").closing(),
      whole("Proxy-Connection", "Proxy-Connection: Content-Length, close"),
      whole("Keep-Alive", "Keep-Alive: timeout=0, max=0, Content-Length"),
      whole("TE", "TE: chunked, trailers\r\nConnection: TE"),
      in_chunks("Trailer", "Trailer: Content-Length, Transfer-Encoding, Host"),
      whole("Content-Encoding", "Content-Encoding: chunked"),
      whole("Content-Range", "Content-Range: bytes 0-3/4"),
      whole("an upgrade to h2c", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__"),
      whole("an upgrade to websocket with a body", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"),
      in_chunks("an upgrade to TLS", "Connection: Upgrade\r\nUpgrade: TLS/1.0"),
      going_on("Expect", "Expect: 100-continue"),
      going_on("Expect in capitals", "EXPECT: 100-CONTINUE"),
      going_on("Expect twice", "Expect: 100-continue\r\nExpect: 100-continue"),
      going_on("Expect in a list", "Expect: x, 100-continue"),
      whole("Expect something else", "Expect: 200-ok"),
      whole("Expect nothing", "Expect:"),
      whole("the length in another spelling", "Content_Length: 4\r\nContent.Length: 4\r\nX-Content-Length: 4"),
      whole("the coding in another spelling", "Transfer_Encoding: chunked\r\nX-Transfer-Encoding: chunked"),
      whole("the method in a field", "X-HTTP-Method-Override: GET\r\nX-Method-Override: HEAD"),
      whole("the target in a field", "X-Original-URL: /evil\r\nX-Rewrite-URL: /evil"),
      forwarded("fields: a length of none and a request behind", post("Content-Length: 0"), "POST", "/x"),
      forwarded("fields: a body of GET", "GET /x HTTP/1.1\r\nHost: a.test" + length + "\r\n\r\n" + evil_request, "GET", "/x",
                evil_request),
      forwarded("fields: a body of HEAD", "HEAD /x HTTP/1.1\r\nHost: a.test" + length + "\r\n\r\n" + evil_request, "HEAD",
                "/x", evil_request),
      forwarded("fields: a body of OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: a.test" + length + "\r\n\r\n" + evil_request,
                "OPTIONS", "*", evil_request),
      answered("fields: CONNECT", "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n", 405),
      answered("fields: CONNECT with a length",
               "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80" + length + "\r\n\r\n" + evil_request, 405)
          .closing(),
      answered("fields: CONNECT in chunks",
               "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80" + chunked + "\r\n\r\n" + evil_chunks, 405)
          .closing(),
      answered("fields: TRACE", "TRACE /x HTTP/1.1\r\nHost: a.test\r\n\r\n", 405),
      answered("fields: TRACE with a body", "TRACE /x HTTP/1.1\r\nHost: a.test" + length + "\r\n\r\n" + evil_request, 405)
          .closing(),
      answered("fields: PURGE", "PURGE /x HTTP/1.1\r\nHost: a.test\r\n\r\n", 405),
      answered("fields: PURGE with a body", "PURGE /x HTTP/1.1\r\nHost: a.test" + length + "\r\n\r\n" + evil_request, 405)
          .closing(),
      answered("fields: Max-Forwards of none", "OPTIONS /x HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 0\r\n\r\n", 200),
      answered("fields: Max-Forwards of none with a body",
               "OPTIONS /x HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 0" + length + "\r\n\r\n" + evil_request, 200)
          .closing(),
      answered("fields: only-if-cached", "GET /x HTTP/1.1\r\nHost: a.test\r\nCache-Control: only-if-cached\r\n\r\n", 504),
  };
}

}  // namespace weir::test
