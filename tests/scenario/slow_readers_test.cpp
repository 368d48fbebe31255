// Who reads slowly, and how the end of a message that has no length looks when it comes too early.
#include <gtest/gtest.h>

#include "scenario/draining.hpp"
#include "scenario/raw_origin.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

std::string long_body() {
  std::string body;
  for (int i = 0; body.size() < 6'000'000; ++i) body += std::to_string(i) + " ";
  return body;
}
Client thin(Weir const& weir) { return Client(weir.port(), {.receive_buffer = 4096}); }

// REQ-3: `limits.body_timeout` is for those who take nothing; who takes a little all the time goes on.
TEST(SlowReaders, ProgressIsWhatThePeerTakes) {
  ScriptedOrigin origin;
  auto const body = long_body();
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=6000"}}, body));
  Weir weir(origin);
  EXPECT_TRUE(get(weir.port(), "/x").complete);  // from here on nobody waits for the origin
  Client steady = thin(weir), still = thin(weir);
  steady.send_request("GET", "/x");
  steady.read_at_least(1);
  still.send_request("GET", "/x");
  still.read_at_least(1);
  for (std::size_t read = 0; read < 40 * 16'384; read += 16'384) {
    steady.read_at_least(read);
    weir.turn(20s);
  }
  EXPECT_TRUE(still.read().end == End::reset);
  auto const whole = steady.read();
  EXPECT_TRUE(whole.complete && whole.body == body) << whole.body.size();
}

// REQ-2, RFC 9110 10.1.1: a client that stops its upload because it has its answer gets all of that answer.
TEST(SlowReaders, AnUploadThatStopsTakesNothingFromTheAnswer) {
  RawOrigin origin;
  auto const body = long_body();
  Weir weir(origin.url(), "timeouts: {origin: 1h, stream_idle: 1h}\n");
  Client client = thin(weir);
  client.send_request("POST", "/x", {{"Content-Length", "1000000"}});
  client.send("hello");
  auto connection = origin.accept();
  read_until(connection, "hello");
  std::thread answering(
      [&] { connection.send_all("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body); });
  client.read_at_least(100'000);
  weir.turn(20s);
  client.read_at_least(1'000'000);
  weir.turn(15s);  // the upload has said nothing for 35 s
  auto const whole = client.read();
  answering.join();
  EXPECT_TRUE(whole.complete && whole.body == body) << whole.body.size();
  EXPECT_TRUE(client.waits_until_closed());
  std::string left;
  ASSERT_TRUE(eventually([&] { return connection.receive(left, 100) != Socket::Got::bytes; }));  // it is used no more
}

// COA-10, LCY-2: a body that ends with its connection, and whose time is over before it does, does not look whole.
TEST(SlowReaders, AForcedEndIsABreak) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer("/x", Script().head(200, {{"Transfer-Encoding", "chunked"}}).chunk("begun").wait(gate).last_chunk());
  origin.answer("/y", respond_chunked(200, {}, {"whole"}));
  std::optional<Weir> weir(std::in_place, origin, "drain: {timeout: 1s}\n");
  Client cut(weir->port()), whole(weir->port());
  for (auto* const client : {&cut, &whole})
    client->send("GET /" + std::string(client == &cut ? "x" : "y") + " HTTP/1.0\r\nHost: weir.test\r\n\r\n");
  EXPECT_EQ(whole.read().body, "whole");
  EXPECT_EQ(cut.read_at_least(5).body, "begun");
  Drain drain(*weir);
  drain.hurry();
  EXPECT_EQ(drain.ended(), daemon::Ended::unclean);
  weir.reset();
  EXPECT_EQ(cut.read().end, End::reset);
  gate.open();
}

}  // namespace
}  // namespace weir::test
