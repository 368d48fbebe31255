// A request and a response head as data. Views into the buffer of whoever read them. Threads: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/http/field.hpp"

namespace weir::http {

enum class Method : std::uint8_t { other, get, head, post, put, delete_, options, patch, query, purge, connect, trace };

Method method_of(std::string_view token) noexcept;  // case-sensitive, RFC 9110 9.1
// RFC 9110 9.2.1: GET, HEAD, OPTIONS, TRACE, and QUERY. An unknown method is unsafe.
bool is_safe(Method method) noexcept;
// RFC 9110 9.2.2: the safe ones, PUT and DELETE.
bool is_idempotent(Method method) noexcept;

enum class BodyKind : std::uint8_t { none, length, chunked, until_close };

struct Framing {
  BodyKind kind = BodyKind::none;
  std::uint64_t length = 0;  // for `length`
};

// One well-formed request, after wire's framing check and target split. All views point into the read buffer.
struct Request {
  std::string_view method;
  Method method_id = Method::other;
  std::string_view target;     // as it came
  std::string_view scheme;     // "http" or "https": of the absolute form, else of the listener
  std::string_view authority;  // of the absolute form, else the Host field; as it came; empty only in HTTP/1.0
  std::string_view path;       // begins with '/', or is "*"
  std::string_view query;      // behind the '?'
  bool has_query = false;
  int version = 11;  // 10 or 11
  Fields fields;
  Framing framing;
  bool keep_alive = true;  // what the client asked for
  bool expects_continue = false;

  bool has_body() const noexcept {
    return framing.kind == BodyKind::chunked || (framing.kind == BodyKind::length && framing.length > 0);
  }
};

// One well-formed final response head from an origin.
struct Response {
  int status = 0;  // 200 to 599 (and above, unchecked)
  std::string_view reason;
  int version = 11;
  Fields fields;
  Framing framing;
  bool keep_alive = true;  // the connection may serve another exchange after this one
};

// "OK" for 200; empty for statuses without a registered phrase.
std::string_view reason_phrase(int status) noexcept;

}  // namespace weir::http
