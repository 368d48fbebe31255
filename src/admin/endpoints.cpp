// The calls of OBS-3 that this Weir answers.
#include <charconv>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "explain_endpoint.hpp"
#include "live_page.hpp"
#include "mode_endpoint.hpp"
#include "purge_endpoint.hpp"
#include "stats_endpoint.hpp"
#include "stored_json.hpp"
#include "warm_endpoint.hpp"
#include "weir/admin/sources.hpp"
#include "weir/observe/json_text.hpp"

namespace weir::admin {
namespace {

namespace bj = boost::json;

constexpr std::size_t default_flights = 100, most_flights = 1000;

Answer serialized(int status, bj::value const& value) { return json(status, bj::serialize(value) + "\n"); }
Answer plain(int status, std::string text) {
  return {.status = status, .body = std::move(text) + "\n", .content_type = "text/plain; charset=utf-8"};
}

// `limit` of the query: 1 to most_flights; nothing if it is anything else.
std::optional<std::size_t> limit_of(std::string_view query) {
  auto const text = query_value(query, "limit");
  if (!text) return query.empty() ? std::optional(default_flights) : std::nullopt;
  std::size_t limit = 0;
  auto const [end, error] = std::from_chars(text->data(), text->data() + text->size(), limit);
  if (error != std::errc() || end != text->data() + text->size() || limit == 0 || limit > most_flights) return std::nullopt;
  return limit;
}

Answer answer_flights(Sources const& sources, Call const& call) {
  auto const limit = limit_of(call.request.query);
  if (!limit) return problem(400, "bad-query", "the query may be limit=1 to limit=1000");
  bj::array rows;
  for (auto const& flight : sources.flights(*limit)) {
    rows.push_back(bj::object{{"key", observe::valid_utf8(flight.key)},
                              {"waiters", flight.waiters},
                              {"fetches", flight.fetches},
                              {"received_bytes", flight.received},
                              {"head", flight.head},
                              {"age_seconds", flight.age ? bj::value(seconds(*flight.age)) : bj::value(nullptr)}});
  }
  return serialized(200, bj::object{{"flights", std::move(rows)}});
}

// The keys that matter most, in three lists. Counts of hits are estimates from a sample.
Answer answer_hot(Sources const& sources, Call const& call) {
  auto const limit = limit_of(call.request.query);
  if (!limit) return problem(400, "bad-query", "the query may be limit=1 to limit=1000");
  bj::object lists;
  for (auto const& [name, what] : {std::pair("requests", observe::Hot::requests), std::pair("misses", observe::Hot::misses),
                                   std::pair("collapsed", observe::Hot::collapsed)}) {
    bj::array rows;
    for (auto const& key : sources.hot(what, *limit))
      rows.push_back(bj::object{{"key", observe::valid_utf8(key.key)}, {"count", key.count}, {"error", key.error}});
    lists[name] = std::move(rows);
  }
  return serialized(200, lists);
}

// LCY-2.
Answer answer_reload(Reloaded const& reloaded) {
  bj::array warnings, mistakes;
  for (auto const& warning : reloaded.warnings) warnings.push_back(bj::value(observe::valid_utf8(warning)));
  for (auto const& mistake : reloaded.mistakes) {
    mistakes.push_back(bj::object{{"file", observe::valid_utf8(mistake.file)},
                                  {"line", mistake.line},
                                  {"column", mistake.column},
                                  {"path", observe::valid_utf8(mistake.path)},
                                  {"what", observe::valid_utf8(mistake.what)}});
  }
  if (mistakes.empty()) return serialized(200, bj::object{{"reloaded", true}, {"warnings", std::move(warnings)}});
  return serialized(422, bj::object{{"error", "bad-configuration"},
                                    {"detail", "the configuration that was there before stays in use"},
                                    {"mistakes", std::move(mistakes)},
                                    {"warnings", std::move(warnings)}});
}

Answer answer_metrics(Sources const& sources) {
  return {.body = sources.metrics(), .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

Answer answer_readiness(Readiness const& readiness) {
  return readiness.ready ? plain(200, "ready") : plain(503, readiness.why);
}

// Probes come without a token: they tell nothing, and kubelets and balancers have none.
void add_probes(Router& router, Sources const& sources) {
  router.add({.method = "GET", .path = "/healthz", .needs_token = false, .any_host = true, .handler = [](Call const&) {
                return plain(200, "ok");
              }});
  router.add({.method = "GET", .path = "/readyz", .needs_token = false, .any_host = true, .handler = [sources](Call const&) {
                return answer_readiness(sources.readiness());
              }});
}

void add_metrics(Router& router, Sources const& sources, bool needs_token) {
  router.add(
      {.method = "GET", .path = "/metrics", .needs_token = needs_token, .any_host = true, .handler = [sources](Call const&) {
         return answer_metrics(sources);
       }});
}

}  // namespace

Router open_endpoints(Sources const& sources) {
  Router router;
  add_probes(router, sources);
  add_metrics(router, sources, false);
  return router;
}

Router admin_endpoints(Sources const& sources) {
  Router router;
  add_probes(router, sources);
  add_metrics(router, sources, true);
  router.add({.method = "GET", .path = "/", .needs_token = false, .handler = [](Call const&) { return answer_page(); }});
  router.add(
      {.method = "GET", .path = "/v1/config", .handler = [sources](Call const&) { return json(200, sources.config()); }});
  router.add(
      {.method = "GET", .path = "/v1/stats", .handler = [sources](Call const&) { return answer_stats(sources.stats()); }});
  router.add({.method = "GET", .path = "/v1/flights", .handler = [sources](Call const& call) {
                return answer_flights(sources, call);
              }});
  router.add(
      {.method = "GET", .path = "/v1/hot", .handler = [sources](Call const& call) { return answer_hot(sources, call); }});
  router.add({.method = "GET", .path = "/v1/entries", .handler = [sources](Call const& call) {
                return answer_entries(sources, call);
              }});
  router.add({.method = "GET", .path = "/v1/explain", .handler = [sources](Call const& call) {
                return answer_explain(sources, call);
              }});
  router.add({.method = "POST", .path = "/v1/purge", .changes = true, .handler = [sources](Call const& call) {
                return answer_purge(sources, call);
              }});
  router.add({.method = "POST", .path = "/v1/reload", .changes = true, .handler = [sources](Call const&) {
                return answer_reload(sources.reload());
              }});
  router.add({.method = "GET", .path = "/v1/warm", .handler = [sources](Call const&) {
                return answer_warm(sources.warm_progress());
              }});
  router.add({.method = "POST", .path = "/v1/warm", .changes = true, .handler = [sources](Call const& call) {
                return begin_warm(sources, call);
              }});
  router.add(
      {.method = "GET", .path = "/v1/mode", .handler = [sources](Call const&) { return answer_mode(sources.mode()); }});
  router.add({.method = "PUT", .path = "/v1/mode", .changes = true, .handler = [sources](Call const& call) {
                return change_mode(sources, call);
              }});
  router.add({.method = "POST", .path = "/v1/drain", .changes = true, .handler = [sources](Call const&) {
                sources.drain();
                return serialized(202, bj::object{{"draining", true}});
              }});
  return router;
}

}  // namespace weir::admin
