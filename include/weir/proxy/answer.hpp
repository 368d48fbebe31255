// Heads of answers to clients: what is stored or arriving, plus the fields that change with each answer. Appends to strings;
// the hit path uses a worker's scratch string, which stops allocating once warm. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/cache/conditional.hpp"
#include "weir/config/settings.hpp"
#include "weir/http/message.hpp"
#include "weir/observe/status_fields.hpp"

namespace weir::proxy {

enum class BodyFraming : std::uint8_t { none, length, chunked, until_close };

struct AnswerTail {
  std::optional<base::Duration> age;  // absent: no Age field
  observe::CacheStatus cache_status;
  BodyFraming framing = BodyFraming::none;
  std::uint64_t length = 0;
  bool close = false;           // Connection: close
  bool say_keep_alive = false;  // to HTTP/1.0 clients that asked
};
// Framing, Age, Cache-Status, Connection and the blank line.
void append_tail(std::string& out, AnswerTail const& tail);

// 200 for the whole, 206, 304, 412 or 416.
int status_of(cache::Cut cut) noexcept;
// The same head under the status that the client's conditionals or range ask for (304, 206, 412, 416): status line and
// fields, no tail. `head` as cache::build_head made it. 304 leaves out the representation's own Content-* fields.
void append_cut_head(std::string& out, std::string_view head, cache::Selection const& selection, std::uint64_t size);

// An answer that Weir makes itself, whole: status, Proxy-Status, Retry-After (0: none), the operator's page or a short text.
// HEAD gets no body.
struct OwnAnswer {
  int status = 500;
  std::string_view proxy_error;  // RFC 9209 error type; empty: none
  int received_status = 0;
  std::uint32_t retry_after = 0;                     // seconds
  std::string_view allow;                            // for 405, and 200 to OPTIONS
  std::optional<observe::CacheStatus> cache_status;  // only of what is stored or came from the origin (RFC 9211 2)
  std::string_view location;                         // for redirects
  config::ErrorPage const* page = nullptr;           // null: the short text
  bool head_only = false;
  bool close = false;
};
// The operator's page for a status; null: there is none. As long-lived as `settings`.
config::ErrorPage const* error_page(config::Settings const& settings, int status) noexcept;
void append_own_answer(std::string& out, OwnAnswer const& answer, base::WallTime now);

}  // namespace weir::proxy
