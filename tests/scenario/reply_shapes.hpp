// Answers of an origin in shapes that two readers might read in two ways, and what may come of them.
#pragma once

#include "scenario/framing_shapes.hpp"

namespace weir::test {

enum class Reading {
  good,    // as one answer, with this body
  bad,     // no answer: the client gets a 502
  broken,  // an answer that has no end: the client must see that
};

struct Reply {
  std::string name, bytes;
  Reading reading = Reading::bad;
  std::string body{};   // of a good one
  bool closes = false;  // the origin closes behind it
  bool kept = false;    // and its connection serves the next fetch
};

inline std::string const fresh_line = "Cache-Control: max-age=600\r\n";
// What nobody may ever get.
inline std::string const stray_answer = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 6\r\n\r\nstolen";

// The lines and the body of a request's shape, behind a status line.
inline Reply as_reply(Shape const& shape) {
  std::string const begin = "POST /x HTTP/1.1\r\nHost: a.test\r\n";
  Reply reply{.name = shape.name, .bytes = "HTTP/1.1 200 OK\r\n" + fresh_line + shape.bytes.substr(begin.size())};
  if (shape.fate == Fate::forwarded) {
    reply.reading = Reading::good;
    reply.body = shape.body;
    reply.kept = true;
  } else if (shape.fate == Fate::cut || shape.refusal == Refusal::body_too_large) {
    reply.reading = Reading::broken;
    reply.closes = true;
  }
  return reply;
}

inline std::vector<Reply> replies_shaped_as_requests() {
  std::vector<Reply> replies;
  for (auto const& shapes : {length_shapes(), coding_shapes(), shapes_with_both(), chunk_shapes()})
    for (auto const& shape : shapes)
      if (shape.bytes.starts_with("POST /x HTTP/1.1\r\nHost: a.test\r\n")) replies.push_back(as_reply(shape));
  return replies;
}

inline std::vector<Reply> bad_status_lines() {
  std::string const rest = "\r\n" + fresh_line + "Content-Length: 6\r\n\r\nstolen";
  std::vector<Reply> replies;
  for (auto const& line : std::vector<std::string>{"HTTP/1.1 000 X",
                                                   "HTTP/1.1 099 X",
                                                   "HTTP/1.1 99 X",
                                                   "HTTP/1.1 1000 X",
                                                   "HTTP/1.1 20 X",
                                                   "HTTP/1.1 2 X",
                                                   "HTTP/1.1 2OO OK",
                                                   "HTTP/1.1 -20 OK",
                                                   "HTTP/1.1 +200 OK",
                                                   "HTTP/1.1 0x200 OK",
                                                   "HTTP/1.1 200OK",
                                                   "HTTP/1.1 200\tOK",
                                                   "HTTP/1.1 200,OK",
                                                   "HTTP/1.1  200 OK",
                                                   "HTTP/1.1\t200 OK",
                                                   "HTTP/1.1 OK 200",
                                                   "HTTP/1.1 OK",
                                                   "HTTP/1.1 ",
                                                   "HTTP/1.1",
                                                   "HTTP/1.1 200 O\0K"s,
                                                   "HTTP/1.1 200 O\rK",
                                                   "HTTP/1.1 200 O\x7fK",
                                                   "HTTP/1.1 101 Switching Protocols",
                                                   "HTTP/1.2 200 OK",
                                                   "HTTP/1.10 200 OK",
                                                   "HTTP/1 200 OK",
                                                   "HTTP/0.9 200 OK",
                                                   "HTTP/2 200 OK",
                                                   "HTTP/2.0 200 OK",
                                                   "HTTP/3 200",
                                                   "http/1.1 200 OK",
                                                   "HTTPS/1.1 200 OK",
                                                   "HTTP 200 OK",
                                                   "HTTP:/1.1 200 OK",
                                                   "ICY 200 OK",
                                                   " HTTP/1.1 200 OK",
                                                   "\r\nHTTP/1.1 200 OK",
                                                   "\nHTTP/1.1 200 OK",
                                                   "\0HTTP/1.1 200 OK"s,
                                                   "\xef\xbb\xbfHTTP/1.1 200 OK",
                                                   "xHTTP/1.1 200 OK",
                                                   "0\r\n\r\nHTTP/1.1 200 OK",
                                                   "Content-Length: 0\r\n\r\nHTTP/1.1 200 OK",
                                                   "GET /evil HTTP/1.1",
                                                   "<html>stolen</html>",
                                                   "SSH-2.0-OpenSSH_9.2",
                                                   "220 mail.test ESMTP",
                                                   "PRI * HTTP/2.0\r\n\r\nSM",
                                                   "\0\0\x12\4\0\0\0\0\0"s,
                                                   "\x15\x03\x03\0\x02\x02\x28"s})
    replies.push_back({.name = "status line " + testing::PrintToString(line), .bytes = line + rest});
  return replies;
}

inline std::vector<Reply> bad_reply_heads() {
  std::string const ok = "HTTP/1.1 200 OK\r\n" + fresh_line, end = "Content-Length: 6\r\n\r\nstolen";
  std::string many;
  for (int i = 0; i < 300; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  return {
      {.name = "LF for every end", .bytes = "HTTP/1.1 200 OK\nCache-Control: max-age=600\nContent-Length: 6\n\nstolen"},
      {.name = "LF behind the status line", .bytes = "HTTP/1.1 200 OK\n" + fresh_line + end},
      {.name = "LF behind a field", .bytes = ok + "X: y\n" + end},
      {.name = "LF for the empty line", .bytes = ok + "Content-Length: 6\r\n\nstolen"},
      {.name = "CR CR LF", .bytes = ok + "X: y\r\r\n" + end},
      {.name = "a bare CR in a value", .bytes = ok + "X: y\rSet-Cookie: a=b\r\n" + end},
      {.name = "a NUL in a value", .bytes = ok + "X: y\0z\r\n"s + end},
      {.name = "a NUL in a name", .bytes = ok + "X\0Y: z\r\n"s + end},
      {.name = "a DEL in a value", .bytes = ok + "X: \x7f\r\n" + end},
      {.name = "a space before a colon", .bytes = ok + "X : y\r\n" + end},
      {.name = "a space in a name", .bytes = ok + "X Y: z\r\n" + end},
      {.name = "a high byte in a name", .bytes = ok + "X\xc3\xa9: z\r\n" + end},
      {.name = "no colon", .bytes = ok + "no field\r\n" + end},
      {.name = "no name", .bytes = ok + ": y\r\n" + end},
      {.name = "a second status line", .bytes = ok + "HTTP/1.1 200 OK\r\n" + end},
      {.name = "a folded field", .bytes = ok + "X: y\r\n z\r\n" + end},
      {.name = "a folded Cache-Control", .bytes = "HTTP/1.1 200 OK\r\nCache-Control: private,\r\n max-age=600\r\n" + end},
      {.name = "a first field that begins with a space", .bytes = "HTTP/1.1 200 OK\r\n " + fresh_line + end},
      {.name = "chunks in HTTP/1.0",
       .bytes = "HTTP/1.0 200 OK\r\n" + fresh_line + "Transfer-Encoding: chunked\r\n\r\n" + "6\r\nstolen\r\n0\r\n\r\n"},
      {.name = "length and chunks in HTTP/1.0",
       .bytes = "HTTP/1.0 200 OK\r\n" + fresh_line + "Transfer-Encoding: chunked\r\n" + end},
      {.name = "a 204 with two lengths", .bytes = "HTTP/1.1 204 X\r\nContent-Length: 0\r\nContent-Length: 6\r\n\r\nstolen"},
      {.name = "a 304 with length and chunks",
       .bytes = "HTTP/1.1 304 X\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {.name = "a field of 20,000 bytes", .bytes = ok + "X: " + std::string(20'000, 'y') + "\r\n" + end},
      {.name = "a field without end", .bytes = ok + "X: " + std::string(200'000, 'y')},
      {.name = "a status line without end", .bytes = "HTTP/1.1 200 " + std::string(200'000, 'y')},
      {.name = "300 fields", .bytes = ok + many + end},
      {.name = "a 100 with a body", .bytes = "HTTP/1.1 100 X\r\nContent-Length: 6\r\n\r\nstolen" + ok + end},
      {.name = "a 103 in chunks",
       .bytes = "HTTP/1.1 103 X\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nstolen\r\n0\r\n\r\n" + ok + end},
      {.name = "a 100 that is malformed", .bytes = "HTTP/1.1 100 X\r\nX : y\r\n\r\n" + ok + end},
      {.name = "bytes between 100 and 200", .bytes = "HTTP/1.1 100 X\r\n\r\n\r\n" + ok + end},
      {.name = "a head that ends with the connection", .bytes = ok + "Content-Length: 6\r\n", .closes = true},
      {.name = "a status line that ends with the connection", .bytes = "HTTP/1.1 200 OK", .closes = true},
  };
}

// Good ones with something behind them or a strange end, and those that break off.
inline std::vector<Reply> reply_ends() {
  std::string const ok = "HTTP/1.1 200 OK\r\n" + fresh_line, chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  std::string const four = ok + "Content-Length: 4\r\n\r\nbody", last = "0\r\n\r\n";
  std::string continues, hints;
  for (int i = 0; i < 1'000; ++i) continues += "HTTP/1.1 100 Continue\r\n\r\n";
  for (int i = 0; i < 100; ++i) hints += "HTTP/1.1 103 X\r\nLink: </" + std::string(500, 'a') + ">\r\n\r\n";
  auto const good = [](std::string name, std::string bytes, bool kept = false, bool closes = false) {
    return Reply{.name = std::move(name),
                 .bytes = std::move(bytes),
                 .reading = Reading::good,
                 .body = "body",
                 .closes = closes,
                 .kept = kept};
  };
  auto const broken = [](std::string name, std::string bytes) {
    return Reply{.name = std::move(name), .bytes = std::move(bytes), .reading = Reading::broken, .closes = true};
  };
  return {
      good("a length", four, true),
      good("a length in HTTP/1.0", "HTTP/1.0 200 OK\r\n" + fresh_line + "Content-Length: 4\r\n\r\nbody"),
      good("a length and close", ok + "Connection: close\r\nContent-Length: 4\r\n\r\nbody"),
      good("no reason", "HTTP/1.1 200\r\n" + fresh_line + "Content-Length: 4\r\n\r\nbody", true),
      good("until it closes", ok + "\r\nbody", false, true),
      good("an answer behind a length", four + stray_answer),
      good("an answer behind the last chunk", chunked + "4\r\nbody\r\n" + last + stray_answer),
      good("an empty line behind a length", four + "\r\n"),
      good("a byte behind a length", four + "x"),
      good("a NUL behind a length", four + "\0"s),
      good("a chunk behind the last", chunked + "4\r\nbody\r\n" + last + "6\r\nstolen\r\n" + last),
      good("Connection names the length", ok + "Connection: Content-Length\r\nContent-Length: 4\r\n\r\nbody", true),
      good("Connection names the coding",
           ok + "Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n" + last, true),
      good("a thousand 100", continues + four, true),
      good("a hundred 103", hints + four, true),
      good("a 100 that closes", "HTTP/1.1 100 X\r\nConnection: close\r\n\r\n" + four),
      good("a 100 that promises a body, which is an answer",
           "HTTP/1.1 100 X\r\nContent-Length: " + std::to_string(four.size()) + "\r\n\r\n" + four),
      good("lengths in another spelling", ok + "Content_Length: 9\r\nX-Content-Length: 9\r\nContent-Length: 4\r\n\r\nbody",
           true),
      good("a coding in another spelling", ok + "Transfer_Encoding: chunked\r\nContent-Length: 4\r\n\r\nbody", true),
      broken("a length too long", ok + "Content-Length: 5\r\n\r\nbody"),
      broken("no byte of a length", ok + "Content-Length: 5\r\n\r\n"),
      broken("no last chunk", chunked + "4\r\nbody\r\n"),
      broken("no end of the last chunk", chunked + "4\r\nbody\r\n0\r\n"),
      broken("the middle of a chunk", chunked + "8\r\nbody"),
      broken("the middle of a size", chunked + "4\r\nbody\r\n4"),
      broken("the middle of a trailer", chunked + "4\r\nbody\r\n0\r\nX: y\r\n"),
      broken("an answer for a chunk", chunked + stray_answer),
      broken("an answer between chunks", chunked + "4\r\nbody\r\n" + stray_answer + "\r\n" + last),
      broken("a chunk beyond what a body may be", chunked + "7fffffffffffffff\r\nbody"),
  };
}

}  // namespace weir::test
