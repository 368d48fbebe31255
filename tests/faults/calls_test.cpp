// System calls that fail, or do less than they were asked for.
#include "faults/shapes.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace weir::test {
namespace {

struct Bad {
  Call call;
  int error;
};

std::vector<Bad> bad_calls() {
  return {
      {Call::receive, ECONNRESET}, {Call::receive, EINTR},         {Call::receive, ENOBUFS}, {Call::send, ECONNRESET},
      {Call::send, ENOBUFS},       {Call::send, ENOMEM},           {Call::send, EINTR},      {Call::connect, ECONNREFUSED},
      {Call::connect, ENOBUFS},    {Call::connect, EADDRNOTAVAIL}, {Call::socket, EMFILE},   {Call::socket, ENFILE},
      {Call::accept, EMFILE},      {Call::accept, ENOBUFS},        {Call::watch, ENOSPC},    {Call::watch, ENOMEM}};
}

class Calls : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(All, Calls, testing::ValuesIn(shapes()), [](auto const& row) { return row.param.name; });

// COA-6, REL-1: each call of each kind fails once, with each of its errors.
TEST_P(Calls, FailOneAtATime) {
  auto const& shape = GetParam();
  Stage stage(shape.settings);
  stage.script = [&](Request const& request) { return shape.script(stage, request); };
  std::uint64_t injected = 0;
  for (auto const& bad : bad_calls()) {
    std::uint64_t const stride = all_cases() ? 1 : 7;
    for (std::uint64_t nth = 1; !HasFailure(); nth += stride) {
      SCOPED_TRACE(std::string(name_of(bad.call)) + ' ' + std::to_string(nth) + ": " + std::strerror(bad.error));
      ++stage.number;
      stage.gate = Gate();
      if (shape.prepare) shape.prepare(stage);
      EXPECT_TRUE(eventually([&] { return held(stage.weir).empty(); })) << held(stage.weir);
      calls::fail(bad.call, bad.error, {nth, 1});
      shape.act(stage);
      bool const reached = calls::failed() > 0;
      calls::end();
      stage.gate.open();
      expect_quiet(stage.weir);
      stage.weir.turn(1s);  // a pause of accepting is over
      auto const next = get(stage.weir.port(), stage.target());
      EXPECT_EQ(next.status, shape.next_status) << next;
      if (shape.next_status == 200) { EXPECT_EQ(next.body.substr(0, 20'000), stage.body().substr(0, 20'000)); }
      if (!reached) break;
      ++injected;
    }
  }
  EXPECT_GT(injected, 0U);
  std::printf("%s: %llu injected and survived\n", shape.name.c_str(), static_cast<unsigned long long>(injected));
}

// REQ-2, COA-9: what is read and written comes and goes in small pieces, and nothing else changes.
TEST_P(Calls, DoLittleEachTime) {
  auto const& shape = GetParam();
  if (shape.next_status != 200) GTEST_SKIP() << "nothing of it is whole";
  Stage stage(shape.settings);
  stage.script = [&](Request const& request) { return shape.script(stage, request); };
  calls::shrink_buffers(1);
  if (shape.prepare) shape.prepare(stage);
  must_be_whole = true;
  shape.act(stage);
  must_be_whole = false;
  calls::end();
  expect_quiet(stage.weir);
}

// REQ-3: without descriptors the listener waits, and does not spin; connected clients notice nothing.
TEST(Accepting, WaitsWhereThereIsNoDescriptor) {
  for (int const error : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    SCOPED_TRACE(std::strerror(error));
    ScriptedOrigin origin;
    origin.answer("/x", respond(200, {max_age(600)}, "x"));
    Weir weir(origin, plain + "workers: 1\n");
    mark_workers(weir);
    Client connected(weir.port());
    ASSERT_EQ(connected.get("/x").body, "x");
    calls::fail(Call::accept, error);
    auto const from = base::Clock::now();
    Client late(weir.port());
    late.send_request("GET", "/x");
    ASSERT_TRUE(eventually([] { return calls::failed() > 0; }));
    for (int i = 0; i < 500; ++i) ASSERT_EQ(connected.get("/x").body, "x");
    auto const accepted = calls::made(Call::accept);
    auto const pauses = static_cast<std::uint64_t>((base::Clock::now() - from) / 100ms);
    EXPECT_LE(accepted, pauses + 2);
    EXPECT_FALSE(late.has_answer());
    calls::end();
    weir.turn(200ms);
    EXPECT_EQ(late.read().body, "x");
    EXPECT_GT(weir.metric("weir_client_accept_errors_total"), 0);
  }
}

// REL-1, COA-6: hits need no descriptor, and a miss is told at once that there is none.
TEST(Dialling, FailsAtOnceWhereThereIsNoDescriptor) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) { return respond(200, {max_age(600)}, request.target); });
  Weir weir(origin, plain + "breaker: {enabled: off}\n");
  mark_workers(weir);
  ASSERT_EQ(get(weir.port(), "/hot").body, "/hot");
  weir.turn(40s);  // no connection is kept
  calls::fail(Call::socket, EMFILE);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(get(weir.port(), "/cold" + std::to_string(i)).status, 502);
    EXPECT_EQ(get(weir.port(), "/hot").body, "/hot");
  }
  calls::end();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(weir.port(), "/cold" + std::to_string(i)).status, 200);
  expect_quiet(weir);
}

}  // namespace
}  // namespace weir::test
