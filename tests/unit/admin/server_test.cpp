#include "weir/admin/server.hpp"

#include <sys/stat.h>

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixture.hpp"

namespace weir::admin {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class AdminServer : public AdminTest {
 protected:
  // A call that gives back its body.
  void add_echo() {
    router_more_ = {.method = "POST", .path = "/echo", .changes = true, .handler = [](Call const& call) {
                      return json(200, std::string(call.body));
                    }};
  }
  // Everything that was sent before this has been read: the thread takes connections and bytes in their order.
  void catch_up() {
    for (int i = 0; i < 2; ++i) ASSERT_EQ(get("/healthz").status, 200);
  }
};

constexpr char const* get_health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST_F(AdminServer, KeepsAConnectionAndAnswersInOrder) {  // OBS-3
  open();
  RawClient connection = client();
  connection.send(std::string(get_health) + "GET /v1/config HTTP/1.1\r\nHost: localhost\r\n\r\n" + get_health);
  EXPECT_EQ(connection.receive().value().body, "ok\n");
  EXPECT_EQ(connection.receive().value().body, R"({"version":1})");
  EXPECT_EQ(connection.receive().value().body, "ok\n");
  EXPECT_EQ(connection.ask(get_health).value().status, 200);
}

TEST_F(AdminServer, ClosesWhenAskedTo) {
  open();
  RawClient connection = client();
  auto const response = connection.ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(response.value().fields.at("connection"), "close");
  EXPECT_TRUE(connection.ends());
  RawClient old = client();
  EXPECT_EQ(old.ask("GET /healthz HTTP/1.0\r\n\r\n").value().status, 200);
  EXPECT_TRUE(old.ends());
}

TEST_F(AdminServer, HeadHasTheLengthAndNoBody) {
  open();
  RawClient connection = client();
  connection.send(std::string("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n") + get_health);
  EXPECT_EQ(connection.receive(true).value().fields.at("content-length"), "9");
  EXPECT_EQ(connection.receive().value().body, "ok\n");
}

TEST_F(AdminServer, UnknownPathKeepsTheConnection) {  // OBS-3
  open();
  RawClient connection = client();
  auto const response = connection.ask("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(response.value().status, 404);
  EXPECT_THAT(response.value().body, HasSubstr("unknown-path"));
  EXPECT_EQ(connection.ask(get_health).value().status, 200);
}

TEST_F(AdminServer, WrongMethodNamesTheRightOne) {  // OBS-3
  open();
  auto const response = ask("PUT", "/v1/drain");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.fields.at("allow"), "POST");
}

TEST_F(AdminServer, ReadsABodyInPieces) {
  add_echo();
  open();
  RawClient connection = client();
  connection.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n[1,");
  catch_up();
  connection.send("2,34]");
  connection.send(get_health);
  EXPECT_EQ(connection.receive().value().body, "[1,2,34]");
  EXPECT_EQ(connection.receive().value().body, "ok\n");
}

TEST_F(AdminServer, ABodyOfTheLargestSizePasses) {
  add_echo();
  open();
  std::string const body(max_body, '1');
  RawClient connection = client();
  connection.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
                  std::to_string(max_body) + "\r\n\r\n");
  connection.send(body);
  EXPECT_EQ(connection.receive().value().body.size(), max_body);
}

TEST_F(AdminServer, SaysContinueWhenItWantsTheBody) {  // REQ-2
  add_echo();
  open();
  std::string const head =
      " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  RawClient connection = client();
  EXPECT_EQ(connection.ask("POST /echo" + head).value().status, 100);
  EXPECT_EQ(connection.ask("{}").value().body, "{}");
  RawClient refused = client();
  EXPECT_EQ(refused.ask("POST /nothing" + head).value().status, 404);
}

TEST_F(AdminServer, RefusesBadRequestsAndCloses) {
  add_echo();
  open();
  struct {
    char const* name;
    std::string bytes;
    int status;
  } const cases[] = {
      {"no host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
      {"no http", "hello\r\n\r\n", 400},
      {"other version", "GET /healthz HTTP/3.0\r\nHost: localhost\r\n\r\n", 505},
      {"long target", "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414},
      {"long head", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(17'000, 'a') + "\r\n\r\n", 431},
      {"long body", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n" + std::string(50'000, 'x'),
       413},
      {"chunked",
       "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
       "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
       411},
      {"form", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\na=b", 415},
      {"origin",
       "POST /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: http://b\r\nContent-Type: application/json\r\nContent-Length: "
       "2\r\n\r\n{}",
       403},
  };
  for (auto const& row : cases) {
    RawClient connection = client();
    auto const response = connection.ask(row.bytes);
    ASSERT_TRUE(response) << row.name;
    EXPECT_EQ(response->status, row.status) << row.name;
    EXPECT_EQ(response->fields.at("connection"), "close") << row.name;
    EXPECT_TRUE(connection.ends()) << row.name;
  }
}

TEST_F(AdminServer, ACallThatThrowsIsA500) {
  router_more_ = {.method = "GET", .path = "/throws", .handler = [](Call const&) -> Answer { throw std::bad_alloc(); }};
  open();
  RawClient connection = client();
  EXPECT_EQ(connection.ask("GET /throws HTTP/1.1\r\nHost: localhost\r\n\r\n").value().status, 500);
  EXPECT_EQ(connection.ask(get_health).value().status, 200);
}

TEST_F(AdminServer, ASlowHeadEndsAfterTenSeconds) {  // OBS-3
  open();
  RawClient silent = client(), slow = client();
  slow.send("GET /healthz HTTP/1.1\r\nHo");
  catch_up();
  turn(9s);
  catch_up();
  slow.send("s");
  catch_up();
  turn(2s);
  EXPECT_TRUE(silent.ends());
  EXPECT_TRUE(slow.ends());
}

TEST_F(AdminServer, ASlowBodyEndsAfterTenSeconds) {  // OBS-3
  add_echo();
  open();
  RawClient slow = client();
  slow.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n[1,");
  catch_up();
  turn(11s);
  EXPECT_TRUE(slow.ends());
}

TEST_F(AdminServer, AnIdleConnectionStaysForAMinute) {  // OBS-3
  open();
  RawClient idle = client();
  ASSERT_EQ(idle.ask(get_health).value().status, 200);
  catch_up();
  turn(59s);
  ASSERT_EQ(idle.ask(get_health).value().status, 200);
  catch_up();
  turn(61s);
  EXPECT_TRUE(idle.ends());
}

TEST_F(AdminServer, AReaderThatTakesNothingEnds) {  // OBS-3
  router_more_ = {
      .method = "GET", .path = "/big", .handler = [](Call const&) { return json(200, std::string(32 << 20, 'x')); }};
  open();
  RawClient slow = client();
  slow.send("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n");
  catch_up();
  turn(11s);
  EXPECT_FALSE(slow.receive());
}

TEST_F(AdminServer, SixtyFourConnectionsAreEnough) {  // OBS-3
  open();
  std::vector<RawClient> all;
  for (std::size_t i = 0; i < max_connections; ++i) all.push_back(client());
  RawClient one_more = client();
  EXPECT_EQ(one_more.receive().value().status, 503);
  EXPECT_TRUE(one_more.ends());
  EXPECT_EQ(all.back().ask(get_health).value().status, 200);
  all.pop_back();
  int status = 0;
  for (int attempt = 0; attempt < 10'000 && status != 200; ++attempt) {  // until the thread has seen that one left
    status = client().ask(get_health).value_or(RawResponse{}).status;
  }
  EXPECT_EQ(status, 200);
}

// Whoever reaches the open door has shown no token.
TEST_F(AdminServer, ACrowdAtTheMetricsLeavesTheOperatorsDoorOpen) {  // OBS-3, OBS-5
  settings_.metrics_listen = "127.0.0.1:0";
  open();
  std::vector<RawClient> all;
  for (std::size_t i = 0; i < max_open_connections; ++i) all.push_back(RawClient::tcp(server_->metrics_port()));
  EXPECT_EQ(RawClient::tcp(server_->metrics_port()).receive().value_or(RawResponse{}).status, 503);
  for (std::size_t i = 0; i < max_connections; ++i) {
    all.push_back(client());
    ASSERT_EQ(all.back().ask(get_health).value_or(RawResponse{}).status, 200) << i;
  }
  EXPECT_EQ(client().receive().value_or(RawResponse{}).status, 503);
}

TEST_F(AdminServer, StopLetsACallEnd) {  // OBS-3, LCY-2
  std::promise<void> entered, release;
  router_more_ = {.method = "GET", .path = "/slow", .handler = [&](Call const&) {
                    entered.set_value();
                    release.get_future().wait();
                    return json(200, "[]");
                  }};
  open();
  RawClient idle = client(), busy = client();
  catch_up();
  busy.send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  entered.get_future().wait();
  std::jthread const stopper([this] { server_->stop(); });
  release.set_value();
  EXPECT_EQ(busy.receive().value().body, "[]");
  EXPECT_TRUE(busy.ends());
  EXPECT_TRUE(idle.ends());
}

TEST_F(AdminServer, StopWaitsASecondForASlowClient) {  // LCY-2
  open();
  auto const port = server_->port();
  RawClient slow = client();
  slow.send("GET /healthz HTTP/1.1\r\nHo");
  catch_up();
  auto stopped = std::async(std::launch::async, [this] { server_->stop(); });
  while (stopped.wait_for(0s) != std::future_status::ready) {
    if (!RawClient::tcp(port).connected()) turn(2s);
  }
  timers_.clear();
  server_.reset();
  EXPECT_TRUE(slow.ends());
}

TEST_F(AdminServer, ServesAUnixSocketAndTakesItsFileAway) {  // OBS-5
  std::string const path = temporary("socket");
  settings_.listen = "unix:" + path;
  open();
  EXPECT_EQ(server_->port(), 0);
  struct stat file {};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0117U, 0U) << "not executable, and nothing for others";
  RawClient connection = RawClient::unix_socket(path);
  EXPECT_EQ(connection.ask(get_health).value().status, 200);
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(AdminServer, ReplacesAnAbandonedSocketAndNothingElse) {
  std::string const path = temporary("socket");
  settings_.listen = "unix:" + path;
  open();
  EXPECT_EQ(failure().fault, StartFault::cannot_listen) << "somebody listens there";
  EXPECT_EQ(RawClient::unix_socket(path).ask(get_health).value().status, 200);
  // A name for the same socket survives it.
  std::string const abandoned = temporary("abandoned");
  std::filesystem::create_hard_link(path, abandoned);
  server_.reset();
  settings_.listen = "unix:" + abandoned;
  open();
  EXPECT_EQ(RawClient::unix_socket(abandoned).ask(get_health).value().status, 200);
  server_.reset();
  settings_.listen = "unix:" + write_file("file", "precious");
  EXPECT_EQ(failure().fault, StartFault::cannot_listen);
  EXPECT_TRUE(std::filesystem::exists(settings_.listen.substr(5)));
}

TEST_F(AdminServer, NeedsATokenWhereTheNetworkReachesIt) {  // OBS-5
  for (auto const* address : {"0.0.0.0:0", "[::]:0"}) {
    settings_ = {};
    settings_.listen = address;
    auto const error = failure();
    EXPECT_EQ(error.fault, StartFault::token_required) << error.text;
    EXPECT_THAT(error.text, HasSubstr("admin.token_file"));
  }
  settings_.listen = "0.0.0.0:0";
  settings_.token_file = write_file("token", "s3cret\r\n");
  open();
  EXPECT_EQ(get("/v1/stats").status, 401);
  EXPECT_EQ(get("/v1/stats", "Authorization: Bearer s3cret\r\n").status, 200);
}

// By ${NAME} or a variable, without a file.
TEST_F(AdminServer, TakesTheTokenThatTheSettingsHold) {  // OBS-5
  settings_.listen = "0.0.0.0:0";
  settings_.token = "s3cret";
  open();
  EXPECT_EQ(get("/v1/stats").status, 401);
  EXPECT_EQ(get("/v1/stats", "Authorization: Bearer s3cret\r\n").status, 200);
}

TEST_F(AdminServer, MetricsListenNeedsNoToken) {  // OBS-5
  settings_.metrics_listen = "0.0.0.0:0";
  open();
  EXPECT_EQ(RawClient::tcp(server_->metrics_port()).ask(get_health).value().status, 200);
}

TEST_F(AdminServer, NeedsNoTokenOnTheLoopback) {  // OBS-5
  for (auto const* address : {"127.0.0.1:0", "127.9.9.9:0", "[::1]:0", "[::ffff:127.0.0.1]:0", "localhost:0"}) {
    settings_.listen = address;
    auto const server = Server::open(settings_, admin_endpoints(sources_), open_endpoints(sources_));
    // A machine without IPv6 cannot listen; what matters is that no token is asked for.
    auto const fault = server ? StartFault::cannot_listen : server.error().fault;
    EXPECT_EQ(fault, StartFault::cannot_listen) << address;
  }
}

TEST_F(AdminServer, TakesAnyNameThroughAFile) {  // OBS-5: no browser gets there
  std::string const path = temporary("socket");
  settings_.listen = "unix:" + path;
  open();
  EXPECT_EQ(RawClient::unix_socket(path).ask("GET /v1/config HTTP/1.1\r\nHost: weir\r\n\r\n").value().status, 200);
}

TEST_F(AdminServer, RefusesTokensThatAreNone) {  // OBS-5
  for (auto const* text : {"", "\n", "two\nlines"}) {
    settings_.token_file = write_file("token", text);
    EXPECT_EQ(failure().fault, StartFault::token_unreadable) << text;
  }
  settings_.token_file = "/nonexistent";
  EXPECT_EQ(failure().fault, StartFault::token_unreadable);
  settings_.token = "two\nlines";
  EXPECT_EQ(failure().fault, StartFault::token_unreadable);
}

TEST_F(AdminServer, RefusesAddressesThatAreNone) {  // LCY-1
  for (auto const* address : {"9640", ":9640", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "example.org:80",
                              "unix:", "[::1:9640"}) {
    settings_.listen = address;
    auto const error = failure();
    EXPECT_EQ(error.fault, StartFault::bad_address) << address;
    EXPECT_THAT(error.text, HasSubstr("admin.listen")) << address;
  }
  settings_.listen = "unix:/" + std::string(200, 'x');
  EXPECT_EQ(failure().fault, StartFault::bad_address);
  settings_.listen = "off";
  settings_.metrics_listen = "nowhere";
  EXPECT_THAT(failure().text, HasSubstr("admin.metrics_listen"));
}

TEST_F(AdminServer, RefusesAPortInUse) {
  open();
  settings_.listen = "127.0.0.1:" + std::to_string(server_->port());
  EXPECT_EQ(failure().fault, StartFault::cannot_listen);
}

TEST_F(AdminServer, MayBeOff) {
  settings_.listen = "off";
  open();
  EXPECT_EQ(server_->port(), 0);
  EXPECT_EQ(server_->metrics_port(), 0);
  server_->stop();
  server_->stop();
}

}  // namespace
}  // namespace weir::admin
