// The access log (OBS-4): a line for each request, however it ended.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <boost/json.hpp>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using Line = boost::json::object;
Field const fresh{"Cache-Control", "max-age=600"};

class Access : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(file_); }
  std::string settings(std::string const& format = "json") const {
    return "log: {access_file: \"" + file_ + "\", access_format: " + format +
           "}\ntrusted_proxies: [127.0.0.0/8]\nfreshness: {jitter: 0}\n";
  }
  bool is_open() const {
    std::error_code gone;
    for (auto const& descriptor : std::filesystem::directory_iterator("/proc/self/fd"))
      if (std::filesystem::read_symlink(descriptor.path(), gone) == file_) return true;
    return false;
  }
  std::vector<std::string> text() const {
    std::vector<std::string> lines;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);)
      if (!in.eof()) lines.push_back(line);
    return lines;
  }
  // The lines of so many requests, as soon as they are there.
  std::vector<Line> lines(std::size_t count) const {
    EXPECT_TRUE(eventually([&] { return text().size() >= count; })) << text().size();
    std::vector<Line> all;
    for (auto const& line : text()) all.push_back(boost::json::parse(line).as_object());
    EXPECT_EQ(all.size(), count);
    return all;
  }
  std::string file_ = (std::filesystem::path(testing::TempDir()) /
                       (std::string("weir_access_") + testing::UnitTest::GetInstance()->current_test_info()->name()))
                          .string();
};

// OBS-4
TEST_F(Access, TellsHowEachRequestEnded) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {fresh, {"ETag", "\"v\""}}, "hello"));
  Weir weir(origin, settings());
  Client client(weir.port());
  client.get("/x", {{"X-Forwarded-For", "203.0.113.7"}, {"User-Agent", "a\"b"}});
  client.get("/x");
  client.get("/x", {{"If-None-Match", "\"v\""}});
  client.request("HEAD", "/x");
  client.request("TRACE", "/x");
  Client bad(weir.port());
  bad.send("GET /x HTTP/1.1\r\n\r\n");
  bad.read_to_end();
  auto const all = lines(6);
  std::vector<std::string> told;
  for (auto const& line : all)
    told.push_back(std::string(line.at("outcome").as_string()) + ' ' + std::to_string(line.at("status").as_int64()) + ' ' +
                   std::to_string(line.at("body_bytes").as_int64()));
  std::sort(told.begin(), told.end());  // two workers
  EXPECT_EQ(told, (std::vector<std::string>{"hit 200 0", "hit 200 5", "hit 304 0", "miss 200 5", "refused 400 16",
                                            "refused 405 23"}));
  for (auto const& line : all) {
    if (line.at("outcome") != "miss") continue;
    EXPECT_EQ(line.at("client"), "203.0.113.7");
    EXPECT_EQ(line.at("user_agent"), "a\"b");
    EXPECT_EQ(line.at("cache_status"), "Weir; fwd=uri-miss; fwd-status=200; stored; ttl=600");
  }
}

// OBS-2, OBS-4: what is refused before its site is looked for is of no site, whatever was asked before it, and even if that
// site is gone.
TEST_F(Access, WhatIsRefusedAtOnceIsOfNoSite) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {fresh}, "hello"); });
  std::string const sites = "sites: [{hosts: [one.test], origin: default}, {hosts: [two.test], origin: default}]\n";
  Weir weir(origin, settings() + sites);
  Client client(weir.port());
  EXPECT_EQ(client.get("/x", {{"Host", "two.test"}}).status, 200);
  EXPECT_EQ(client.request("TRACE", "/x", {{"Host", "two.test"}}).status, 405);
  EXPECT_EQ(weir.metric(R"(weir_requests_total{site="two.test",outcome="refused"})"), 0);
  EXPECT_EQ(weir.reload(settings() + "sites: [{hosts: [one.test], origin: default}]\n"), std::vector<std::string>());
  EXPECT_EQ(client.request("TRACE", "/x", {{"Host", "two.test"}}).status, 405);
  for (auto const& line : lines(3)) EXPECT_EQ(line.contains("site"), line.at("outcome") == "miss");
}

// OBS-4: one fetch for all, told so.
TEST_F(Access, TellsWhoWasCollapsedAndWhoLeft) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().wait(gate).head(200, {fresh, {"Content-Length", "5"}}).body("hello"));
  Weir weir(origin, settings());
  Burst burst(weir.port(), 4);
  burst.get("/x");
  ASSERT_TRUE(weir.waits_for_waiters(4));
  burst.reset(3);
  ASSERT_TRUE(weir.waits_for_waiters(3));
  gate.open();
  burst.collect(3);
  std::map<std::pair<std::int64_t, bool>, int> told;
  for (auto const& line : lines(4)) ++told[{line.at("status").as_int64(), line.at("whole").as_bool()}];
  EXPECT_EQ(told, (std::map<std::pair<std::int64_t, bool>, int>{{{200, true}, 3}, {{499, false}, 1}}));
}

// OBS-4, LCY-2: a reload switches it on and off, and names another file; USR1 opens the file anew.
TEST_F(Access, IsSwitchedByReloadAndReopened) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {fresh}, "hello"));
  Weir weir(origin);
  Client client(weir.port());
  client.get("/x");
  ASSERT_TRUE(weir.reload(settings("text")).empty());
  client.get("/x");
  ASSERT_TRUE(eventually([&] { return text().size() == 1; }));
  EXPECT_TRUE(text().front().starts_with("127.0.0.1 - - [")) << text().front();
  std::filesystem::remove(file_);
  weir.daemon().reopen_logs();
  client.get("/x");
  ASSERT_TRUE(eventually([&] { return text().size() == 1; }));
  EXPECT_EQ(weir.reload("log: {access_file: \"/nowhere/at/all\"}\n").size(), 1U);
  ASSERT_TRUE(weir.reload("").empty());
  EXPECT_TRUE(eventually([&] { return !is_open(); }));
  client.get("/x");
  EXPECT_EQ(weir.metric("weir_access_log_dropped_total"), 0);
  ASSERT_TRUE(weir.reload(settings("text")).empty());
  client.get("/x");
  ASSERT_TRUE(eventually([&] { return text().size() == 2; }));
}

}  // namespace
}  // namespace weir::test
