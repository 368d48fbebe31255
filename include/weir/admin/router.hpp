// Which call an operator makes, and whether he may (OBS-3, OBS-5). A table of endpoints; each listener has one. Pure over a
// request's head: the session reads a body only for a call that was let in. Threads: built at start, then read only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/http/message.hpp"

namespace weir::admin {

struct Answer {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> fields{};  // beside the framing, Date and Content-Type
};
Answer json(int status, std::string body);
// {"error":"unknown-path","detail":"..."}; `error` a word in kebab case.
Answer problem(int status, std::string_view error, std::string_view detail);

struct Call {
  http::Request const& request;
  std::string_view body;  // empty unless the request has one
};

struct Endpoint {
  std::string method;                          // GET answers HEAD, too
  std::string path;                            // exact
  bool needs_token = true;                     // where a token is set
  bool changes = false;                        // OBS-5: no Origin field, and a JSON body or none
  bool any_host = false;                       // OBS-5: for who asks by the name of a service: probes and metrics
  std::function<Answer(Call const&)> handler;  // on the admin thread; may throw, which is a 500
};

class Router {
 public:
  void add(Endpoint endpoint) { endpoints_.push_back(std::move(endpoint)); }

  struct Routed {
    Endpoint const* endpoint = nullptr;
    Answer refusal{};  // when there is no endpoint: 401, 403, 404, 405, 415 or 421
  };
  // `token`: what callers must show as a bearer; empty: nothing, and then `browsable` listeners, which are all but unix
  // sockets, answer to addresses and `localhost` alone.
  Routed route(http::Request const& request, std::string_view token, bool browsable = true) const;

 private:
  std::vector<Endpoint> endpoints_;
};

// The first value of `name` in a query, percent-decoded and with '+' as a blank; nothing if it is not there or badly
// escaped.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

// All of them, in order; nothing if one is badly escaped.
std::optional<std::vector<std::string>> query_values(std::string_view query, std::string_view name);

}  // namespace weir::admin
