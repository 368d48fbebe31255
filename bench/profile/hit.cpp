// Hits without sockets, for valgrind: `bench/profile/run` starts it. Two workers' desks; the marks tell a trace of memory
// where the hits of the first end and those of the second begin. usage: weir-bench-hit hit|variant|not-modified|range COUNT
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "quiet_weir.hpp"

namespace {

using namespace weir::bench;

constexpr std::size_t body_size = 1024;

[[gnu::noinline]] bool answer_some(QuietWeir::Desk& desk, std::string const& request, int count) {
  for (int i = 0; i < count; ++i)
    if (!desk.answer(request)) return false;
  return true;
}

[[gnu::noinline]] bool warm_up(QuietWeir::Desk& desk, std::string const& request) {
  for (int i = 0; i < 100; ++i)
    if (!desk.answer(request)) return false;
  return true;
}

}  // namespace

// Nothing else stores into it.
extern "C" {
alignas(64) int volatile weir_bench_mark[16];
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::map<std::string, std::string> const requests{
      {"hit", request_for("/x/00000000")},
      {"variant", request_for("/varies")},
      {"not-modified", request_for("/x/00000000", "If-None-Match: \"5f1d7a84\"\r\n")},
      {"range", request_for("/large", "Range: bytes=1024-2047\r\n")},
  };
  if (!requests.contains(argv[1])) return 2;
  auto const& request = requests.at(argv[1]);
  int const count = std::atoi(argv[2]);

  QuietWeir weir(2);
  weir.store_many(1, body_size);
  weir.store("/varies", body_size, "accept-language");
  weir.store("/large", 10 * body_size);
  QuietWeir::Desk first(weir, 0), second(weir, 1);
  if (!warm_up(first, request) || !warm_up(second, request)) return std::fprintf(stderr, "no hit\n"), 1;
  weir_bench_mark[0] = 1;
  bool const answered = answer_some(first, request, count);
  weir_bench_mark[0] = 2;
  bool const answered_too = answer_some(second, request, count);
  weir_bench_mark[0] = 3;
  return answered && answered_too ? 0 : 1;
}
