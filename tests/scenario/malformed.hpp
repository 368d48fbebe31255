// Requests to be refused, and how to write them.
#pragma once

#include "scenario/weir.hpp"

namespace weir::test {

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

}  // namespace weir::test
