// Stopping under load: what was accepted is answered, down the whole pipeline, and nobody waits for a door that is closing.
#include <gtest/gtest.h>

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "scenario/answers.hpp"
#include "scenario/draining.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Field length(std::size_t size) { return {"Content-Length", std::to_string(size)}; }

// LCY-2, REQ-2: requests that were sent one behind the other are all answered; the last answer says that it is the last.
TEST(Drain, AnswersAWholePipeline) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/slow", Script().wait(gate).head(200, {max_age(60), length(4)}).body("slow"));
  origin.answer_rest([](Request const& request) { return respond(200, {max_age(60)}, request.target + request.body); });
  Weir weir(origin);
  Client client(weir.port());
  std::vector<std::string> expected{"slow"};
  client.send_request("GET", "/slow");
  for (int i = 0; i < 20; ++i) {
    auto const path = "/" + std::to_string(i);
    if (i % 5 == 4)
      client.send_request("POST", path, {}, "body");
    else
      client.send_request("GET", path);
    expected.push_back(path + (i % 5 == 4 ? "body" : ""));
  }
  ASSERT_TRUE(origin.waits_for_calls(1));
  Drain drain(weir);
  ASSERT_TRUE(refuses_connections(weir));
  gate.open();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    auto const answer = client.read();
    EXPECT_EQ(answer.body, expected[i]);
    EXPECT_EQ(answer.value("Connection"), i + 1 == expected.size() ? "close" : "") << i;
  }
  EXPECT_TRUE(client.waits_until_closed());
  client.close();
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// LCY-2: an answer whose head let the client go on, before anybody thought of stopping, is kept to.
TEST(Drain, KeepsToWhatAHeadHasSaid) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/slow", Script().head(200, {max_age(60), length(10)}).body("hello").wait(gate).body("world"));
  origin.answer("/x", respond(200, {max_age(60)}, "x"));
  Weir weir(origin);
  Client client(weir.port());
  client.send_request("GET", "/slow");
  EXPECT_EQ(client.read_at_least(5).body, "hello");
  Drain drain(weir);
  ASSERT_TRUE(refuses_connections(weir));
  client.send_request("GET", "/x");
  gate.open();
  auto const first = client.read(), last = client.read();
  EXPECT_EQ(first.body, "helloworld");
  EXPECT_FALSE(first.has("Connection"));
  EXPECT_EQ(last.body, "x");
  EXPECT_EQ(last.value("Connection"), "close");
  client.close();
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// LCY-2, REQ-3: a client that always has one request more is told to go all the same.
TEST(Drain, EndsAPipelineThatNeverEnds) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {max_age(60)}, "x"));
  Weir weir(origin);
  get(weir.port(), "/x");
  ASSERT_TRUE(weir.waits_until_no_flights());
  Gate gate;
  Client client(weir.port());
  EXPECT_EQ(client.get("/x").body, "x");
  hold(weir, gate);
  constexpr std::size_t sent = 1500;
  for (std::size_t i = 0; i < sent; ++i) client.send_request("GET", "/x");
  Drain drain(weir);
  ASSERT_TRUE(eventually([&] { return weir.daemon().shared().draining.load(); }));
  gate.open();
  std::size_t answers = 1;
  while (answers < sent && client.read().value("Connection") != "close") ++answers;
  EXPECT_GT(answers, 500U);
  EXPECT_LT(answers, sent);
  client.close();
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// What one client saw of a connection of its own: answered whole, not let in, or lost.
enum class Saw { lost, refused, answered };

Saw ask(std::uint16_t port, std::string const& path) {
  auto socket = connect_to(port);
  if (!socket) return Saw::refused;
  std::string answer;
  if (!socket.send_all(write_request("GET", path, {{"Connection", "close"}}))) return Saw::lost;
  while (socket.receive(answer, 4096) == Socket::Got::bytes) {}
  return answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhello") ? Saw::answered : Saw::lost;
}

// LCY-2: new connections without a pause, hits and misses: each that was let in is answered.
TEST(Drain, UnderLoadNobodyWhoWasLetInIsLost) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {max_age(60)}, "hello"); });
  Weir weir(origin);
  std::atomic<std::uint64_t> answered{0}, refused{0}, lost{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 6; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; refused.load() < 6; ++i) {
        auto const saw = ask(weir.port(), c % 2 == 0 ? "/hit" : "/" + std::to_string(c) + "-" + std::to_string(i));
        ++(saw == Saw::answered ? answered : saw == Saw::refused ? refused : lost);
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return answered.load() > 200; }));
  Drain drain(weir);
  for (auto& client : clients) client.join();
  EXPECT_EQ(lost.load(), 0U);
  EXPECT_EQ(drain.ended(), daemon::Ended::clean);
}

// LCY-2: a door that closes waits for handshakes that have begun, so it must know of them.
TEST(Drain, HandshakesUnderWayAreSeen) {
  int const listener = server::open_listener("127.0.0.1:0", true, 0);
  Socket const owner(listener);
  EXPECT_FALSE(server::handshakes_under_way(listener));
  Socket const client(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  // Hears nothing, so its handshake does not end.
  sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
  sock_fprog const deaf{1, nothing};
  ASSERT_EQ(setsockopt(client.fd(), SOL_SOCKET, SO_ATTACH_FILTER, &deaf, sizeof deaf), 0);
  sockaddr_in where{};
  socklen_t size = sizeof where;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&where), &size), 0);
  ASSERT_NE(connect(client.fd(), reinterpret_cast<sockaddr*>(&where), size), 0);
  EXPECT_TRUE(eventually([&] { return server::handshakes_under_way(listener); }));
  int const other = server::open_listener("127.0.0.1:0", true, 0);
  Socket const other_owner(other);
  EXPECT_FALSE(server::handshakes_under_way(other));
}

}  // namespace
}  // namespace weir::test
