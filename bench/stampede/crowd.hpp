// Many clients of one proxy: all connect, then all ask at once. Threads: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "demo/plain_http.hpp"
#include "slow_origin.hpp"

namespace weir::stampede {

using Seconds = std::chrono::duration<double>;

struct Answer {
  int status = 0;  // 0: none came
  std::string head;
  std::string body;
  bool complete = false;
  Seconds first_byte{0};  // of the body
  Seconds took{0};        // to its end
};

struct Crowd {
  std::size_t clients = 1;
  // By client; `/x` for all unless said.
  std::function<std::string(std::size_t)> target = [](std::size_t) { return std::string("/x"); };
  // The first one goes `head_start` before the others and hangs up `leader_stays` after they began, if not zero; its answer
  // is then none of the answers.
  Milliseconds head_start{0};
  Milliseconds leader_stays{0};
  Milliseconds patience{40'000};  // whoever has no whole answer by then leaves
};

std::vector<Answer> ask(demo::Tcp::endpoint proxy, Crowd const& crowd);

}  // namespace weir::stampede
