// Exchanges of every kind, each as it is repeated with one fault after the other. Their bodies tell their targets.
#pragma once

#include "faults/rig.hpp"

namespace weir::test {

// Where a shape is played: one Weir for all its repetitions, so that damage lasts.
class Stage {
 public:
  explicit Stage(std::string const& settings) : weir(origin, settings) {
    origin.answer_rest([this](Request const& request) { return script(request); });
    mark_workers(weir);
  }
  // What this repetition asks for; nobody has asked for it before.
  std::string target() const { return "/" + std::to_string(number); }
  std::string body() const { return body_of(target()); }
  static std::string body_of(std::string const& target) {
    std::string body = target + ' ';
    while (body.size() < 20'000) body += "0123456789abcdef";
    return body;
  }
  // The leader's answer waits until all are there, or one of them never will be.
  void open_when_waiting(std::size_t count) {
    EXPECT_TRUE(eventually([&] { return weir.daemon().flights().waiting() >= count || faulty(); }));
    gate.open();
  }
  static bool faulty() { return allocations::failed() || calls::failed() > 0; }

  ScriptedOrigin origin;
  Weir weir;
  std::function<Script(Request const&)> script;
  Gate gate;
  std::uint64_t number = 0;
};

struct Shape {
  std::string name;
  std::string settings;
  std::function<Script(Stage&, Request const&)> script;
  std::function<void(Stage&)> prepare;  // without faults
  std::function<void(Stage&)> act;      // with one
  int next_status = 200;                // of the next plain request
};

std::vector<Shape> shapes();

}  // namespace weir::test
