// LCY-1 (-T), OBS-3 (/v1/config): the dump reads back as itself. The schema and the pages say what the loader does.
#include <cstdlib>
#include <sstream>

#include <gmock/gmock.h>
#include <boost/json.hpp>

#include "loading.hpp"
#include "weir/config/reference.hpp"

namespace weir::config::test {
namespace {

using testing::HasSubstr;

constexpr char everything[] = R"(version: 1
listen: ["[::1]:80", {address: "unix:/run/weir.sock", tls: {certificates: [{cert: /c, key: /k}, {cert: /d, key: /l}], min_version: 1.3}, proxy_protocol: true, mode: "0666"}]
admin: {listen: "unix:/run/admin.sock", metrics_listen: "127.0.0.1:9641", token: "${T}", ready_grace: 1s}
workers: 3
instance: node-1
trusted_proxies: [10.0.0.0/8, "fd00::/8", 127.0.0.1, "::1", 0.0.0.0/0, "::/0"]
origins:
  a: {url: "http://[::1]:9000", breaker: {enabled: true}, host_header: "app.example:80", limiter: {max_queue: off}}
  b: {servers: ["https://b", "https://c:444"], health_check: {path: "/up?x=1"}, tls: {verify: off, ca_file: "/ca \"x\"", server_name: b}}
sites:
  - hosts: [a.example, "*.a.example"]
    origin: b
    redirect: https
    key: {query_drop: [tracking, mine*], cookies: [lang]}
    routes:
      - {path: "/*", methods: [QUERY], collapse: {key_body: true, errors: true}, headers: {response: {set: {X-A: "b: 'c' \\ é"}}}}
      - {path: /b, collapse: strict, cache: off, freshness: {override_ttl: 1m}, headers: {response: {set: {}}}}
  - origin: a
    cookies: {ignore: [], mode: bypass}
headers: {request: {set: {X-T: "1", "null": "", true: "#x"}}, response: {remove: [Server]}}
breaker: {enabled: off, window: 20s}
freshness: {override_ttl: 2m, jitter: off}
store: {type: valkey, address: "127.0.0.1:6379", password: "${T}", prefix: "", max_bytes: 1GiB, near: {ttl: 1500ms}}
errors: {503: "page.html", 404: "page.html"}
purge: {allow: [127.0.0.0/8]}
)";

TEST(Dump, ReadsBackAsItself) {
  std::string text = everything;
  TemporaryFile const page(".html", "<p>");
  for (std::string const name = "page.html"; text.find("\"" + name) != std::string::npos;)
    text.replace(text.find("\"" + name) + 1, name.size(), page.name());
  Sources sources = file(text);
  sources.environment = {{"T", "token"}};
  auto const first = load(sources);
  ASSERT_TRUE(first.settings) << all_of(first);
  std::string const dump = dump_yaml(*first.settings);
  auto const second = load(file(dump));
  ASSERT_TRUE(second.settings) << all_of(second) << dump;
  EXPECT_EQ(dump_yaml(*second.settings), dump);
  EXPECT_EQ(dump_json(*second.settings), dump_json(*first.settings));
  EXPECT_EQ(second.settings->errors.at(404).body, "<p>");
  Site const& site = second.settings->sites.at(0);
  EXPECT_EQ(site.routes.at(0).policy.headers.response.set.at(0).second, "b: 'c' \\ é");
  EXPECT_TRUE(site.routes.at(1).policy.headers.response.set.empty());
  EXPECT_EQ(site.routes[1].policy.freshness.override_ttl, 1min);
  EXPECT_EQ(second.settings->origins.at("a").breaker.window, 20s);
  EXPECT_EQ(second.settings->defaults.headers.request.set.at(1).first, "null");
  EXPECT_THAT(dump, HasSubstr("password: \"***\""));
  EXPECT_THAT(dump, HasSubstr("query_drop: [tracking, \"mine*\"]"));
}

TEST(Dump, ShowsInASiteOnlyWhatItOverrides) {
  auto const loaded =
      load(more("sites: [{hosts: [a], coalesce: {hold: 1KiB}, routes: [{path: /a, coalesce: {hold: 64KiB}}]}]\n"));
  ASSERT_TRUE(loaded.settings) << all_of(loaded);
  EXPECT_THAT(dump_yaml(*loaded.settings), HasSubstr(R"(
sites:
  - hosts: ["a"]
    origin: "app"
    redirect: off
    routes:
      - path: "/a"
        methods: []
        cache: true
        collapse: on
        coalesce:
          hold: 64KiB
    coalesce:
      hold: 1KiB
key:
)"));
}

TEST(Dump, IsJsonWithNumbersAndBooleans) {
  auto const json = boost::json::parse(dump_json(*load(more("workers: 2")).settings));
  EXPECT_EQ(json.at("workers").as_int64(), 2);
  EXPECT_FALSE(json.at("key").at("query_sort").as_bool());
  EXPECT_EQ(json.at("drain").at("timeout").as_string(), "30s");
  EXPECT_EQ(json.at("store").at("password").as_string(), "");
}

// All names of properties anywhere in a schema.
void collect(boost::json::value const& value, std::vector<std::string>& names) {
  if (auto const* const object = value.if_object()) {
    for (auto const& member : *object) {
      if (member.key() == "properties")
        for (auto const& property : member.value().as_object()) names.emplace_back(property.key());
      collect(member.value(), names);
    }
  } else if (auto const* const array = value.if_array()) {
    for (auto const& element : *array) collect(element, names);
  }
}

TEST(Schema, IsJsonAndNamesEveryKey) {
  auto const schema = boost::json::parse(json_schema());
  EXPECT_EQ(schema.at("$schema").as_string(), "https://json-schema.org/draft/2020-12/schema");
  std::vector<std::string> names;
  collect(schema, names);
  for (std::string const& key : every_key())
    EXPECT_THAT(names, testing::Contains(key.substr(key.find_last_of('.') + 1))) << key;
  EXPECT_EQ(schema.at("properties").at("coalesce").at("$ref").as_string(), "#/$defs/coalesce");
  EXPECT_TRUE(schema.at("$defs").at("route").at("properties").as_object().contains("coalesce"));
  EXPECT_FALSE(schema.at("$defs").at("origin_timeouts").at("properties").as_object().contains("store"));
}

// No key is described but not read: nonsense under each is a mistake at its path.
TEST(Description, EveryKeyIsRead) {
  for (std::string key : every_key()) {
    for (auto const& [from, to] : {std::pair<std::string, std::string>("origins.*", "origins.app"), {"[]", "[0]"}})
      for (auto at = key.find(from); at != std::string::npos; at = key.find(from)) key.replace(at, from.size(), to);
    Sources sources = more("");
    sources.set = {{key, "[[[x]]]"}};
    auto const loaded = load(sources);
    EXPECT_FALSE(loaded.settings) << key;
    EXPECT_THAT(mistakes_of(loaded), testing::Contains(HasSubstr("--set: " + key))) << key;
  }
}

TEST(Reference, PagesAreTheLoadersOwn) {
  bool const write = std::getenv("WEIR_WRITE_REFERENCE") != nullptr;
  for (auto const& [name, text] : {std::pair("weir.yaml", reference_yaml()), {"README.md", reference_markdown()}}) {
    if (write) std::ofstream(config_folder() / name, std::ios::binary) << text;
    EXPECT_EQ(content(config_folder() / name), text) << "write it anew with WEIR_WRITE_REFERENCE=1";
  }
}

TEST(Reference, TheLongFileIsTheShortOnesDefaults) {
  std::string const long_text = content(config_folder() / "weir.yaml");
  auto const long_file = load(file(long_text)), short_file = load(file(content(config_folder() / "minimal.yaml")));
  ASSERT_TRUE(long_file.settings) << all_of(long_file);
  ASSERT_TRUE(short_file.settings) << all_of(short_file);
  EXPECT_EQ(dump_yaml(*long_file.settings), dump_yaml(*short_file.settings));
  EXPECT_THAT(long_file.warnings, testing::IsEmpty());

  // Each default stands in a line of its own, not as a comment (origins and sites differ in form).
  std::string const dump = dump_yaml(*short_file.settings);
  std::istringstream lines(dump.substr(dump.find("\nkey:") + 1));
  for (std::string line; std::getline(lines, line);) EXPECT_THAT(long_text, HasSubstr("\n" + line + " "));

  std::string const tables = content(config_folder() / "README.md");
  for (std::string const& key : every_key()) {
    std::string const last = key.substr(key.find_last_of('.') + 1);
    EXPECT_THAT(long_text, HasSubstr(last + ":")) << key;
    EXPECT_THAT(tables, HasSubstr(last)) << key;
  }
}

TEST(Reference, ItsExamplesAreRight) {
  // What is commented out reads too, once its `#` is a space and what it stands in place of is gone.
  std::string text = content(config_folder() / "weir.yaml"), opened;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = text.find('\n', at) + 1;
    std::string line = text.substr(at, end - at);
    at = end;
    if (line.starts_with("# ") && line[2] != ' ') continue;  // the head's sentences
    bool const replaced =
        line.find(" tls: off") != std::string::npos || line.find(" health_check: off") != std::string::npos ||
        line.find(" routes: []") != std::string::npos || line.find(" certificates: []") != std::string::npos ||
        line.find("  servers: []") != std::string::npos || line.find(" collapse: on ") != std::string::npos;
    if (line[0] == '#') line[0] = ' ';
    if (!replaced) opened += line;
  }
  auto const loaded = load(file(opened));
  EXPECT_THAT(all_of(loaded), testing::MatchesRegex(".*routes\\[0\\]\\.collapse: a group here needs `key_body: true`.*\n"))
      << opened;
  EXPECT_EQ(loaded.mistakes.size(), 1U);
}

}  // namespace
}  // namespace weir::config::test
