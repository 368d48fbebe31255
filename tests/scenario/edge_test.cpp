// Answers that Weir gives at its edge: redirects to https, and the operator's pages in place of its own short texts.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

class File {
 public:
  File(std::string const& ending, std::string const& text)
      : name_(testing::TempDir() + "weir-edge-" + std::to_string(::getpid()) + ending) {
    std::ofstream(name_, std::ios::binary) << text;
  }
  ~File() { ::unlink(name_.c_str()); }
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  std::string const& name() const noexcept { return name_; }

 private:
  std::string name_;
};

// SPEC section 12 (`redirect`): before any look-up; host, path and query stay, the port of the plain listener does not.
TEST(Redirect, GoesToTheSameUrlByHttps) {
  ScriptedOrigin origin;
  Weir weir(origin, "sites: [{hosts: [shop.test, \"*.shop.test\"], redirect: https}, {}]\n");
  struct Row {
    char const *method, *target, *host;
    int status;
    char const* location;
  };
  Client client(weir.port());
  for (auto const& row :
       {Row{"GET", "/", "shop.test", 301, "https://shop.test/"}, Row{"HEAD", "/a", "SHOP.test.", 301, "https://shop.test/a"},
        Row{"GET", "/a%2Fb/../c;d?x=1&y=%20&&z", "www.shop.test:8080", 301,
            "https://www.shop.test/a%2Fb/../c;d?x=1&y=%20&&z"},
        Row{"GET", "//evil.test/x?", "shop.test", 301, "https://shop.test//evil.test/x?"},
        Row{"PUT", "/a?b", "shop.test", 308, "https://shop.test/a?b"},
        Row{"BREW", "/a", "shop.test:80", 308, "https://shop.test/a"}}) {
    auto const answer = client.request(row.method, row.target, {{"Host", row.host}});
    EXPECT_EQ(answer.status, row.status) << answer;
    EXPECT_EQ(answer.value("Location"), row.location);
    EXPECT_EQ(answer.value("Cache-Control"), "no-store");
    EXPECT_FALSE(answer.has("Proxy-Status")) << answer;
  }
  EXPECT_EQ(origin.calls(), 0U);
  EXPECT_EQ(weir.outcome(observe::Outcome::redirect), 6U);
  EXPECT_EQ(client.get("/", {{"Host", "other.test"}}).status, 404);
  EXPECT_EQ(origin.calls(), 1U);
}

// A body is not read: the connection says that it ends. Without a host nobody can say where to.
TEST(Redirect, EndsAConnectionWithABody) {
  ScriptedOrigin origin;
  Weir weir(origin, "sites: [{redirect: https}]\n");
  auto const post = Client(weir.port()).request("POST", "/form", {}, "a=b");
  EXPECT_EQ(post.status, 308);
  EXPECT_EQ(post.value("Connection"), "close");
  Client old(weir.port());
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read().status, 400);
  EXPECT_EQ(origin.calls(), 0U);
}

// FWD-1: a trusted proxy that ended TLS says so, a stranger is not believed, and neither of them gets the other's answer.
TEST(Redirect, BelievesATrustedProxy) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {max_age(60)}, "x"));
  Weir weir(origin, "sites: [{redirect: https}]\ntrusted_proxies: [127.0.0.1]\n");
  Field const https{"X-Forwarded-Proto", "https"}, http{"X-Forwarded-Proto", "http"};
  EXPECT_EQ(get(weir.port(), "/x", {https}).body, "x");
  EXPECT_TRUE(cache_status(get(weir.port(), "/x", {https})).hit());
  EXPECT_EQ(get(weir.port(), "/x", {http}).status, 301);
  Client stranger(weir.port(), {.source = "127.0.0.2"});
  EXPECT_EQ(stranger.get("/x", {https}).status, 301);
  EXPECT_EQ(stranger.request("GET", "https://weir.test/x", {{"Host", "weir.test"}}).status, 301);
}

// SPEC section 12 (`errors`), OBS-1: what the page does not say stays in the fields.
TEST(ErrorPages, StandInForShortTexts) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(502, {}, "the origin's own"));
  File const page(".html", "<h1>Sorry</h1>"), data(".json", "{}");
  Weir weir(origin, "errors: {502: \"" + page.name() + "\", 503: \"" + page.name() + "\", 400: \"" + data.name() +
                        "\"}\nlimiter: {max_concurrent: 1, max_queue: off}\ncoalesce: {follower_max_wait: 1s}\n");
  EXPECT_EQ(get(weir.port(), "/x").body, "the origin's own");
  Gate gate;
  origin.answer("/slow", Script().wait(gate).head(200, {{"Content-Length", "0"}}));
  Client busy(weir.port());
  busy.send_request("GET", "/slow");
  ASSERT_TRUE(origin.waits_for_calls(2));
  Client client(weir.port());
  auto const shed = client.get("/other");
  EXPECT_EQ(shed.status, 503);
  EXPECT_EQ(shed.body, "<h1>Sorry</h1>");
  EXPECT_EQ(shed.value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_TRUE(shed.has("Retry-After")) << shed;
  EXPECT_TRUE(shed.has("Proxy-Status")) << shed;
  auto const head = client.request("HEAD", "/other");
  EXPECT_EQ(head.value("Content-Length"), "14");
  EXPECT_EQ(head.body, "");
  gate.open();
  EXPECT_EQ(busy.read().status, 200);
  origin.stop();
  EXPECT_EQ(client.get("/dead").body, "<h1>Sorry</h1>");
  Client malformed(weir.port());
  malformed.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(malformed.read().body, "{}");
  EXPECT_EQ(get(weir.port(), "/x", {{"Cache-Control", "only-if-cached"}}).body, "504 Gateway Timeout\n");  // no page for it
}

// REQ-2: the file has the rights that it is told, replaces one whose listener is dead, and nothing else.
TEST(UnixSockets, AreMadeAsTold) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {}, "x"));
  auto const path = testing::TempDir() + "weir-edge-" + std::to_string(::getpid());
  auto const yaml = [&](std::string const& more) { return "listen: [{address: \"unix:" + path + "\"" + more + "}]\n"; };
  std::ofstream(path) << "a file";
  EXPECT_THROW(Weir(origin.url(), yaml("")), std::system_error);
  ASSERT_EQ(::unlink(path.c_str()), 0);
  { Socket const dead = listen_on(0, "unix:" + path); }
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);  // left over
  Weir weir(origin.url(), yaml(", mode: \"0606\""));
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0606U);
  EXPECT_THROW(Weir(origin.url(), yaml("")), std::system_error);  // it is alive
  EXPECT_EQ(Client(0, {.address = "unix:" + path}).get("/x").body, "x");
  EXPECT_TRUE(weir.reload(yaml(", mode: \"0600\"")).empty());  // the same socket, for others
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

}  // namespace
}  // namespace weir::test
