#include <gtest/gtest.h>

#include <set>

#include "reading.hpp"

namespace weir::wire {
namespace {

using namespace std::string_literals;
using http::Method;

struct FaultyRow {
  std::string name;
  std::string bytes;
  ResponseFault fault = ResponseFault::malformed;
};

struct SoundRow {
  std::string name;
  std::string bytes;
  int status = 200;
  std::string_view reason = "OK";
  std::string_view framing = "length 3";
  bool keep_alive = true;
  Method method = Method::get;
};

std::string ok(std::string const& lines) { return "HTTP/1.1 200 OK\r\n" + lines + "\r\n"; }
std::string line(std::string const& status_line) { return status_line + "\r\nContent-Length: 3\r\n\r\n"; }

std::vector<FaultyRow> faulty_rows() {
  auto const framing = ResponseFault::framing;
  auto const too_large = ResponseFault::too_large;
  std::string many;
  for (int i = 0; i < 101; ++i) many += "X: y\r\n";
  return {
      {"another protocol", "SSH-2.0-OpenSSH"},
      {"one wrong byte", "h"},
      {"a body without a head", "<html>"},
      {"HTTP/0.9", line("HTTP/0.9 200 OK")},
      {"HTTP/1.2", line("HTTP/1.2 200 OK")},
      {"HTTP/2.0", line("HTTP/2.0 200 OK")},
      {"version alone", line("HTTP/1.1")},
      {"empty line before", "\r\n" + ok("")},
      {"two spaces before the status", line("HTTP/1.1  200 OK")},
      {"tab before the status", line("HTTP/1.1\t200 OK")},
      {"status of two digits", line("HTTP/1.1 20 OK")},
      {"status of four digits", line("HTTP/1.1 2000 OK")},
      {"status of letters", line("HTTP/1.1 2x0 OK")},
      {"status below 100", line("HTTP/1.1 099 OK")},
      {"status negative", line("HTTP/1.1 -20 OK")},
      {"tab behind the status", line("HTTP/1.1 200\tOK")},
      {"reason with NUL", line("HTTP/1.1 200 O\0K"s)},
      {"reason with a control byte", line("HTTP/1.1 200 O\x01K")},
      {"bare CR in the reason", line("HTTP/1.1 200 O\rK")},
      {"bare LF ends the status line", "HTTP/1.1 200 OK\nContent-Length: 3\r\n\r\n"},
      {"bare LF ends a field", ok("X: y\nContent-Length: 3\r\n")},
      {"bare CR in a value", ok("X: a\rb\r\n")},
      {"folded line", ok("X: a\r\n b\r\n")},
      {"folded line with a tab", ok("X: a\r\n\tb\r\n")},
      {"white space before the first field", ok(" X: a\r\n")},
      {"space before the colon", ok("X : a\r\n")},
      {"field name empty", ok(": a\r\n")},
      {"field line without a colon", ok("X\r\n")},
      {"field name with a space", ok("X Y: a\r\n")},
      {"field name with a high byte", ok("X\xE9: a\r\n")},
      {"value with NUL", ok("X: a\0b\r\n"s)},
      {"value with a control byte", ok("X: a\x08\r\n")},
      {"value with DEL", ok("X: a\x7F\r\n")},
      {"length with a plus", ok("Content-Length: +3\r\n"), framing},
      {"length with a minus", ok("Content-Length: -3\r\n"), framing},
      {"length empty", ok("Content-Length:\r\n"), framing},
      {"length in hexadecimal", ok("Content-Length: 0x3\r\n"), framing},
      {"length over 64 bits", ok("Content-Length: 18446744073709551616\r\n"), framing},
      {"length as a list of equals", ok("Content-Length: 5, 5\r\n"), framing},
      {"length as a list of others", ok("Content-Length: 5, 6\r\n"), framing},
      {"length repeated", ok("Content-Length: 5\r\nContent-Length: 5\r\n"), framing},
      {"length repeated differently", ok("Content-Length: 5\r\nContent-Length: 6\r\n"), framing},
      {"length, then chunked", ok("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), framing},
      {"chunked, then length", ok("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), framing},
      {"gzip, then length", ok("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n"), framing},
      {"coding gzip", ok("Transfer-Encoding: gzip\r\n"), framing},
      {"coding identity", ok("Transfer-Encoding: identity\r\n"), framing},
      {"coding gzip, chunked", ok("Transfer-Encoding: gzip, chunked\r\n"), framing},
      {"coding chunked, gzip", ok("Transfer-Encoding: chunked, gzip\r\n"), framing},
      {"coding xchunked", ok("Transfer-Encoding: xchunked\r\n"), framing},
      {"coding empty", ok("Transfer-Encoding:\r\n"), framing},
      {"chunked twice", ok("Transfer-Encoding: chunked, chunked\r\n"), framing},
      {"chunked in two lines", ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), framing},
      {"chunked with parameters", ok("Transfer-Encoding: chunked;a=b\r\n"), framing},
      {"chunked in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", framing},
      {"lengths that differ on a 304", "HTTP/1.1 304 N\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", framing},
      {"one field too many", ok(many), too_large},
      {"one byte too many", ok("X: " + std::string(16 * 1024 - ok("X: \r\n").size() + 1, 'a') + "\r\n"), too_large},
      {"fields without an end", "HTTP/1.1 200 OK\r\nX: " + std::string(16 * 1024, 'a'), too_large},
      {"status line without an end", "HTTP/1.1 200 " + std::string(16 * 1024, 'a'), too_large},
  };
}

std::vector<SoundRow> sound_rows() {
  std::string most;
  for (int i = 0; i < 99; ++i) most += "X: y\r\n";
  std::string const chunked = "Transfer-Encoding: chunked\r\n";
  std::string const length = "Content-Length: 3\r\n";
  return {
      {"plain", ok(length)},
      {"body behind", ok(length) + "abc"},
      {"reason of words", line("HTTP/1.1 404 Not  Found"), 404, "Not  Found"},
      {"reason empty", line("HTTP/1.1 200 "), 200, ""},
      {"reason missing with its space", line("HTTP/1.1 200"), 200, ""},
      {"reason with high bytes", line("HTTP/1.1 200 tr\xC3\xA8s"), 200, "tr\xC3\xA8s"},
      {"reason with a tab", line("HTTP/1.1 200 a\tb"), 200, "a\tb"},
      {"status 599", line("HTTP/1.1 599 X"), 599, "X"},
      {"status 600", line("HTTP/1.1 600 X"), 600, "X"},
      {"status 999", line("HTTP/1.1 999 X"), 999, "X"},
      {"length 0", ok("Content-Length: 0\r\n"), 200, "OK", "length 0"},
      {"length of 64 bits", ok("Content-Length: 18446744073709551615\r\n"), 200, "OK", "length 18446744073709551615"},
      {"length of 19 digits", ok("Content-Length: 9999999999999999999\r\n"), 200, "OK", "length 9999999999999999999"},
      {"length with zeros before it", ok("Content-Length: 0000000000000000000003\r\n")},
      {"length with blanks around it", ok("Content-Length: \t3 \r\n")},
      {"length over Beast's limit", ok("Content-Length: 8388609\r\n"), 200, "OK", "length 8388609"},
      {"chunked", ok(chunked), 200, "OK", "chunked"},
      {"chunked in capitals", ok("TRANSFER-encoding:CHUNKED \r\n"), 200, "OK", "chunked"},
      {"neither: until the close", ok("X: y\r\n"), 200, "OK", "until_close", false},
      {"no fields: until the close", ok(""), 200, "OK", "until_close", false},
      {"close", ok(length + "Connection: close\r\n"), 200, "OK", "length 3", false},
      {"close among others", ok(length + "Connection: keep-alive, Close\r\n"), 200, "OK", "length 3", false},
      {"1.0", line("HTTP/1.0 200 OK"), 200, "OK", "length 3", false},
      {"1.0 with keep-alive", "HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: Keep-Alive\r\n\r\n"},
      {"1.0 until the close", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", 200, "OK", "until_close", false},
      {"HEAD with a length", ok(length), 200, "OK", "none", true, Method::head},
      {"HEAD with chunked", ok(chunked), 200, "OK", "none", true, Method::head},
      {"HEAD with neither", ok(""), 200, "OK", "none", true, Method::head},
      {"204", "HTTP/1.1 204 N\r\n\r\n", 204, "N", "none"},
      {"204 with length 0", "HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n", 204, "N", "none"},
      {"204 that announces a length", line("HTTP/1.1 204 N"), 204, "N", "none", false},
      {"204 that announces chunks", "HTTP/1.1 204 N\r\n" + chunked + "\r\n", 204, "N", "none", false},
      {"304", "HTTP/1.1 304 N\r\n\r\n", 304, "N", "none"},
      {"304 with a length", line("HTTP/1.1 304 N"), 304, "N", "none"},
      {"304 with chunked", "HTTP/1.1 304 N\r\n" + chunked + "\r\n", 304, "N", "none"},
      {"205 is framed as any", line("HTTP/1.1 205 R"), 205, "R"},
      {"100", "HTTP/1.1 100 Continue\r\n\r\n" + ok(length), 100, "Continue", "none"},
      {"103 with fields", "HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n", 103, "E", "none"},
      {"199", "HTTP/1.1 199 X\r\n\r\n", 199, "X", "none"},
      {"100 that announces a length", line("HTTP/1.1 100 C"), 100, "C", "none", false},
      {"101 ends HTTP on its connection", "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", 101, "S",
       "none", false},
      {"high bytes in a value", ok(length + "X: \x80\xFF caf\xC3\xA9\r\n")},
      {"odd field name", ok(length + "!#$%&'*+-.^_`|~09az: y\r\n")},
      {"value empty", ok(length + "X:\r\nY: \t \r\n")},
      {"repeated fields", ok(length + "Set-Cookie: a\r\nSet-Cookie: b\r\n")},
      {"most fields", ok(length + most)},
      {"largest head", ok(length + "X: " + std::string(16 * 1024 - ok(length + "X: \r\n").size(), 'a') + "\r\n")},
  };
}

// PITFALLS, first table: Beast is laxer than RFC 9112 6.3
TEST(ResponseHead, FaultsEachRow) {
  std::set<std::string> names;
  for (auto const& row : faulty_rows()) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second);
    ResponseReader reader;
    auto const head = reader.read(row.bytes);
    EXPECT_EQ(step_name(head.step), "refused");
    EXPECT_EQ(static_cast<int>(head.fault), static_cast<int>(row.fault));
  }
  EXPECT_GE(names.size(), 60u);
}

TEST(ResponseHead, ReadsEachRow) {
  for (auto const& row : sound_rows()) {
    SCOPED_TRACE(row.name);
    ResponseReader reader(row.method);
    auto const head = reader.read(row.bytes);
    ASSERT_EQ(step_name(head.step), "ready") << static_cast<int>(head.fault);
    EXPECT_EQ(head.response.status, row.status);
    EXPECT_EQ(head.response.reason, row.reason);
    EXPECT_EQ(framing_text(head.response.framing), row.framing);
    EXPECT_EQ(head.response.keep_alive, row.keep_alive);
    EXPECT_EQ(head.size, row.bytes.find("\r\n\r\n") + 4);
  }
}

void expect_same_when_cut(std::string const& bytes, Method method) {
  ResponseReader whole_reader(method);
  auto const whole = whole_reader.read(bytes);
  auto const expected = text_of(whole);
  std::size_t const end = whole.step == HeadStep::ready ? whole.size : bytes.size();
  ResponseReader by_byte(method);
  bool ended = false;
  std::size_t const step = std::max<std::size_t>(1, bytes.size() / 2000);
  for (std::size_t cut = 0; cut < end; cut += (cut < 200 || end - cut < 200) ? 1 : step) {
    ResponseReader reader(method);
    auto const first = reader.read(std::string_view(bytes).substr(0, cut));
    ASSERT_EQ(text_of(first.step == HeadStep::need_more ? reader.read(bytes) : first), expected) << "cut at " << cut;
    if (ended) continue;
    auto const next = by_byte.read(std::string_view(bytes).substr(0, cut));
    ended = next.step != HeadStep::need_more;
    if (ended) { ASSERT_EQ(text_of(next), expected) << "byte by byte at " << cut; }
  }
  if (!ended) { ASSERT_EQ(text_of(by_byte.read(bytes)), expected); }
}

TEST(ResponseHead, SaysTheSameForEveryCut) {
  for (auto const& row : faulty_rows()) {
    SCOPED_TRACE(row.name);
    expect_same_when_cut(row.bytes, Method::get);
  }
  for (auto const& row : sound_rows()) {
    SCOPED_TRACE(row.name);
    expect_same_when_cut(row.bytes, row.method);
  }
}

// PITFALLS: a 100 or 103 is a head of its own; the final one stands behind it
TEST(ResponseHead, InterimHeadsAreReadOneByOne) {
  std::string const bytes = "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\n" + ok("Content-Length: 3\r\n");
  ResponseReader reader;
  std::vector<int> seen;
  for (std::string_view rest = bytes; !rest.empty();) {
    auto const head = reader.read(rest);
    ASSERT_EQ(step_name(head.step), "ready");
    seen.push_back(head.response.status);
    rest.remove_prefix(head.size);
  }
  EXPECT_EQ(seen, (std::vector<int>{100, 103, 200}));
}

// PITFALLS: every line is kept, in order
TEST(ResponseHead, KeepsEveryLine) {
  std::string const bytes = ok("Cache-Control: max-age=60\r\nCache-Control: private\r\nContent-Length: 3\r\n");
  ResponseReader reader;
  EXPECT_EQ(fields_text(reader.read(bytes).response.fields),
            "Cache-Control=max-age=60\nCache-Control=private\nContent-Length=3\n");
}

TEST(ResponseHead, HoldsTheLimitsOfTheCaller) {
  HeadLimits limits;
  limits.field_count = 1;
  EXPECT_EQ(step_name(ResponseReader(Method::get, limits).read(ok("X: y\r\n")).step), "ready");
  EXPECT_EQ(ResponseReader(Method::get, limits).read(ok("X: y\r\nX: y\r\n")).fault, ResponseFault::too_large);
  limits = {};
  limits.head_bytes = ok("").size();
  EXPECT_EQ(step_name(ResponseReader(Method::get, limits).read(ok("")).step), "ready");
  EXPECT_EQ(ResponseReader(Method::get, limits).read(ok("X: y\r\n")).fault, ResponseFault::too_large);
  limits = {};
  limits.target = 1;
  limits.body = 1;
  EXPECT_EQ(step_name(ResponseReader(Method::get, limits).read(ok("Content-Length: 99\r\n")).step), "ready");
}

}  // namespace
}  // namespace weir::wire
