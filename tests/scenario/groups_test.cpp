// SRV-6, PRG-1: Cache-Groups and Cache-Group-Invalidation (RFC 9875).
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

struct Row {
  std::string name;
  Fields groups;       // of what is stored
  Fields invalidates;  // of the answer to the change
  bool gone;
  std::string method = "POST", host = "weir.test";
  int status = 200;
};

Field groups(std::string const& value) { return {"Cache-Groups", value}; }
Field invalidates(std::string const& value) { return {"Cache-Group-Invalidation", value}; }

// Each row has a stored response of its own and a change at another URL; what is stored is asked for again.
void expect_all(std::vector<Row> const& rows, std::string const& yaml = plain) {
  ScriptedOrigin origin;
  Weir weir(origin, yaml);
  Client client(weir.port());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const& row = rows[i];
    SCOPED_TRACE(row.name);
    auto const stored = "/stored/" + std::to_string(i), change = "/change/" + std::to_string(i);
    auto fields = row.groups;
    fields.insert(fields.end(), {max_age(600), {"ETag", "\"e\""}});
    origin.answer(stored, [fields](Request const& request) {
      return request.has("If-None-Match") ? respond(304, fields) : respond(200, fields, "x");
    });
    origin.answer(change, respond(row.status, row.invalidates, "done"));
    auto const first = client.get(stored);
    EXPECT_FALSE(first.has("Cache-Groups"));
    ASSERT_TRUE(weir.waits_until_no_flights());
    client.request(row.method, change, {{"Host", row.host}});
    ASSERT_TRUE(weir.waits_until_no_flights());
    auto const second = client.get(stored);
    EXPECT_EQ(cache_status(second).hit(), !row.gone) << second;
    EXPECT_EQ(cache_status(second).value("fwd-status"), row.gone ? "304" : "") << "validated, not fetched again";
    ASSERT_TRUE(weir.waits_until_no_flights());
  }
}

// RFC 9875 2: two responses share a group if they name the same String, byte for byte.
TEST(Groups, AreStrings) {
  expect_all({
      {"one", {groups("\"a\"")}, {invalidates("\"a\"")}, true},
      {"another", {groups("\"a1\"")}, {invalidates("\"b1\"")}, false},
      {"in capitals", {groups("\"a2\"")}, {invalidates("\"A2\"")}, false},
      {"the beginning of its name", {groups("\"a3-long\"")}, {invalidates("\"a3\"")}, false},
      {"one of several", {groups("\"a4\", \"b4\", \"c4\"")}, {invalidates("\"x\", \"c4\"")}, true},
      {"in several lines", {groups("\"a5\""), groups("\"b5\"")}, {invalidates("\"x\""), invalidates("\"b5\"")}, true},
      {"the empty one", {groups("\"\"")}, {invalidates("\"\"")}, true},
      {"with a comma in it", {groups("\"a6, b6\"")}, {invalidates("\"b6\"")}, false},
      {"with quotes in it", {groups(R"("a\"7")")}, {invalidates(R"("a\"7")")}, true},
      {"with white space around it", {groups("\" a8\"")}, {invalidates("\"a8\"")}, false},
      {"parameters do not count", {groups("\"a9\";p=1")}, {invalidates("\"a9\";q")}, true},
      {"twice", {groups("\"a10\", \"a10\"")}, {invalidates("\"a10\", \"a10\"")}, true},
      {"none", {groups("")}, {invalidates("\"\", \"a\"")}, false},
      {"no word of it", {}, {invalidates("\"a\"")}, false},
      {"nothing is invalidated", {groups("\"a11\"")}, {}, false},
  });
}

// A List that does not parse is none; what is in it but no String is no group.
TEST(Groups, MalformedListsNameNone) {
  std::vector<Row> rows;
  int count = 0;
  for (std::string const before : {"", "\"x\", "})
    for (std::string const bad : {"\"N", "\"N\",", "\"N\" \"x\"", "\"N\\x\"", "'N'", "\"N\";P", "\"N\"; =1", "\"N\xC3\xA4\"",
                                  ", \"N\"", "\"N\", &"}) {
      auto const name = "m" + std::to_string(count++);
      auto value = before + bad;
      value.replace(value.find('N'), 1, name);
      rows.push_back({"groups: " + value, {groups(value)}, {invalidates('"' + name + '"')}, false});
      rows.push_back({"invalidates: " + value, {groups('"' + name + '"')}, {invalidates(value)}, false});
    }
  for (std::string const other : {"tok", "(\"tok\")", "5", "?1", ":dG9r:", "@5", "1.5"}) {
    rows.push_back({"groups: " + other, {groups(other)}, {invalidates("\"tok\", \"5\", \"\"")}, false});
    rows.push_back({"invalidates: " + other, {groups("\"tok\", \"5\", \"?1\"")}, {invalidates(other)}, false});
  }
  rows.push_back({"a String beside others", {groups("tok, \"beside\", 5, (\"x\")")}, {invalidates("5, \"beside\"")}, true});
  expect_all(rows);
}

// RFC 9875 3, RFC 9111 4.4: on a good answer to an unsafe request, and not otherwise.
TEST(Groups, OnlyChangesInvalidate) {
  std::vector<Row> rows;
  auto const add = [&](std::string const& method, int status, bool gone) {
    auto const name = "\"u" + std::to_string(rows.size()) + '"';
    rows.push_back(
        {method + ' ' + std::to_string(status), {groups(name)}, {invalidates(name)}, gone, method, "weir.test", status});
  };
  for (std::string const method : {"POST", "PUT", "DELETE", "PATCH", "BREW"}) add(method, 200, true);
  for (std::string const method : {"GET", "HEAD", "OPTIONS"}) add(method, 200, false);
  for (int const status : {201, 202, 204, 299, 301, 303, 304, 307}) add("POST", status, true);
  for (int const status : {400, 404, 409, 500, 503}) add("POST", status, false);
  expect_all(rows);
}

// RFC 9875 2.1: of the same URI origin: scheme, host and port.
TEST(Groups, AreOfOneOrigin) {
  std::vector<Row> rows;
  auto const add = [&](std::string const& host, bool gone) {
    auto const name = "\"o" + std::to_string(rows.size()) + '"';
    rows.push_back({host, {groups(name)}, {invalidates(name)}, gone, "POST", host});
  };
  for (std::string const same : {"weir.test", "WEIR.test", "weir.test:80", "weir.test."}) add(same, true);
  for (std::string const other : {"other.test", "weir.test:81", "a.weir.test", "weir"}) add(other, false);
  expect_all(rows);
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {max_age(600), groups("\"g\"")}, "x"));
  origin.answer("/change", respond(200, {invalidates("\"g\"")}));
  Weir weir(origin, plain + "trusted_proxies: [127.0.0.1]\n");
  Client client(weir.port());
  client.get("/x");
  client.request("POST", "/change", {{"X-Forwarded-Proto", "https"}});
  EXPECT_TRUE(cache_status(client.get("/x")).hit()) << "https is another origin";
  client.request("POST", "/change", {{"X-Forwarded-Proto", "http"}});
  EXPECT_FALSE(cache_status(client.get("/x")).hit());
}

// RFC 9875 2 and 3: 32 groups of 32 bytes have to work. More do too, up to what a List may have; beyond it the field is
// none.
TEST(Groups, ManyAndLong) {
  auto const list = [](std::string const& prefix, int count, std::size_t size) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      auto name = prefix + std::to_string(i);
      name.resize(std::max(size, name.size()), 'x');
      all += (i == 0 ? "\"" : ", \"") + name + '"';
    }
    return all;
  };
  auto const last = [](std::string const& all) { return all.substr(all.rfind(' ') + 1); };
  std::vector<Row> rows;
  for (auto const& [count, size] : {std::pair{32, 32}, {128, 64}, {1000, 4}, {2, 4000}}) {
    auto const name = "L" + std::to_string(count) + "n";
    auto const all = list(name, count, static_cast<std::size_t>(size));
    rows.push_back({name + ", stored", {groups(all)}, {invalidates(last(all))}, true});
    rows.push_back({name + ", invalidated", {groups(last(all))}, {invalidates(all)}, true});
  }
  auto const too_many = list("t", 1025, 1);
  rows.push_back({"more than a List has", {groups(too_many)}, {invalidates("\"t0\"")}, false});
  expect_all(rows);
}

// RFC 9875 2: a 304 names the groups anew; what it leaves out stands.
TEST(Groups, OfWhatWasValidated) {
  ScriptedOrigin origin;
  origin.answer("/x", {respond(200, {max_age(30), {"ETag", "\"e\""}, groups("\"old\"")}, "x"),
                       respond(304, {max_age(30), {"ETag", "\"e\""}, groups("\"new\"")})});
  for (std::string const name : {"new", "old"}) origin.answer("/" + name, respond(200, {invalidates('"' + name + '"')}));
  Weir weir(origin, plain);
  Client client(weir.port());
  client.get("/x");
  weir.turn(std::chrono::seconds(31));
  EXPECT_EQ(cache_status(client.get("/x")).value("fwd-status"), "304");
  for (std::string const name : {"new", "old"}) {
    EXPECT_TRUE(cache_status(client.get("/x")).hit());
    client.request("POST", "/" + name);
    EXPECT_FALSE(cache_status(client.get("/x")).hit()) << name;
    ASSERT_TRUE(weir.waits_until_no_flights());
  }
}

}  // namespace
}  // namespace weir::test
