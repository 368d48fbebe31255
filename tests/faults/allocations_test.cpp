// Allocations that fail, one after the other, inside exchanges of every kind (COA-6).
#include "faults/shapes.hpp"

#include <cstdio>

#include "scenario/tls_origin.hpp"

namespace weir::test {
namespace {

constexpr std::uint64_t most = 2'000;

class Allocations : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(All, Allocations, testing::ValuesIn(shapes()), [](auto const& row) { return row.param.name; });

// The number of those that were injected. Between two that are tried lie `stride`.
std::uint64_t sweep(Shape const& shape, std::uint64_t stride) {
  Stage stage(shape.settings);
  stage.script = [&](Request const& request) { return shape.script(stage, request); };
  std::uint64_t injected = 0;
  for (std::uint64_t nth = 1; nth <= most && !testing::Test::HasFailure(); nth += stride) {
    SCOPED_TRACE(shape.name + ", allocation " + std::to_string(nth));
    ++stage.number;
    stage.gate = Gate();
    if (shape.prepare) shape.prepare(stage);
    EXPECT_TRUE(eventually([&] { return held(stage.weir).empty(); })) << held(stage.weir);
    allocations::fail({nth, 1});
    shape.act(stage);
    bool const reached = allocations::end() >= nth;
    stage.gate.open();
    expect_quiet(stage.weir);
    auto const next = get(stage.weir.port(), stage.target());
    EXPECT_EQ(next.status, shape.next_status) << next;
    if (shape.next_status == 200) { EXPECT_EQ(next.body.substr(0, 20'000), stage.body().substr(0, 20'000)); }
    EXPECT_TRUE(eventually([&] { return held(stage.weir).empty(); })) << held(stage.weir);
    if (!reached) break;
    ++injected;
  }
  return injected;
}

// COA-6, COA-10, LIM-1
TEST_P(Allocations, FailOneAtATime) {
  auto const injected = sweep(GetParam(), all_cases() ? 1 : 5);
  EXPECT_GT(injected, 0U);
  RecordProperty("injected", static_cast<int>(injected));
  std::printf("%s: %llu injected and survived\n", GetParam().name.c_str(), static_cast<unsigned long long>(injected));
}

// COA-6, REL-1: those of TLS, each on a new connection to the origin.
TEST(AllocationsOfTls, FailOneAtATime) {
  TlsOrigin origin("127.0.0.1");
  Weir weir(origin.url(), plain + "origins: {default: {tls: {verify: false}, pool: {idle: 0}}}\nworkers: 1\n");
  mark_workers(weir);
  std::uint64_t const stride = all_cases() ? 1 : 50;
  std::uint64_t injected = 0;
  for (std::uint64_t nth = 1; nth <= most && !HasFailure(); nth += stride) {
    SCOPED_TRACE(nth);
    auto const target = "/" + std::to_string(nth);
    allocations::fail({nth, 1});
    ask_at_once(weir, {write_request("GET", target), write_request("GET", target)}, "tls " + target);
    bool const reached = allocations::end() >= nth;
    expect_quiet(weir);
    EXPECT_EQ(get(weir.port(), target).body, "tls " + target);
    EXPECT_TRUE(eventually([&] { return held(weir).empty(); })) << held(weir);
    if (!reached) break;
    ++injected;
  }
  EXPECT_GT(injected, 0U);
  std::printf("tls: %llu injected and survived\n", static_cast<unsigned long long>(injected));
}

// COA-6, LCY-2: a worker without memory for new settings is told of, waited for no longer, and gets them with the next one.
TEST(AllocationsOfReloads, FailOneAtATime) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {{"Cache-Control", "max-age=600"}}, "hello"));
  auto const marked = [](std::uint64_t nth) {
    return plain + "workers: 1\nheaders: {response: {set: {X-Mark: m" + std::to_string(nth) + "}}}\n";
  };
  Weir weir(origin, marked(0));
  mark_workers(weir);
  std::uint64_t told = 0;
  for (std::uint64_t nth = 1; nth <= most && !HasFailure(); ++nth) {
    SCOPED_TRACE(nth);
    allocations::fail({nth, 1});
    auto const mistakes = weir.reload(marked(nth));
    bool const reached = allocations::end() >= nth;
    if (!mistakes.empty()) {
      ++told;
      EXPECT_EQ(mistakes, std::vector<std::string>{": not every worker could take it, for want of memory; reload again"});
      EXPECT_EQ(weir.reload(marked(nth)), std::vector<std::string>());
    }
    EXPECT_EQ(get(weir.port(), "/x").value("X-Mark"), "m" + std::to_string(nth));
    if (!reached) break;
  }
  EXPECT_GT(told, 0U);
}

}  // namespace
}  // namespace weir::test
