// The scripted origin and the raw client against each other, over real sockets.
#include "support/origin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "support/client.hpp"

namespace weir::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ScriptedOrigin, AnswersAsScriptedAndRecordsWhatCame) {
  ScriptedOrigin origin;
  origin.answer("/a", respond(200, {{"Cache-Control", "max-age=60"}}, "hello"));
  Client client(origin.port());
  Response const response = client.get("/a", {{"X-One", "1"}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.fields, (Fields{{"Cache-Control", "max-age=60"}, {"Content-Length", "5"}}));
  EXPECT_EQ(response.body, "hello");
  EXPECT_TRUE(response.complete);
  EXPECT_EQ(origin.last_request().fields, (Fields{{"Host", "weir.test"}, {"X-One", "1"}}));
  EXPECT_EQ(origin.last_request().head, "GET /a HTTP/1.1\r\nHost: weir.test\r\nX-One: 1\r\n\r\n");
  EXPECT_EQ(client.get("/unknown").status, 404);
  EXPECT_EQ(origin.calls(), 2u);
  EXPECT_EQ(origin.calls("/a"), 1u);
  EXPECT_EQ(origin.connections(), 1u);
  EXPECT_THAT(origin.problems(), IsEmpty());
}

TEST(ScriptedOrigin, AnswersByTurnAndByRequest) {
  ScriptedOrigin origin;
  origin.answer("/turn", {respond(503), respond(200)});
  origin.answer("/echo", [](Request const& request) { return respond(200, {}, request.method + request.body); });
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.target); });
  Client client(origin.port());
  EXPECT_EQ(client.get("/turn").status, 503);
  EXPECT_EQ(client.get("/turn").status, 200);
  EXPECT_EQ(client.get("/turn").status, 200);
  EXPECT_EQ(client.request("POST", "/echo", {}, "data").body, "POSTdata");
  EXPECT_EQ(client.get("/else").body, "/else");
  Response const head = client.request("HEAD", "/else");
  EXPECT_EQ(head.value("Content-Length"), "5");
  EXPECT_TRUE(head.complete);
  EXPECT_EQ(client.get("/after").body, "/after");
}

TEST(ScriptedOrigin, HoldsBytesBackUntilAGateOpens) {
  ScriptedOrigin origin;
  Gate head, tail;
  origin.answer("/", Script().wait(head).head(200, {{"Content-Length", "10"}}).body("hello").wait(tail).body("world"));
  Client client(origin.port());
  client.send_request("GET", "/");
  EXPECT_TRUE(origin.waits_for_calls(1));
  EXPECT_TRUE(eventually([&] { return head.waiting() == 1; }));
  EXPECT_FALSE(client.has_answer());
  EXPECT_EQ(origin.at_once(), 1u);
  head.open();
  Response const half = client.read_at_least(5);
  EXPECT_EQ(half.body, "hello");
  EXPECT_FALSE(half.complete);
  EXPECT_FALSE(client.has_answer());
  tail.open();
  Response const whole = client.read();
  EXPECT_EQ(whole.body, "helloworld");
  EXPECT_TRUE(whole.complete);
  EXPECT_TRUE(eventually([&] { return origin.at_once() == 0; }));
}

TEST(ScriptedOrigin, SendsInterimHeadsChunksAndTrailers) {
  ScriptedOrigin origin;
  Script script = Script().head(103, {{"Link", "</a>"}});
  Script const rest = respond_chunked(200, {}, {"hel", "lo"}, {{"T", "1"}});
  for (auto const& step : rest.steps()) script.send(std::get<Script::Send>(step).bytes);
  origin.answer("/", script);
  Response const response = get(origin.port(), "/");
  ASSERT_EQ(response.interim.size(), 1u);
  EXPECT_EQ(response.interim[0].status, 103);
  EXPECT_EQ(response.body, "hello");
  EXPECT_EQ(response.trailers, (Fields{{"T", "1"}}));
}

TEST(ScriptedOrigin, CutsAtAByte) {
  ScriptedOrigin origin;
  Script const whole = respond(200, {}, "hello");
  std::size_t const head_size = std::get<Script::Send>(whole.steps().front()).bytes.size();
  origin.answer("/fin", Script(whole).close_after(head_size + 2));
  origin.answer("/rst", Script(whole).reset_after(head_size + 3));
  origin.answer("/head", Script(whole).close_after(10));
  origin.answer("/never", reset());
  origin.answer("/bye", close());
  origin.answer("/until", respond_until_close(200, {}, "hello"));

  Response const fin = get(origin.port(), "/fin");
  EXPECT_EQ(fin.body, "he");
  EXPECT_EQ(fin.end, End::finished);
  EXPECT_FALSE(fin.complete);
  Response const rst = get(origin.port(), "/rst");
  EXPECT_EQ(rst.body, "hel");
  EXPECT_EQ(rst.end, End::reset);
  Response const head = get(origin.port(), "/head");
  EXPECT_EQ(head.status, 0);
  EXPECT_EQ(head.end, End::finished);
  EXPECT_EQ(get(origin.port(), "/never").end, End::reset);
  EXPECT_EQ(get(origin.port(), "/bye").end, End::finished);
  EXPECT_TRUE(get(origin.port(), "/until").complete);
}

TEST(ScriptedOrigin, NoticesDepartures) {
  ScriptedOrigin origin;
  origin.answer("/hang", hang());
  origin.answer("/gate", Script().wait(Gate()));
  Client one(origin.port()), two(origin.port());
  one.send_request("GET", "/hang");
  two.send_request("GET", "/gate");
  EXPECT_TRUE(origin.waits_for_calls(2));
  EXPECT_EQ(origin.most_at_once(), 2u);
  EXPECT_EQ(origin.departures(), 0u);
  one.close();
  two.reset();
  EXPECT_TRUE(eventually([&] { return origin.departures() == 2; }));
  EXPECT_EQ(origin.at_once(), 0u);
}

TEST(ScriptedOrigin, DiesAndComesBackOnItsPort) {
  ScriptedOrigin origin;
  origin.answer("/", respond(200));
  origin.answer("/hang", hang());
  Client idle(origin.port()), waiting(origin.port());
  EXPECT_EQ(idle.get("/").status, 200);
  waiting.send_request("GET", "/hang");
  EXPECT_TRUE(origin.waits_for_calls(2));
  std::uint16_t const port = origin.port();
  origin.stop();
  EXPECT_TRUE(idle.waits_until_closed());
  EXPECT_FALSE(waiting.read().complete);
  EXPECT_FALSE(connect_to(port));
  origin.start();
  EXPECT_EQ(origin.port(), port);
  EXPECT_EQ(get(port, "/").status, 200);
}

TEST(ScriptedOrigin, ReadsUploads) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, std::to_string(request.body.size())); });
  Client client(origin.port());
  client.send_request("POST", "/", {{"Expect", "100-continue"}, {"Content-Length", "3"}});
  client.send("abc");
  Response const response = client.read();
  ASSERT_EQ(response.interim.size(), 1u);
  EXPECT_EQ(response.interim[0].status, 100);
  EXPECT_EQ(response.body, "3");
  EXPECT_EQ(client.request("POST", "/", {{"Transfer-Encoding", "chunked"}}, "2\r\nab\r\n0\r\n\r\n").body, "2");
}

TEST(ScriptedOrigin, MayAnswerBeforeTheBody) {
  ScriptedOrigin origin;
  origin.answer_before_body(true);
  origin.answer("/", respond(413));
  Client client(origin.port());
  Response const response = client.request("POST", "/", {}, std::string(1'000'000, 'x'));
  EXPECT_EQ(response.status, 413);
  EXPECT_TRUE(client.waits_until_closed());
}

TEST(ScriptedOrigin, CallsMalformedRequestsByName) {
  ScriptedOrigin origin;
  Client client(origin.port());
  client.send("GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(client.read().status, 0);
  EXPECT_THAT(origin.problems(), ElementsAre("both Transfer-Encoding and Content-Length"));
  EXPECT_EQ(origin.calls(), 0u);
  EXPECT_NONFATAL_FAILURE(origin.last_request(), "saw no request");
}

TEST(Client, ReadsPipelinedAnswersInOrder) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {}, request.target); });
  Client client(origin.port());
  client.send(write_request("GET", "/1") + write_request("GET", "/2"));
  EXPECT_EQ(client.read().body, "/1");
  EXPECT_EQ(client.read().body, "/2");
  EXPECT_EQ(client.unread(), "");
}

TEST(Client, SeesBytesThatDoNotBelongToAResponse) {
  ScriptedOrigin origin;
  origin.answer("/", respond(200, {{"Content-Length", "2"}}, "okstray"));
  Client client(origin.port());
  EXPECT_EQ(client.get("/").body, "ok");
  EXPECT_TRUE(client.has_answer());
  EXPECT_EQ(client.unread() + client.read_some(5 - std::min<std::size_t>(5, client.unread().size())), "stray");
}

TEST(Client, SeesTheEndOfItsConnection) {
  ScriptedOrigin origin;
  origin.answer("/", respond(200, {}, "x"));
  Client client(origin.port());
  EXPECT_EQ(client.get("/").status, 200);
  EXPECT_FALSE(client.is_closed());
  client.send_request("GET", "/", {{"Connection", "close"}});
  EXPECT_THAT(client.read_to_end(), testing::EndsWith("\r\n\r\nx"));
  EXPECT_TRUE(client.is_closed());
}

TEST(Client, HalfClosesAndIsStillAnswered) {
  ScriptedOrigin origin;
  origin.answer("/", respond(200, {}, "x"));
  Client client(origin.port());
  client.send_request("GET", "/");
  client.finish_sending();
  EXPECT_EQ(client.read().body, "x");
  EXPECT_TRUE(client.waits_until_closed());
}

TEST(Client, FailsTheTestOnSilence) {
  ScriptedOrigin origin;
  origin.answer("/", hang());
  Client client(origin.port());
  client.send_request("GET", "/");
  Response response;
  EXPECT_NONFATAL_FAILURE(response = client.read(Milliseconds(1)), "in vain");
  EXPECT_EQ(response.end, End::silence);
  EXPECT_NONFATAL_FAILURE(client.read_some(1, Milliseconds(1)), "in vain");
}

TEST(Client, FailsTheTestWhenNobodyListens) {
  std::uint16_t const port = local_port(listen_on());  // free again at the end of the statement
  EXPECT_NONFATAL_FAILURE(Client{port}, "cannot connect");
}

TEST(Client, ReadsSlowlyThroughASmallWindow) {
  ScriptedOrigin origin;
  origin.answer("/", respond(200, {}, std::string(16'000'000, 'x')));
  Client client(origin.port(), {.receive_buffer = 4096});
  client.send_request("GET", "/");
  EXPECT_TRUE(origin.waits_for_calls(1));
  EXPECT_EQ(client.read_exactly(9), "HTTP/1.1 ");
  EXPECT_EQ(origin.at_once(), 1u);  // the window is far smaller than the body, so the origin still sends
  EXPECT_GT(client.read_exactly(16'000'000).size(), 15'999'000u);
}

TEST(Client, ConnectsFromAnotherAddressAndOverIpv6) {
  ScriptedOrigin origin;
  origin.answer("/", respond(200));
  Client other(origin.port(), {.source = "127.0.0.2"});
  EXPECT_EQ(other.get("/").status, 200);
  ScriptedOrigin v6("::1");
  v6.answer("/", respond(200));
  Client client(v6.port(), {.address = "::1"});
  EXPECT_EQ(client.get("/").status, 200);
  EXPECT_EQ(v6.url(), "http://[::1]:" + std::to_string(v6.port()));
}

}  // namespace
}  // namespace weir::test
