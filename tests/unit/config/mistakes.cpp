// SPEC section 12, LCY-1: every mistake, with its place, its path and what is wrong.
#include <gmock/gmock.h>

#include "loading.hpp"

namespace weir::config::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Mistakes, TenInOneFileAreTenMessagesWithTheirLines) {
  auto const loaded = load(file(R"(version: 1
workers: 017
origins:
  app: {url: "ftp://127.0.0.1"}
  api: {url: "http://127.0.0.1:9000", retires: 2}
coalesce:
  hold: 64
  hold: 64KiB
  cluster: yes
sites:
  - hosts: [shop.example]
    origin: ap
    routes:
      - {path: account}
      - {cache: off}
log: {level: loud}
limits: {header_timeout: 10}
)"));
  EXPECT_FALSE(loaded.settings);
  EXPECT_THAT(
      mistakes_of(loaded),
      ElementsAre(
          "weir.yaml:2:10: workers: `017` is not a whole number (no leading zeros)",
          "weir.yaml:4:14: origins.app.url: `ftp://127.0.0.1`: an origin's address starts with http://, https:// or unix:/",
          "weir.yaml:5:39: origins.api.retires: unknown key; did you mean `retries`?",
          "weir.yaml:7:9: coalesce.hold: `64` is not a size; write it as in 64KiB, 512MiB or 1GiB",
          "weir.yaml:8:3: coalesce.hold: repeated key (first in line 7)",
          "weir.yaml:9:12: coalesce.cluster: `yes` is not a boolean; write true or false",
          "weir.yaml:12:13: sites[0].origin: no origin `ap`; did you mean `api`?",
          "weir.yaml:14:16: sites[0].routes[0].path: `account`: a path starts with `/`",
          "weir.yaml:15:9: sites[0].routes[1].path: is required",
          "weir.yaml:16:14: log.level: `loud` is none of debug, info, warning, error, off",
          "weir.yaml:17:26: limits.header_timeout: `10` has no unit; write it as in 250ms, 10s or 5m"));
}

struct Row {
  char const* name;
  char const* yaml;     // behind the minimal file, from line 3 on
  char const* mistake;  // a part of the only one
};

class OneMistake : public testing::TestWithParam<Row> {};
TEST_P(OneMistake, IsTold) {
  auto const loaded = load(more(GetParam().yaml));
  EXPECT_FALSE(loaded.settings);
  ASSERT_EQ(loaded.mistakes.size(), 1U) << all_of(loaded);
  EXPECT_THAT(loaded.mistakes.front().text(), HasSubstr(GetParam().mistake));
}

constexpr Row rows[] = {
    {"unknown_top", "coalesc: {}", "weir.yaml:3:1: coalesc: unknown key; did you mean `coalesce`?"},
    {"unknown_far", "zzzzzzzzzzzzz: 1", "weir.yaml:3:1: zzzzzzzzzzzzz: unknown key; the nearest is `"},
    {"repeated_top", "log: {}\nlog: {}", "weir.yaml:4:1: log: repeated key (first in line 3)"},
    {"repeated_in_flow", "log: {level: info, level: info}", "weir.yaml:3:20: log.level: repeated key (first in line 3)"},
    {"repeated_field", "headers: {response: {set: {A: 1, A: 2}}}", "headers.response.set.A: repeated key"},
    {"merge_key", "log: {<<: {level: info}}", "weir.yaml:3:7: log: merge keys are not allowed"},
    {"anchor", "log: &a {level: info}", "anchors are not allowed"},
    {"tag", "log: {level: !!str info}", "log.level: tags such as `tag:yaml.org,2002:str` are not allowed"},
    {"map_as_key", "? [a]\n: 2", "a key must be text"},
    {"second_document", "---\nlog: {}", "a second document"},
    {"group_is_a_list", "log: []", "weir.yaml:3:6: log: expected a group of keys"},
    {"group_is_a_scalar", "log: info", "log: expected a group of keys"},
    {"list_is_a_scalar", "trusted_proxies: 10.0.0.0/8", "trusted_proxies: expected a list of networks, as in [10.0.0.0/8]"},
    {"scalar_is_a_list", "workers: [2]", "workers: expected a whole number, or `auto`, not a list"},
    {"scalar_is_a_map", "workers: {a: 2}", "workers: expected a whole number, or `auto`, not a group of keys"},
    {"scalar_is_missing", "drain: {timeout: }", "drain.timeout: expected a duration such as 10s, not nothing"},
    {"boolean_no", "key: {query_sort: no}", "`no` is not a boolean"},
    {"boolean_upper", "key: {query_sort: True}", "`True` is not a boolean"},
    {"boolean_number", "key: {query_sort: 1}", "`1` is not a boolean"},
    {"boolean_quoted", "key: {query_sort: \"true\"}", "`true` is not a boolean"},
    {"number_quoted", "workers: \"2\"", "`2` is not a whole number"},
    {"number_negative", "workers: -1", "`-1` is not a whole number"},
    {"number_float", "workers: 1.5", "`1.5` is not a whole number"},
    {"number_hex", "workers: 0x10", "`0x10` is not a whole number"},
    {"number_too_large", "workers: 1025", "1025 is out of range; 1 to 1024, or `auto`"},
    {"number_too_small", "workers: 0", "0 is out of range"},
    {"number_beyond_64_bits", "workers: 99999999999999999999", "is not a whole number"},
    {"duration_bare", "drain: {timeout: 30}", "`30` has no unit"},
    {"duration_wrong_unit", "drain: {timeout: 30sec}", "`30sec` is not a duration"},
    {"duration_fraction", "drain: {timeout: 1.5s}", "`1.5s` is not a duration"},
    {"duration_too_long", "drain: {timeout: 25h}", "25h is out of range; 0s to 1d"},
    {"duration_overflows", "drain: {timeout: 9999999999999d}", "is not a duration"},
    {"duration_not_off", "timeouts: {connect: off}", "off is out of range; 1ms to 5m"},
    {"size_decimal", "limits: {body_bytes: 64MB}", "`64MB` is not a size"},
    {"size_overflows", "limits: {body_bytes: 99999999TiB}", "is not a size"},
    {"size_too_small", "limits: {header_bytes: 10B}", "10B is out of range; 1KiB to 1MiB"},
    {"log_file_off", "log: {file: off}", "log.file: `off`: no file; the log is switched off by `log.level: off`"},
    {"log_file_false", "log: {file: false}", "log.file: `false`: no file"},
    {"log_file_stdout", "log: {file: stdout}", "log.file: `stdout`: no file; the log goes to one, or to standard error"},
    {"choice", "forward: {mode: loose}", "`loose` is none of guarded, strict, all"},
    {"log_level_of_others", "log: {level: critical}", "log.level: `critical` is none of debug, info, warning, error, off"},
    {"listen_without_port", "listen: [\"0.0.0.0\"]", "listen[0]: `0.0.0.0`: not an IP address with a port"},
    {"listen_name", "listen: [\"localhost:80\"]", "not an IP address with a port"},
    {"listen_port", "listen: [\"0.0.0.0:65536\"]", "not an IP address with a port"},
    {"listen_relative_unix", "listen: [\"unix:weir.sock\"]", "absolute path"},
    {"listen_twice", "listen: [\"0.0.0.0:80\", \"0.0.0.0:80\"]", "weir.yaml:3:24: listen[1]: `0.0.0.0:80` is there twice"},
    {"admin_listen_taken", "listen: [\"127.0.0.1:9640\"]",
     "admin: `listen`: `127.0.0.1:9640` is an address of `listen` too"},
    {"metrics_listen_taken", "admin: {listen: \"127.0.0.1:9\", metrics_listen: \"127.0.0.1:9\"}",
     "admin: `metrics_listen`: `127.0.0.1:9` is the address of another listener"},
    {"token_of_blanks", "admin: {token: \" \"}", "the token is nothing that a field of a request can hold"},
    {"listen_empty", "listen: []", "listen: an empty list"},
    {"listen_tls_bare", "listen: [{address: \"0.0.0.0:443\", tls: {}}]", "listen[0].tls.certificates: is required"},
    {"listen_tls_empty", "listen: [{address: \"0.0.0.0:443\", tls: {certificates: []}}]", "`certificates` is an empty list"},
    {"listen_tls_half", "listen: [{address: \"0.0.0.0:443\", tls: {certificates: [{cert: /a}]}}]",
     "listen[0].tls.certificates[0].key: is required"},
    {"listen_tls_version",
     "listen: [{address: \"0.0.0.0:443\", tls: {certificates: [{cert: /a, key: /b}], min_version: 1.1}}]",
     "listen[0].tls.min_version: `1.1` is none of 1.2, 1.3"},
    {"listen_mode", "listen: [{address: \"unix:/run/w\", mode: \"0888\"}]", "listen[0].mode: `0888` is not a file's mode"},
    {"listen_mode_too_much", "listen: [{address: \"unix:/run/w\", mode: \"4755\"}]", "is not a file's mode"},
    {"listen_mode_tcp", "listen: [{address: \"0.0.0.0:80\", mode: \"0666\"}]", "listen[0]: `mode` is for unix sockets"},
    {"listen_proxy_from_anybody", "listen: [{address: \"0.0.0.0:80\", proxy_protocol: on}]",
     "weir.yaml:3:10: listen[0]: `proxy_protocol` needs `trusted_proxies`"},
    {"listen_no_address", "listen: [{tls: off}]", "listen[0].address: is required"},
    {"network", "trusted_proxies: [10.0.0.0/33]", "trusted_proxies[0]: `10.0.0.0/33` is not an IP address"},
    {"network_bits", "trusted_proxies: [10.0.0.1/8]", "bits behind the prefix"},
    {"query_star", "key: {query_drop: [\"a*b\"]}", "a `*` stands at the end alone"},
    {"query_name", "key: {query_drop: [\"a=b\"]}", "not the name of a query parameter"},
    {"cookie_name", "cookies: {ignore: [\"a b\"]}", "not a cookie's name"},
    {"field_name", "key: {headers: [\"a b\"]}", "key.headers[0]: `a b`: not a field name"},
    {"vary_allow", "key: {vary_allow: [user-agent]}", "expected cookie or authorization"},
    {"framing_field", "headers: {request: {set: {Content-Length: 1}}}",
     "headers.request.set.Content-Length: `Content-Length` is set by Weir alone"},
    {"host_field", "headers: {request: {remove: [Host]}}", "see the origin's `host_header`"},
    {"field_value_break", "headers: {response: {set: {A: \"b\\r\\nC: d\"}}}", "control characters are not allowed"},
    {"language", "key: {languages: [\"*\"]}", "not a language tag"},
    {"coding", "key: {accept_encoding: [identity]}", "`identity` is no coding to choose"},
    {"error_status", "errors: {200: /a}", "errors.200: `200` is not a status from 400 to 599"},
    {"error_file", "errors: {503: \"\"}", "errors.503: ``: empty"},
    {"error_file_missing", "errors: {503: /does/not/exist}", "weir.yaml:3:15: errors.503: no file `/does/not/exist`"},
    {"error_file_device", "errors: {503: /dev/zero}", "errors.503: no file `/dev/zero`"},
    {"open_admin", "admin: {listen: \"0.0.0.0:9640\"}",
     "admin: `0.0.0.0:9640` can be reached from elsewhere: `token_file` is required"},  // OBS-5
    {"open_admin_empty_token", "admin: {listen: \"0.0.0.0:9640\", token: \"\", token_file: off}",
     "`token_file` is required"},
    {"valkey_address", "store: {type: valkey}", "store: `type: valkey` needs an `address`"},
    {"store_address", "store: {address: \"127.0.0.1\"}", "not a host with a port"},
    {"max_bytes_in_a_site", "sites: [{coalesce: {max_bytes: 8MiB}}]",
     "sites[0].coalesce.max_bytes: is of the whole process; it stands at the top level alone"},
    {"max_bytes_in_a_route", "sites: [{routes: [{path: /a, coalesce: {max_bytes: auto}}]}]",
     "sites[0].routes[0].coalesce.max_bytes: is of the whole process"},
    {"cluster_in_memory", "coalesce: {cluster: on}", "coalesce.cluster: needs `store.type: valkey`"},
    {"breaker_open", "breaker: {open: 2m}", "breaker: `open_max` is shorter than `open`"},
    {"undefined_variable", "store: {password: \"${NOPE}\"}", "store.password: the environment has no variable `NOPE`"},
    {"open_variable", "store: {password: \"${NOPE\"}", "without a variable's name"},
    {"missing_secret", "store: {password_file: /does/not/exist}", "store.password_file: no file `/does/not/exist`"},
    {"secret_is_a_device", "store: {password_file: /dev/zero}", "no file `/dev/zero`"},
    {"secret_twice", "store: {password: a, password_file: /dev/null}", "given beside `password`"},
    {"instance", "instance: \"a b\"", "instance: `a b`: expected letters"},
    {"sites_empty", "sites: []", "weir.yaml:3:8: sites: an empty list"},
    {"site_host_port", "sites: [{hosts: [\"a:80\"]}]", "sites[0].hosts[0]: `a:80`: a site's host has no port"},
    {"site_host_star", "sites: [{hosts: [\"a.*\"]}]", "a `*` stands at the front alone"},
    {"site_host_unicode", "sites: [{hosts: [\"b\u00fccher.example\"]}]", "xn--"},
    {"site_all_and_one", "sites: [{hosts: [\"*\", a]}]", "stands alone in `hosts`"},
    {"host_in_two_sites", "sites:\n  - hosts: [a, b]\n  - hosts: [c, B.]",
     "weir.yaml:5:16: sites[1].hosts[1]: `b` is already in sites[0]"},
    {"host_twice", "sites: [{hosts: [a, a]}]", "sites[0].hosts[1]: `a` is twice in this site"},
    {"two_sites_for_all", "sites: [{}, {}]", "sites[1].hosts: every host (no `hosts`) is already in sites[0]"},
    {"site_named_as_the_one_for_all", "sites: [{hosts: [default]}, {}]",
     "sites[1].hosts: metrics would call it `default`, as they do sites[0]"},
    {"site_for_all_named_as_another", "sites: [{}, {hosts: [default, a]}]",
     "sites[1].hosts: metrics would call it `default`, as they do sites[0]"},
    {"site_redirect", "sites: [{redirect: http}]", "`http` is none of off, https"},
    {"site_policy", "sites: [{coalesce: {holt: 1}}]", "sites[0].coalesce.holt: unknown key; did you mean `hold`?"},
    {"site_has_no_limiter", "sites: [{limiter: {}}]", "sites[0].limiter: unknown key"},
    {"route_star", "sites: [{routes: [{path: \"/a*b\"}]}]", "a `*` stands at the end alone"},
    {"route_query", "sites: [{routes: [{path: \"/a?b\"}]}]", "no query"},
    {"route_method_case", "sites: [{routes: [{path: /a, methods: [post]}]}]", "write `POST`"},
    {"route_method_connect", "sites: [{routes: [{path: /a, methods: [CONNECT]}]}]", "never forwarded"},
    {"route_collapse", "sites: [{routes: [{path: /a, collapse: maybe}]}]", "`maybe` is none of on, off, strict"},
    {"route_collapse_group", "sites: [{routes: [{path: /a, collapse: {ttl: 1s}}]}]", "needs `key_body: true`"},
    {"route_head_alone", "sites: [{routes: [{path: /a, methods: [HEAD]}]}]", "it has the routes of GET"},  // KEY-2
    {"route_collapse_unsafe", "sites: [{routes: [{path: /a, methods: [PUT], collapse: {key_body: on}}]}]",
     "`PUT` is never collapsed"},  // COA-12
    {"not_utf8", "log: {file: \"\xff\"}", "weir.yaml:3:14: not UTF-8"},
    {"control", "log: {file: \"\x01\"}", "weir.yaml:3:14: a control character"},
    {"syntax", "log: {level: info", "weir.yaml:"},
    {"tab", "log:\n\tlevel: info", "weir.yaml:"},
    {"deep", "log: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested deeper than 32 levels"},
    {"deep_dashes", "log:\n  - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - a",
     "nested deeper than 32 levels"},
};
INSTANTIATE_TEST_SUITE_P(Table, OneMistake, testing::ValuesIn(rows), [](auto const& row) { return row.param.name; });

struct OriginRow {
  char const* name;
  char const* origin;
  char const* mistake;
};
class OriginMistake : public testing::TestWithParam<OriginRow> {};
TEST_P(OriginMistake, IsTold) {
  auto const loaded = load(file(std::string("version: 1\norigins: {app: ") + GetParam().origin + "}\n"));
  ASSERT_EQ(loaded.mistakes.size(), 1U) << all_of(loaded);
  EXPECT_THAT(loaded.mistakes.front().text(), HasSubstr(GetParam().mistake));
}
constexpr OriginRow origin_rows[] = {
    {"nothing", "{}", "origins.app: expected `url`, or `servers`"},
    {"both", "{url: \"http://a\", servers: [\"http://a\"]}", "expected `url`, or `servers`"},
    {"no_servers", "{servers: []}", "origins.app.servers: an empty list"},
    {"bare", "{url: \"127.0.0.1:9000\"}", "starts with http://"},
    {"path", "{url: \"http://a/b\"}", "an origin has no path"},
    {"user", "{url: \"http://u:p@a\"}", "has no user name"},
    {"port", "{url: \"http://a:0\"}", "`0` is not a port"},
    {"no_port", "{url: \"http://a:\"}", "`` is not a port"},
    {"host", "{url: \"http://a..b\"}", "`a..b` is not a host"},
    {"no_host", "{url: \"http://\"}", "`` is not a host"},
    {"v6", "{url: \"http://[::g]\"}", "is not a host"},
    {"mixed", "{servers: [\"http://a\", \"https://b\"]}", "http and https among the servers"},
    {"second_server", "{servers: [\"http://a\", \"b\"]}", "origins.app.servers[1]: "},
    {"check_path", "{url: \"http://a\", health_check: {}}", "origins.app.health_check.path: is required"},
    {"own_timeouts", "{url: \"http://a\", timeouts: {store: 1s}}", "origins.app.timeouts.store: unknown key"},
    {"own_breaker", "{url: \"http://a\", breaker: {open: 2m}}", "origins.app.breaker: `open_max` is shorter"},
    {"balance", "{url: \"http://a\", balance: random}", "`random` is none of round_robin, least_connections"},
    {"ca_file_off", "{url: \"https://a\", tls: {ca_file: off}}", "origins.app.tls.ca_file: `off`: no file; write `system`"},
    {"ca_file_false", "{url: \"https://a\", tls: {ca_file: false}}", "origins.app.tls.ca_file: `false`: no file"},
    {"host_header", "{url: \"http://a\", host_header: \"a b\"}", "not a host"},
};
INSTANTIATE_TEST_SUITE_P(Table, OriginMistake, testing::ValuesIn(origin_rows),
                         [](auto const& row) { return row.param.name; });

TEST(Mistakes, WhatAFileMustHave) {
  EXPECT_THAT(mistakes_of(load(file("origins: {a: {url: \"http://a\"}}"))),
              ElementsAre("weir.yaml:1:1: version: is required; write `version: 1`"));
  EXPECT_THAT(mistakes_of(load(file("version: 2\norigins: {a: {url: \"http://a\"}}"))),
              ElementsAre("weir.yaml:1:10: version: 2 is out of range; 1 to 1"));
  EXPECT_THAT(mistakes_of(load(file("version: 1"))),
              ElementsAre("weir.yaml:1:1: origins: no origin: name one here, or with --origin URL"));
  EXPECT_THAT(all_of(load(file(""))), HasSubstr("weir.yaml:1:1: version: is required; write `version: 1`"));
  EXPECT_THAT(mistakes_of(load(file("hello"))), ElementsAre("weir.yaml:1:1: expected keys at the top, as in `version: 1`"));
  EXPECT_THAT(mistakes_of(load(Sources{})), ElementsAre("origins: no origin: name one here, or with --origin URL"));
  EXPECT_THAT(all_of(load(file("version: 1\norigins: {a b: {url: \"http://a\"}}"))),
              HasSubstr("weir.yaml:2:11: origins.a b: an origin's name is made of"));
}

TEST(Mistakes, SeveralOriginsNeedASiteToSayWhich) {
  auto const loaded = load(file("version: 1\norigins: {a: {url: \"http://a\"}, b: {url: \"http://b\"}}\nsites: [{}]\n"));
  EXPECT_THAT(mistakes_of(loaded),
              ElementsAre("weir.yaml:3:9: sites[0].origin: is required where there are several origins"));
}

TEST(Mistakes, AliasesAreRefusedAndNeverFollowed) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 30; ++i) {
    std::string const n = std::to_string(i), before = "*a" + std::to_string(i - 1);
    bomb += "a" + n + ": &a" + n + " [" + before + ", " + before + "]\n";
  }
  EXPECT_THAT(all_of(load(more(bomb))), HasSubstr("a1[1]: aliases are not allowed"));
}

TEST(Mistakes, AreBoundedInNumberAndTextInSize) {
  std::string many = "version: 1\n";
  for (int i = 0; i < 3000; ++i) many += "key" + std::to_string(i) + ": 1\n";
  auto const loaded = load(file(many));
  ASSERT_EQ(loaded.mistakes.size(), 1001U);
  EXPECT_EQ(loaded.mistakes.back().text(), "there are more mistakes than these");

  EXPECT_THAT(mistakes_of(load(file(std::string((1 << 20) + 1, ' ')))), ElementsAre("weir.yaml: larger than 1 MiB"));
  std::string values = "a: [";
  for (int i = 0; i < 200'000; ++i) values += "1,";
  EXPECT_THAT(all_of(load(file(values + "1]"))), HasSubstr("more than 100000 values"));
  std::string long_key(10'000, 'k');
  EXPECT_LT(load(more(long_key + ": 1")).mistakes.front().what.size(), 200U);
}

// SPEC section 12: an error page is kept in memory, so it has a bound.
TEST(Mistakes, AnErrorPageThatIsTooLong) {
  TemporaryFile const page(".html", std::string((256 << 10) + 1, 'x'));
  EXPECT_THAT(all_of(load(more("errors: {503: \"" + page.name() + "\"}\n"))), HasSubstr("is longer than 256 KiB"));
}

}  // namespace
}  // namespace weir::config::test
