// GET /v1/explain?url= and /v1/entries?url= (OBS-3): a question out of a query, and what came of it as JSON.
#include "explain_endpoint.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "explain_words.hpp"
#include "stored_json.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/vary.hpp"
#include "weir/observe/json_text.hpp"

namespace weir::admin {
namespace {

namespace bj = boost::json;
using proxy::Explanation;

constexpr std::size_t most_variants = 1000;

// `url`, and perhaps `method`, `client` and any number of `header=Name: value`.
boost::system::result<proxy::Question, Answer> read_question(std::string_view query) {
  auto const wrong = [](std::string_view text) { return problem(400, "bad-query", text); };
  auto const url = query_value(query, "url");
  if (!url || url->empty())
    return wrong("say url=, percent-encoded: http://shop.example/a?b=1, or /a with header=Host: ...");
  auto const headers = query_values(query, "header");
  if (!headers) return wrong("a header is badly escaped");
  proxy::Question question;
  question.url = *url;
  question.method = query_value(query, "method").value_or("GET");
  question.client = query_value(query, "client").value_or("127.0.0.1");
  for (auto const& header : *headers) {
    auto const colon = header.find(':');
    auto const name = std::string_view(header).substr(0, colon);
    auto const value =
        colon == std::string::npos ? std::string_view() : http::trim(std::string_view(header).substr(colon + 1));
    if (colon == std::string::npos || !http::is_token(name) || !http::is_field_value(value))
      return wrong("header=" + header + ": write Name: value");
    question.fields.emplace_back(name, value);
  }
  if (!http::is_token(question.method)) return wrong("the method is none");
  return question;
}

std::vector<std::pair<std::string, std::optional<std::string>>> with_values(
    std::vector<std::pair<std::string, std::string>> const& fields) {
  return {fields.begin(), fields.end()};
}

bj::object request_of(Explanation const& told) {
  static constexpr std::array<std::string_view, 3> collapse{"on", "off", "strict"};
  return {{"method", observe::valid_utf8(told.method)},
          {"url", observe::valid_utf8(told.url)},
          {"site", observe::valid_utf8(told.site)},
          {"route", observe::valid_utf8(told.route)},
          {"origin", observe::valid_utf8(told.origin)},
          {"cache", told.cached},
          {"collapse", collapse[static_cast<std::size_t>(told.collapse)]},
          {"forwarded", pairs(with_values(told.forwarded))}};
}

bj::object key_of(std::string_view key) {
  return {{"text", cache::describe_key(key)}, {"sha256", key_name(key)}, {"parts", pairs(cache::key_parts(key))}};
}

bj::object vary_of(Explanation const& told) {
  bj::array names;
  for (auto const& name : told.stored.vary) names.emplace_back(observe::valid_utf8(name));
  return {{"names", std::move(names)},
          {"selected_by", pairs(cache::selecting_values(told.selector))},
          {"variants", told.stored.entries.size()}};
}

// What was found, as the rules for this very request see it.
void add_stored(Explanation const& told, bj::object& body) {
  if (told.key.empty()) return;
  auto const now = told.now.steady;
  body["key"] = key_of(told.key);
  body["vary"] = vary_of(told);
  if (told.stored.marked_until > now) body["marker"] = bj::object{{"left_seconds", seconds(told.stored.marked_until - now)}};
  if (told.stored.failed_until > now)
    body["negative"] =
        bj::object{{"status", told.stored.failed.status}, {"left_seconds", seconds(told.stored.failed_until - now)}};
  if (!told.found.entry) return;
  store::Variant found{told.found.entry, told.found.overrule, now};
  for (auto const& variant : told.stored.entries)
    if (variant.entry == found.entry) found.keep_until = variant.keep_until;
  body["entry"] = entry_of(found, told.reuse, told.now);
  body["freshness"] = freshness_of(found.entry->facts(), found.overrule, told.reuse, told.now);
  body["reuse"] = bj::object{{"verdict", label(told.reuse.verdict)},
                             {"reason", label(told.reuse.reason)},
                             {"why", sentence(told.reuse.reason)},
                             {"stale_if_error", told.reuse.stale_if_error}};
}

void add_flight(Explanation const& told, bj::object& body) {
  if (!told.flight) return;
  auto const& flight = *told.flight;
  body["flight"] = bj::object{
      {"under_way", flight.fetches > 0},
      {"fetches", flight.fetches},
      {"waiters", flight.waiters},
      {"head", flight.head},
      {"received_bytes", flight.received},
      {"age_seconds", flight.started ? bj::value(seconds(told.now.steady - *flight.started)) : bj::value(nullptr)}};
}

void add_origin(Explanation const& told, bj::object& body) {
  if (!told.breaker) return;
  static constexpr std::array<std::string_view, 4> permits{"shed", "not-now", "queued", "granted"};
  body["breaker"] = bj::object{{"state", label(*told.breaker)}, {"refuses", told.breaker_refuses}};
  body["limiter"] = bj::object{{"permit", permits[static_cast<std::size_t>(told.permit)]},
                               {"in_use", told.limiter.fetches + told.limiter.background},
                               {"max_concurrent", told.limits.max_concurrent},
                               {"queued", told.limiter.queued},
                               {"max_queue", told.limits.max_queue}};
}

bj::object store_of(std::string_view type, bool shared) {
  bj::object store{{"type", type}};
  if (shared) store["note"] = "this is what the near tier of this node holds; the shared store was not asked";
  return store;
}

// For a request without credentials or conditions.
bj::array variants_of(store::Variants const& variants, base::Now now) {
  bj::array rows;
  for (auto const& variant : variants.entries)
    rows.push_back(
        entry_of(variant, cache::reuse({}, variant.entry->facts(), variant.overrule, now, cache::Mode::normal), now));
  return rows;
}

}  // namespace

Answer answer_explain(Sources const& sources, Call const& call) {
  auto const question = read_question(call.request.query);
  if (!question) return question.error();
  auto const told = sources.explain(*question);
  auto const type = sources.stats().store_type;
  bool const shared = type != "memory";
  bj::object body{{"decision", word(told.decision)}, {"why", why(told, shared)}};
  bool const refused = told.decision == Explanation::Decision::refuse;
  if (refused) body["status"] = told.status;
  body["cache_status"] = std::string(observe::StatusText(told.cache_status).view());
  body["alone"] = told.alone;
  body["refresh_chance"] = told.refresh_chance;
  body["mode"] = label(told.mode);
  body["request"] = request_of(told);
  for (auto const* name :
       {"key", "vary", "entry", "freshness", "reuse", "marker", "negative", "flight", "breaker", "limiter"})
    body[name] = nullptr;
  add_stored(told, body);
  add_flight(told, body);
  add_origin(told, body);
  body["store"] = store_of(type, shared);
  body["asks_shared_store"] = shared && told.decision == Explanation::Decision::fetch && !told.alone;
  return json(200, bj::serialize(body) + "\n");
}

Answer answer_entries(Sources const& sources, Call const& call) {
  auto question = read_question(call.request.query);
  if (!question) return question.error();
  question->method = "GET";
  auto const type = sources.stats().store_type;
  auto const now = base::read_clock();
  std::size_t count = 0;
  bj::array keys;
  bool const names_parts = std::ranges::any_of(
      question->fields, [](auto const& field) { return !http::equal_ignoring_case(field.first, "host"); });
  for (auto const& held : sources.entries(*question, !names_parts)) {
    if (held.variants.entries.empty() || count >= most_variants) continue;
    count += held.variants.entries.size();
    auto row = key_of(held.key);
    row["variants"] = variants_of(held.variants, now);
    keys.push_back(std::move(row));
  }
  bj::object const body{{"entries", count}, {"keys", std::move(keys)}, {"store", store_of(type, type != "memory")}};
  return json(200, bj::serialize(body) + "\n");
}

}  // namespace weir::admin
