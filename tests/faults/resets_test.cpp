// Connections that end at each byte of an exchange: on the origin's side, the client's, and the store's.
#include "faults/rig.hpp"

#include <cstdio>

#include "scenario/nodes.hpp"

namespace weir::test {
namespace {

std::string const text = "a body of some forty bytes, more or less";

struct Framed {
  char const* name;
  Script (*whole)(std::string const& target);
  bool end_is_good;  // the origin's clean end is the end of the body
};

Script by_length(std::string const&) { return respond(200, {max_age(600)}, text); }
Script by_chunks(std::string const&) { return respond_chunked(200, {max_age(600)}, {text.substr(0, 10), text.substr(10)}); }
Script by_close(std::string const&) { return respond_until_close(200, {max_age(600)}, text); }

std::size_t size_of(Script const& script) {
  std::size_t size = 0;
  for (auto const& step : script.steps())
    if (auto const* const send = std::get_if<Script::Send>(&step)) size += send->bytes.size();
  return size;
}

// What an origin cut short is never whole to anybody, never stored, and nobody's problem next time. Returns the cuts.
std::size_t cut_answers(Weir& weir, ScriptedOrigin& origin, Framed const& framed, bool reset) {
  auto const size = size_of(framed.whole(""));
  for (std::size_t cut = 0; cut < size && !testing::Test::HasFailure(); ++cut) {
    SCOPED_TRACE(std::string(framed.name) + (reset ? ", reset after " : ", closed after ") + std::to_string(cut));
    auto const target = std::string("/") + framed.name + (reset ? "/r" : "/c") + std::to_string(cut);
    auto broken = framed.whole(target);
    reset ? broken.reset_after(cut) : broken.close_after(cut);
    origin.answer(target, {broken, framed.whole(target)});
    bool const in_body = cut >= size - text.size();
    bool const ends_well = framed.end_is_good && !reset && in_body;
    auto const first = get(weir.port(), target);
    if (!ends_well && first.complete && first.status == 200) {
      EXPECT_EQ(first.body, text);  // REL-2: the first byte did not come, on a connection that was kept
      EXPECT_TRUE(cut == 0) << first;
    } else if (!ends_well) {
      EXPECT_TRUE(!first.complete || first.status == 502) << first;
    }
    if (ends_well) continue;  // RFC 9112 8: it is whole, as far as anybody can know
    auto const next = get(weir.port(), target);
    EXPECT_EQ(next.status, 200) << next;
    EXPECT_EQ(next.body, text);
    EXPECT_EQ(cache_status(next).hit(), cut == 0 && first.complete && first.status == 200) << next;
    get(weir.port(), target);
    EXPECT_EQ(origin.calls(target), 2U);
  }
  expect_quiet(weir);
  return size;
}

// COA-10, STO-1, COA-6
TEST(Resets, AtEachByteOfAnAnswer) {
  ScriptedOrigin origin;
  Weir weir(origin, plain + "breaker: {enabled: off}\n");
  std::size_t cuts = 0;
  for (Framed const framed : {Framed{"length", &by_length, false}, {"chunks", &by_chunks, false}})
    for (bool const reset : {false, true}) cuts += cut_answers(weir, origin, framed, reset);
  cuts += cut_answers(weir, origin, {"close", &by_close, true}, true);
  std::printf("%zu cuts\n", cuts);
}

// REL-4, COA-10: with a strong tag the rest is asked for, once.
TEST(Resets, AtEachByteOfABodyThatCanBeResumed) {
  ScriptedOrigin origin;
  Weir weir(origin, plain + "breaker: {enabled: off}\n");
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    SCOPED_TRACE(cut);
    auto const target = "/" + std::to_string(cut);
    Fields const fields{max_age(600), {"ETag", "\"strong\""}};
    origin.answer(target, [cut, fields](Request const& request) {
      auto rest = fields;
      rest.push_back({"Content-Range", "bytes " + std::to_string(cut) + "-" + std::to_string(text.size() - 1) + "/" +
                                           std::to_string(text.size())});
      if (request.has("Range")) return respond(206, rest, text.substr(cut));
      auto whole = respond(200, fields, text);
      return whole.reset_after(size_of(whole) - text.size() + cut);
    });
    auto const response = get(weir.port(), target);
    EXPECT_TRUE(response.complete);
    EXPECT_EQ(response.body, text);
    EXPECT_EQ(get(weir.port(), target).body, text);
    EXPECT_EQ(origin.calls(target), 2U);
  }
  expect_quiet(weir);
}

// REQ-3, COA-2: a client that goes at any byte of what it says takes nothing with it.
TEST(Resets, AtEachByteOfARequest) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {max_age(600)}, request.target + request.body); });
  Weir weir(origin, plain);
  std::size_t cuts = 0;
  for (auto const& request : {write_request("GET", "/x"), write_request("POST", "/x", {}, "some bytes of a body"),
                              std::string("PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                          "4\r\nbyte\r\n0\r\n\r\n")}) {
    for (std::size_t cut = 0; cut <= request.size(); ++cut, ++cuts) {
      for (bool const reset : {false, true}) {
        SCOPED_TRACE(request.substr(0, cut));
        Client client(weir.port());
        client.send(request.substr(0, cut));
        reset ? client.reset() : client.close();
      }
      EXPECT_TRUE(eventually([&] { return held(weir).empty(); })) << held(weir);
    }
  }
  EXPECT_EQ(get(weir.port(), "/x").body, "/x");
  for (auto const& request : origin.requests()) {
    EXPECT_TRUE(request.complete);
    EXPECT_TRUE(request.method != "POST" || request.body == "some bytes of a body") << request;
    EXPECT_TRUE(request.method != "PUT" || request.body == "byte") << request;
  }
  expect_quiet(weir);
  std::printf("%zu cuts\n", 2 * cuts);
}

// COA-2, COA-9: the same for what it hears, with another that hears it all.
TEST(Resets, AtEachByteThatAClientReads) {
  ScriptedOrigin origin;
  std::string const body(300'000, 'b');
  origin.answer_rest([&](Request const&) { return respond(200, {max_age(600)}, body); });
  Weir weir(origin, plain);
  for (std::size_t cut = 0; cut < 400; cut += all_cases() ? 1 : 3) {
    SCOPED_TRACE(cut);
    auto const target = "/" + std::to_string(cut);
    Client leaves(weir.port(), {.receive_buffer = 4096}), stays(weir.port());
    leaves.send_request("GET", target);
    stays.send_request("GET", target);
    if (cut > 0) leaves.read_exactly(cut);
    leaves.reset();
    auto const response = stays.read();
    ASSERT_EQ(response.body.size(), body.size());
    EXPECT_EQ(origin.calls(target), 1U);
    stays.close();
    EXPECT_TRUE(eventually([&] { return held(weir).empty(); })) << held(weir);
  }
  expect_quiet(weir);
}

// VAL-3: a store's server that goes at any byte of what it says fails no request, and nothing wrong is believed.
TEST(Resets, AtEachByteOfTheStoresReplies) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {max_age(100'000)}, request.target + text); });
  ValkeyServer server;
  Relay relay(server.address());
  Weir weir(origin, shared_store(relay.address(), "near: {ttl: 1s, offline_ttl: 5s}", "workers: 1\n"));
  ASSERT_EQ(get(weir.port(), "/warm").status, 200);
  for (std::size_t cut = 0; cut < 700 && !HasFailure(); cut += all_cases() ? 1 : 7) {
    SCOPED_TRACE(cut);
    cut % 2 == 0 ? relay.reset_after(cut) : relay.close_after(cut);
    relay.break_connections();
    weir.turn(40s);  // the guard lets somebody through, and nothing near counts as asked for
    auto const cold = "/" + std::to_string(cut);
    EXPECT_EQ(get(weir.port(), cold).body, cold + text);
    EXPECT_EQ(get(weir.port(), "/warm").body, "/warm" + text);
    EXPECT_EQ(get(weir.port(), cold).body, cold + text);
    EXPECT_TRUE(eventually([&] { return held(weir).empty(); })) << held(weir);
  }
  relay.pass();
  weir.turn(40s);
  EXPECT_EQ(get(weir.port(), "/warm").body, "/warm" + text);
  expect_quiet(weir);
}

}  // namespace
}  // namespace weir::test
