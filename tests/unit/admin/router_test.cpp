#include "weir/admin/router.hpp"

#include <ostream>

#include <gtest/gtest.h>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "weir/admin/sources.hpp"
#include "weir/wire/head.hpp"

namespace weir::admin {
namespace {

Router table() {
  Router router;
  auto const nothing = [](Call const&) { return json(200, "{}"); };
  router.add({.method = "GET", .path = "/healthz", .needs_token = false, .any_host = true, .handler = nothing});
  router.add({.method = "GET", .path = "/v1/mode", .handler = nothing});
  router.add({.method = "PUT", .path = "/v1/mode", .changes = true, .handler = nothing});
  router.add({.method = "POST", .path = "/v1/drain", .changes = true, .handler = nothing});
  return router;
}

struct Row {
  char const* name;
  char const* line;  // method and target
  char const* fields;
  char const* token;
  int status;  // 200: let in
  char const* allow = "";
};

void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

Row const rows[] = {
    {"get", "GET /v1/mode", "", "", 200},
    {"head_is_get", "HEAD /v1/mode", "", "", 200},
    {"query_does_not_matter", "GET /v1/mode?x=1", "", "", 200},
    {"unknown_path", "GET /v1/nothing", "", "", 404},
    {"prefix_is_no_match", "GET /v1/mode/", "", "", 404},
    {"path_respects_case", "GET /V1/mode", "", "", 404},
    {"wrong_method", "DELETE /v1/mode", "", "", 405, "GET, HEAD, PUT"},
    {"get_where_a_change_is_asked", "GET /v1/drain", "", "", 405, "POST"},
    {"head_where_a_change_is_asked", "HEAD /v1/drain", "", "", 405, "POST"},
    {"method_respects_case", "get /v1/mode", "", "", 405, "GET, HEAD, PUT"},
    {"reading_with_origin", "GET /v1/mode", "Origin: http://evil.example\r\n", "", 200},
    {"change_without_body", "POST /v1/drain", "", "", 200},
    {"change_with_length_zero", "POST /v1/drain", "Content-Length: 0\r\nContent-Type: text/plain\r\n", "", 200},
    {"change_with_json", "POST /v1/drain", "Content-Length: 2\r\nContent-Type: application/json\r\n", "", 200},
    {"change_with_json_and_charset", "POST /v1/drain",
     "Content-Length: 2\r\nContent-Type: Application/JSON ; charset=utf-8\r\n", "", 200},
    {"change_with_form", "POST /v1/drain", "Content-Length: 2\r\nContent-Type: application/x-www-form-urlencoded\r\n", "",
     415},
    {"change_with_text", "POST /v1/drain", "Content-Length: 2\r\nContent-Type: text/plain\r\n", "", 415},
    {"change_with_json_in_a_parameter", "POST /v1/drain",
     "Content-Length: 2\r\nContent-Type: text/plain;application/json\r\n", "", 415},
    {"change_with_two_types", "POST /v1/drain",
     "Content-Length: 2\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\n", "", 415},
    {"change_with_no_type", "POST /v1/drain", "Content-Length: 2\r\n", "", 415},
    {"chunked_change_with_text", "POST /v1/drain", "Transfer-Encoding: chunked\r\nContent-Type: text/plain\r\n", "", 415},
    {"change_with_origin", "POST /v1/drain", "Origin: http://evil.example\r\n", "", 403},
    {"change_with_origin_null", "PUT /v1/mode", "Origin: null\r\n", "", 403},
    {"change_with_origin_of_its_own", "POST /v1/drain",
     "Origin: http://127.0.0.1:9640\r\nContent-Length: 2\r\nContent-Type: application/json\r\n", "", 403},
    {"token_right", "GET /v1/mode", "Authorization: Bearer secret\r\n", "secret", 200},
    {"token_scheme_ignores_case", "GET /v1/mode", "Authorization: bearer  secret\r\n", "secret", 200},
    {"token_missing", "GET /v1/mode", "", "secret", 401},
    {"token_wrong", "GET /v1/mode", "Authorization: Bearer secreT\r\n", "secret", 401},
    {"token_prefix", "GET /v1/mode", "Authorization: Bearer secre\r\n", "secret", 401},
    {"token_longer", "GET /v1/mode", "Authorization: Bearer secrets\r\n", "secret", 401},
    {"token_empty", "GET /v1/mode", "Authorization: Bearer \r\n", "secret", 401},
    {"token_other_scheme", "GET /v1/mode", "Authorization: Basic secret\r\n", "secret", 401},
    {"token_twice", "GET /v1/mode", "Authorization: Bearer secret\r\nAuthorization: Bearer secret\r\n", "secret", 401},
    {"token_before_origin", "POST /v1/drain", "Origin: null\r\n", "secret", 401},
    {"token_does_not_excuse_origin", "POST /v1/drain", "Authorization: Bearer secret\r\nOrigin: null\r\n", "secret", 403},
    {"probe_needs_no_token", "GET /healthz", "", "secret", 200},
};

// OBS-5: a name that leads here from a page of its own (DNS rebinding), where no token tells the operator from it.
Row const rows_of_hosts[] = {
    {"name", "GET /v1/mode", "Host: evil.example:9640\r\n", "", 421},
    {"name_that_begins_right", "GET /v1/mode", "Host: localhost.evil.example\r\n", "", 421},
    {"name_of_numbers", "GET /v1/mode", "Host: 127.0.0.1.evil.example\r\n", "", 421},
    {"short_address", "GET /v1/mode", "Host: 127.1\r\n", "", 421},
    {"absolute_form", "GET http://evil.example/v1/mode", "Host: localhost\r\n", "", 421},
    {"change", "POST /v1/drain", "Host: evil.example\r\n", "", 421},
    {"localhost", "GET /v1/mode", "Host: LocalHost:9640\r\n", "", 200},
    {"ipv4", "GET /v1/mode", "Host: 127.0.0.1:9640\r\n", "", 200},
    {"ipv4_of_another", "GET /v1/mode", "Host: 192.0.2.7\r\n", "", 200},
    {"ipv6", "GET /v1/mode", "Host: [::1]:9640\r\n", "", 200},
    {"probe", "GET /healthz", "Host: weir.example\r\n", "", 200},
    {"with_a_token", "GET /v1/mode", "Host: weir.example\r\nAuthorization: Bearer secret\r\n", "secret", 200},
};

class Routing : public testing::TestWithParam<Row> {};

TEST_P(Routing, DecidesByTheHead) {  // OBS-3, OBS-5
  Row const& row = GetParam();
  std::string const bytes = std::string(row.line) + " HTTP/1.1\r\n" +
                            (std::string_view(row.fields).starts_with("Host:") ? "" : "Host: localhost\r\n") + row.fields +
                            "\r\n";
  wire::HeadRoom room;
  std::size_t scanned = 0;
  auto const head = wire::read_request_head(bytes, "http", {}, room, scanned);
  ASSERT_EQ(head.step, wire::HeadStep::ready);
  Router const router = table();
  auto const routed = router.route(head.request, row.token);
  if (row.status == 200) {
    ASSERT_NE(routed.endpoint, nullptr) << routed.refusal.body;
    EXPECT_EQ(routed.endpoint->path, head.request.path);
    return;
  }
  ASSERT_EQ(routed.endpoint, nullptr);
  EXPECT_EQ(routed.refusal.status, row.status);
  EXPECT_TRUE(boost::json::parse(routed.refusal.body).as_object().contains("error"));
  std::string allow, challenge;
  for (auto const& [name, value] : routed.refusal.fields) {
    if (name == "Allow") allow = value;
    if (name == "WWW-Authenticate") challenge = value;
  }
  EXPECT_EQ(allow, row.allow);
  EXPECT_EQ(challenge, row.status == 401 ? "Bearer" : "");
}

INSTANTIATE_TEST_SUITE_P(Hosts, Routing, testing::ValuesIn(rows_of_hosts), [](auto const& row) { return row.param.name; });
INSTANTIATE_TEST_SUITE_P(Obs5, Routing, testing::ValuesIn(rows), [](auto const& row) { return row.param.name; });

TEST(QueryValue, DecodesTheFirst) {
  struct {
    char const* query;
    std::optional<std::string> value;
  } const cases[] = {
      {"url=http%3A%2f%2Fa%2Fb%3Fc", "http://a/b?c"},
      {"x=1&url=a+b&url=c", "a b"},
      {"url=", ""},
      {"url", ""},
      {"xurl=1&urlx=2", std::nullopt},
      {"", std::nullopt},
      {"&&url=1", "1"},
      {"url=%", std::nullopt},
      {"url=%4", std::nullopt},
      {"url=%4g", std::nullopt},
      {"url=a=b", "a=b"},
  };
  for (auto const& row : cases) EXPECT_EQ(query_value(row.query, "url"), row.value) << row.query;
}

TEST(ShareWithoutFetch, CountsAnswersFromStoreOrOrigin) {  // OBS-3
  observe::Metrics metrics(1, {"default"});
  auto const share = [&] {
    Stats stats;
    stats.count(metrics);
    return share_without_fetch(stats);
  };
  EXPECT_EQ(share(), std::nullopt);
  for (auto const ignored :
       {observe::Outcome::purge, observe::Outcome::refused, observe::Outcome::shed, observe::Outcome::tunnel}) {
    metrics.worker(0).request(0, ignored);
  }
  EXPECT_EQ(share(), std::nullopt);
  for (auto const free : {observe::Outcome::hit, observe::Outcome::stale, observe::Outcome::collapsed}) {
    metrics.worker(0).request(0, free);
  }
  EXPECT_EQ(share(), 1.0);
  for (auto const paid : {observe::Outcome::miss, observe::Outcome::revalidated, observe::Outcome::pass,
                          observe::Outcome::bypass, observe::Outcome::error}) {
    metrics.worker(0).request(0, paid);
  }
  EXPECT_EQ(share(), 3.0 / 8.0);
}

}  // namespace
}  // namespace weir::admin
