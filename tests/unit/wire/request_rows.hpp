// Requests as raw bytes, each with its verdict; used whole, cut in pieces, and against a second parser.
#pragma once

#include <string>
#include <vector>

#include "weir/wire/head.hpp"

namespace weir::wire {

struct RefusedRow {
  std::string name;
  std::string bytes;
  Refusal refusal;
};

// What an accepted row must mean. The fields are checked against the second parser.
struct AcceptedRow {
  std::string name;
  std::string bytes;
  std::string_view method = "GET";
  std::string_view authority = "a";
  std::string_view path = "/";
  std::string_view framing = "none";
  bool keep_alive = true;
};

// A 1.1 request with one more line, and one with a whole request line of its own.
inline std::string with(std::string const& line) { return "GET / HTTP/1.1\r\nHost: a\r\n" + line + "\r\n\r\n"; }
inline std::string start(std::string const& line) { return line + "\r\nHost: a\r\n\r\n"; }
inline std::string get(std::string const& target) { return start("GET " + target + " HTTP/1.1"); }
inline std::string hosted(std::string const& host) { return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"; }

std::vector<RefusedRow> const& refused_rows();
std::vector<AcceptedRow> const& accepted_rows();

}  // namespace weir::wire
