// A request in a shape that two readers might read in two ways, and what is to become of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenario/malformed.hpp"

namespace weir::test {

using namespace std::string_literals;

enum class Fate {
  refused,    // by its head: the origin sees no byte of it, the connection ends
  cut,        // in its body: the origin never has a whole message, the connection ends
  answered,   // by Weir itself
  forwarded,  // as one message
};

struct Shape {
  std::string name, bytes;
  Fate fate = Fate::refused;
  int status = 400;
  Refusal refusal = Refusal::none;                 // of a head
  std::string method{}, target{}, host{}, body{};  // of what is forwarded
  bool closes = false;                             // the client's connection ends with the answer
  bool continues = false;                          // the client is told to go on
  bool is_old = false;                             // HTTP/1.0

  Shape closing() const {
    auto shape = *this;
    shape.closes = true;
    return shape;
  }
};

// What would be a request of its own to whoever takes the body for one.
inline std::string const evil_request = "GET /evil HTTP/1.1\r\nHost: a.test\r\n\r\n";

inline std::string hex(std::size_t number) {
  char text[20];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%zx", number))};
}
inline std::string const evil_size = std::to_string(evil_request.size());
inline std::string const evil_chunks = hex(evil_request.size()) + "\r\n" + evil_request + "\r\n0\r\n\r\n";

// A POST of /x with these lines behind its Host.
inline std::string post(std::string const& lines, std::string const& body = "") {
  return "POST /x HTTP/1.1\r\nHost: a.test\r\n" + lines + "\r\n\r\n" + body;
}
inline Shape refused(std::string name, std::string bytes, Refusal refusal, int status = 400) {
  return {.name = std::move(name), .bytes = std::move(bytes), .status = status, .refusal = refusal};
}
inline Shape cut(std::string name, std::string bytes, int status = 400) {
  return {.name = std::move(name), .bytes = std::move(bytes), .fate = Fate::cut, .status = status};
}
inline Shape answered(std::string name, std::string bytes, int status) {
  return {.name = std::move(name), .bytes = std::move(bytes), .fate = Fate::answered, .status = status};
}
inline Shape forwarded(std::string name, std::string bytes, std::string method, std::string target, std::string body = "",
                       std::string host = "a.test") {
  return {.name = std::move(name),
          .bytes = std::move(bytes),
          .fate = Fate::forwarded,
          .status = 200,
          .method = std::move(method),
          .target = std::move(target),
          .host = std::move(host),
          .body = std::move(body)};
}

}  // namespace weir::test
