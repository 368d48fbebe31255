// Bodies on their way to the origin, and what becomes of them when one of the three leaves.
#include <gtest/gtest.h>

#include "scenario/raw_origin.hpp"
#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

Field length(std::size_t size) { return {"Content-Length", std::to_string(size)}; }
Field const chunked{"Transfer-Encoding", "chunked"};
Field const expects{"Expect", "100-continue"};

// REQ-2, COA-10: a client that dies in the middle of its body: the origin sees a broken request, never a whole one.
TEST(Uploads, BodyThatBreaksIsBrokenForTheOrigin) {
  for (auto const& framing : {length(10), chunked}) {
    for (int const way : {0, 1, 2}) {
      RawOrigin origin;
      Weir weir(origin.url());
      Client client(weir.port());
      client.send_request("POST", "/x", {framing});
      client.send(framing == chunked ? "5\r\nhello\r\n" : "hello");
      auto connection = origin.accept();
      EXPECT_NE(read_until(connection, "hello").find("hello"), std::string::npos);
      if (way == 0)
        client.reset();
      else if (way == 1)
        client.finish_sending();
      else
        client.send(framing == chunked ? "nonsense\r\n" : "");
      bool const silent =
          way == 2 && framing != chunked;  // no progress: in steps, as its time begins when Weir waits for more
      if (silent) {
        ASSERT_TRUE(eventually([&] {
          weir.turn(1s);
          return weir.daemon().shared().fetches_under_way.load() == 0;
        }));
      }
      std::string rest;
      while (connection.receive(rest, 1000) == Socket::Got::bytes) {}
      EXPECT_EQ(rest.find("0\r\n\r\n"), std::string::npos) << rest;
      EXPECT_LE(rest.size(), 2U) << rest;
      ASSERT_TRUE(weir.waits_until_no_flights());
      if (way == 2) EXPECT_EQ(client.read().status, framing == chunked ? 400 : 408);
      ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 0 || way == 2; }));
    }
  }
}

// REQ-2: without buffering: the origin has the first byte before the last was sent.
TEST(Uploads, BodyIsPassedAsItComes) {
  for (auto const& framing : {length(10), chunked}) {
    RawOrigin origin;
    Weir weir(origin.url());
    Client client(weir.port());
    client.send_request("PUT", "/x", {framing});
    auto connection = origin.accept();
    EXPECT_NE(read_until(connection, "\r\n\r\n").find(framing.name + ": " + framing.value + "\r\n"), std::string::npos);
    client.send(framing == chunked ? "5\r\nhello\r\n" : "hello");
    EXPECT_NE(read_until(connection, "hello").find("hello"), std::string::npos);
    client.send(framing == chunked ? "5\r\nworld\r\n0\r\n\r\n" : "world");
    EXPECT_NE(read_until(connection, framing == chunked ? "0\r\n\r\n" : "world").find("world"), std::string::npos);
    connection.send_all("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_EQ(client.read().status, 201);
    EXPECT_EQ(client.request("GET", "/x", {{"Cache-Control", "only-if-cached"}}).status, 504);  // the connection goes on
  }
}

// REQ-2, REL-2: an answer before the body's end reaches the client, and neither connection is used again.
TEST(Uploads, EarlyAnswerReachesTheClient) {
  for (bool const closes : {false, true}) {
    RawOrigin origin;
    Weir weir(origin.url());
    Client client(weir.port());
    client.send_request("POST", "/x", {length(10'000'000)});
    client.send("hello");
    auto connection = origin.accept();
    read_until(connection, "hello");
    connection.send_all("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
    if (closes) connection.close();
    auto const response = client.read();
    EXPECT_TRUE(response.status == 403 && response.body == "no" && response.complete) << response;
    EXPECT_TRUE(client.waits_until_closed());
    ASSERT_TRUE(weir.waits_until_no_flights());
    Client next(weir.port());
    expect_on_another(origin, next, "/y");
  }
}

// REQ-2: the origin's 100 is what the client waits for.
TEST(Uploads, ContinueComesFromTheOrigin) {
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send_request("POST", "/x", {length(5), expects});
  auto connection = origin.accept();
  EXPECT_NE(read_until(connection, "\r\n\r\n").find("100-continue"), std::string::npos);
  EXPECT_FALSE(client.has_answer());
  connection.send_all("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.read_exactly(25), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(read_until(connection, "hello"), "hello");
  connection.send_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  auto const response = client.read();
  EXPECT_EQ(response.body, "ok");
  EXPECT_TRUE(response.interim.empty()) << response;
}

// REQ-2: an origin that knows nothing of 100 gets the body after a second.
TEST(Uploads, SilentOriginGetsTheBodyAfterASecond) {
  ScriptedOrigin unused;
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send_request("POST", "/x", {length(5), expects});
  auto connection = origin.accept();
  read_until(connection, "\r\n\r\n");
  ASSERT_TRUE(eventually([&] {
    weir.turn(1s);
    return client.has_answer();
  }));
  EXPECT_EQ(client.read_exactly(25), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(read_until(connection, "hello"), "hello");
  connection.send_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(client.read().body, "ok");
}

// REQ-2: a refusal instead of a 100 goes to the client, who never sends its body.
TEST(Uploads, RefusedExpectationReachesTheClient) {
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send_request("POST", "/x", {length(5), expects});
  auto connection = origin.accept();
  read_until(connection, "\r\n\r\n");
  connection.send_all("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno");
  auto const response = client.read();
  EXPECT_TRUE(response.status == 417 && response.body == "no" && response.interim.empty()) << response;
  EXPECT_TRUE(client.waits_until_closed());
  ASSERT_TRUE(weir.waits_until_no_flights());
  std::string rest;
  EXPECT_NE(connection.receive(rest, 100), Socket::Got::bytes) << rest;  // not kept: it still waits for a body
}

// REQ-2: once the answer has begun, no 100 is written into it.
TEST(Uploads, NoContinueIsWrittenIntoAnAnswer) {
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send_request("POST", "/x", {length(5), expects});
  auto connection = origin.accept();
  read_until(connection, "\r\n\r\n");
  connection.send_all("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
  EXPECT_EQ(client.read_at_least(5).body, "hello");
  weir.turn(2s);
  EXPECT_EQ(get(weir.port(), "/", {{"Cache-Control", "only-if-cached"}}).status, 504);
  EXPECT_EQ(get(weir.port(), "/", {{"Cache-Control", "only-if-cached"}}).status, 504);  // time for both workers
  connection.send_all("world");
  EXPECT_EQ(client.read().body, "helloworld");
}

// REL-2: a connection that still waits for a body is nobody's any more.
TEST(Uploads, ConnectionOwedABodyIsNotUsedAgain) {
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send_request("POST", "/x", {length(5), expects});
  auto connection = origin.accept();
  read_until(connection, "\r\n\r\n");
  client.reset();
  connection.send_all("HTTP/1.1 100 Continue\r\n\r\n");
  std::string rest;
  connection.receive(rest, 100, Milliseconds(500));  // weir may have noticed and closed
  connection.send_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_NE(connection.receive(rest, 100), Socket::Got::bytes);
  EXPECT_EQ(rest, "");
}

// COA-2: a client that resets its connection after its body is noticed at once: an unsafe request is seen through to its
// end, any other ends with it.
TEST(Uploads, ResetAfterTheBodyIsNoticed) {
  for (auto const* const method : {"POST", "QUERY"}) {
    for (bool const begun : {false, true}) {
      ScriptedOrigin origin;
      Gate gate, rest;
      origin.answer("/x", Script().wait(gate).head(200, {length(10)}).body("hello").wait(rest).body("world"));
      Weir weir(origin);
      Client client(weir.port());
      client.send_request(method, "/x", {}, "body");
      ASSERT_TRUE(origin.waits_for_calls(1));
      if (begun) {
        gate.open();
        EXPECT_EQ(client.read_at_least(5).body, "hello");
      }
      client.reset();
      ASSERT_TRUE(eventually([&] { return weir.daemon().sessions() == 0; }));
      bool const unsafe = method == std::string_view("POST");
      if (!unsafe) EXPECT_TRUE(eventually([&] { return origin.departures() == 1; }));
      gate.open();
      rest.open();
      ASSERT_TRUE(weir.waits_until_no_flights());
      EXPECT_EQ(origin.departures(), unsafe ? 0U : 1U) << method << begun;
    }
  }
}

// REQ-2: a client that leaves before its body was wanted: nobody waits for that body any more.
TEST(Uploads, ResetBeforeTheBodyEndsTheRequest) {
  RawOrigin origin;
  Weir weir(origin.url());
  Client client(weir.port());
  client.send_request("POST", "/x", {length(5), expects});
  auto connection = origin.accept();
  read_until(connection, "\r\n\r\n");
  client.reset();
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(eventually([&] { return weir.daemon().sessions() == 0; }));
  std::string rest;
  EXPECT_NE(connection.receive(rest, 100), Socket::Got::bytes) << rest;
}

// REQ-3: a body over the limit.
TEST(Uploads, BodyOverItsLimitIsRefused) {
  RawOrigin origin;
  Weir weir(origin.url(), "limits: {body_bytes: 1KiB}\n");
  EXPECT_EQ(Client(weir.port()).request("POST", "/x", {length(2000)}).status, 413);
  Client client(weir.port());
  client.send_request("POST", "/x", {chunked});
  client.send("800\r\n" + std::string(2048, 'x') + "\r\n");
  EXPECT_EQ(client.read().status, 413);
  auto connection = origin.accept();
  EXPECT_EQ(read_until(connection, "0\r\n\r\n").find("\r\n0\r\n"), std::string::npos);
}

// REQ-2: what is refused before its body was read ends the connection, and says so: its client does not ask there again.
TEST(Uploads, RefusalWithUnreadBodySaysThatTheConnectionEnds) {
  ScriptedOrigin origin;
  Weir weir(origin);
  origin.stop();
  Client client(weir.port());
  auto const response = client.request("POST", "/x", {}, std::string(100'000, 'b'));
  EXPECT_EQ(response.status, 502);
  EXPECT_EQ(response.value("Connection"), "close");
  EXPECT_TRUE(client.waits_until_closed());
}

}  // namespace
}  // namespace weir::test
