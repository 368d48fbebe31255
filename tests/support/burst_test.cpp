#include "support/burst.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "support/origin.hpp"

namespace weir::test {
namespace {

TEST(Burst, CollectsOneAnswerForEachClient) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.target); });
  Burst burst(origin.port(), 100);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  burst.collect();
  auto const responses = burst.responses();
  ASSERT_EQ(responses.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(responses[i].body, "/" + std::to_string(i));
  EXPECT_EQ(statuses(responses), (std::map<int, std::size_t>{{200, 100}}));
  EXPECT_EQ(origin.connections(), 100u);

  burst.get("/again");
  burst.collect();
  EXPECT_EQ(origin.calls("/again"), 100u);
  EXPECT_EQ(origin.connections(), 100u);
}

TEST(Burst, TellsWhoWasAnsweredFirst) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/1", respond(200));
  origin.answer("/0", Script().wait(gate).head(200, {{"Content-Length", "0"}}));
  Burst burst(origin.port(), 2);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  burst.collect(1);
  EXPECT_EQ(burst.done(), 1u);
  gate.open();
  burst.collect();
  EXPECT_EQ(burst.first_byte_order(), (std::vector<std::size_t>{1, 0}));
}

TEST(Burst, CountsBrokenAnswersApart) {
  ScriptedOrigin origin;
  origin.answer("/0", respond(200, {}, "hello"));
  origin.answer("/1", Script().head(200, {{"Content-Length", "9"}}).body("hello").close());
  origin.answer("/2", reset());
  Burst burst(origin.port(), 3);
  burst.send_each([](std::size_t i) { return write_request("GET", "/" + std::to_string(i)); });
  burst.collect();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, 1}, {-1, 1}, {0, 1}}));
  EXPECT_EQ(burst.responses()[2].end, End::reset);
}

TEST(Burst, LetsClientsLeaveAndFailsOnSilence) {
  ScriptedOrigin origin;
  origin.answer("/", hang());
  Burst burst(origin.port(), 3);
  burst.get("/");
  EXPECT_TRUE(origin.waits_for_calls(3));
  burst.close(0);
  burst.reset(1);
  burst.collect(2);
  EXPECT_TRUE(eventually([&] { return origin.departures() == 2; }));
  EXPECT_NONFATAL_FAILURE(burst.collect(3, Milliseconds(1)), "2 of 3 came");
}

// A peer of one thread: it waits for all, then answers all.
TEST(Burst, HasTenThousandClients) {
  std::size_t const count = raise_descriptor_limit() > 21'000 ? 10'000 : 1'000;
  Socket const listener = listen_on();
  std::thread peer([&] {
    std::vector<Socket> sockets;
    while (sockets.size() < count) sockets.emplace_back(::accept(listener.fd(), nullptr, nullptr));
    std::string request;
    for (Socket& socket : sockets) {
      while (!request.ends_with("\r\n\r\n") && socket.receive(request, 4096) == Socket::Got::bytes) continue;
      socket.send_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      request.clear();
    }
  });
  Burst burst(local_port(listener), count);
  burst.get("/");
  burst.collect();
  peer.join();
  EXPECT_EQ(statuses(burst.responses()), (std::map<int, std::size_t>{{200, count}}));
}

}  // namespace
}  // namespace weir::test
