// links: weir_admin
// words: admin
// A call of the admin listener, head and body: whatever it asks and brings, it is answered with a status that fits and JSON
// that parses; without the token nothing is done, nor with a field that only a browser sends (OBS-3, OBS-5, PRG-1).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/parse.hpp>

#include "parts/input.hpp"
#include "weir/admin/router.hpp"
#include "weir/admin/sources.hpp"
#include "weir/base/assert.hpp"
#include "weir/cache/key.hpp"
#include "weir/wire/head.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

constexpr std::string_view token = "a-token";

config::Settings const& settings() {
  static config::Settings const two_sites = [] {
    config::Sources sources;
    sources.yaml =
        "version: 1\norigins: {app: {url: \"http://127.0.0.1:9000\"}}\nsites:\n"
        "  - {hosts: [shop.example], origin: app, routes: [{path: /img/*, key: {query_drop: [utm_*]}}]}\n"
        "  - {hosts: [\"*.blog.example\"], origin: app}\n";
    auto loaded = config::load(sources);
    WEIR_ASSERT(loaded.settings.has_value());
    return *std::move(loaded.settings);
  }();
  return two_sites;
}

// What a purge needs of the process.
struct Process {
  cache::MemoryAccount memory;
  cache::PurgeNumber purges;
  cache::Epochs epochs{100};
  store::MemoryStore store{{}, memory};
  proxy::Mailboxes mailboxes{1};
  shield::FlightTable flights{mailboxes, memory, purges};
  observe::Metrics metrics{1, {"shop", "blog"}};
  observe::AccessLog access{1};
  proxy::Shared shared{store, flights, purges, epochs, memory, metrics, mailboxes, access, "weir-fuzz"};
  int changes = 0;
};

Process& process() {
  static Process one;
  return one;
}

proxy::PurgeResult try_purge(proxy::PurgeOrder order) {
  ++process().changes;
  order.dry_run = true;
  auto result = proxy::purge(process().shared, settings(), order);
  WEIR_ASSERT(result.mistakes.empty() == !result.applied_to.empty() || !result.mistakes.empty());
  return result;
}

proxy::Explanation explained(proxy::Question const& question) {
  proxy::Explanation told;
  told.method = question.method;
  told.url = question.url;
  told.forwarded = question.fields;
  cache::KeyBytes key;
  cache::append_url_key("http", question.client, {.path = question.url, .query = question.method, .has_query = true}, key);
  told.key = cache::view(key);
  return told;
}

admin::Sources sources() {
  admin::Sources sources;
  sources.metrics = [] { return std::string("# a page\n"); };
  sources.config = [] { return config::dump_json(settings()); };
  sources.flights = [](std::size_t) { return std::vector<admin::FlightLine>(1); };
  sources.stats = [] { return admin::Stats(); };
  sources.readiness = [] { return admin::Readiness{true, ""}; };
  sources.hot = [](observe::Hot, std::size_t) { return std::vector<observe::HotKey>(); };
  sources.explain = explained;
  sources.entries = [](proxy::Question const&, bool) { return std::vector<proxy::Explainer::Held>(); };
  sources.purge = try_purge;
  sources.reload = [] {
    ++process().changes;
    return admin::Reloaded();
  };
  sources.warm = [](proxy::WarmOrder const& order) {
    ++process().changes;
    return proxy::WarmBegun{{}, 1, order.urls.size()};
  };
  sources.warm_progress = [] { return proxy::WarmProgress(); };
  sources.mode = [] { return admin::ModeLine(); };
  sources.set_mode = [](cache::Mode, base::Duration lasts) {
    ++process().changes;
    WEIR_ASSERT(lasts <= std::chrono::hours(24));
  };
  sources.drain = [] { ++process().changes; };
  return sources;
}

void expect_sound(admin::Answer const& answer) {
  WEIR_ASSERT(answer.status >= 200 && answer.status <= 599 && answer.status != 500);
  for (auto const& [name, value] : answer.fields) WEIR_ASSERT(http::is_token(name) && http::is_field_value(value));
  if (answer.content_type != "application/json") return;
  boost::system::error_code error;
  auto const parsed = boost::json::parse(answer.body, error);
  WEIR_ASSERT(!error && parsed.is_object());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static auto const room = std::make_unique<wire::HeadRoom>();
  static auto const router = admin::admin_endpoints(sources());
  auto text = text_of(data, size);
  bool const guarded = bit(take_byte(text), 0);
  std::size_t scanned = 0;
  auto const head = wire::read_request_head(text, "http", {}, *room, scanned);
  if (head.step != wire::HeadStep::ready) return 0;
  auto const& request = head.request;
  auto const before = process().changes;
  auto const routed = router.route(request, guarded ? token : std::string_view());
  if (routed.endpoint == nullptr) {
    expect_sound(routed.refusal);
    return 0;
  }
  if (guarded && routed.endpoint->needs_token) WEIR_ASSERT(request.fields.has(http::FieldId::authorization));
  expect_sound(routed.endpoint->handler({request, text.substr(head.size)}));
  if (process().changes != before)
    WEIR_ASSERT(routed.endpoint->changes && !request.fields.has(http::FieldId::origin) &&
                request.method_id != http::Method::get);
  return 0;
}
