// Plays one row of the table in front of one proxy that runs already and whose origin this program is.
//
//   weir-bench-stampede ORIGIN PROXY ROW    ADDRESS:PORT each: where to be the origin, where the proxy listens. Prints
//                                           calls, median, last (seconds) and a note, separated by tabulators
//   weir-bench-stampede --rows              name, title and Weir's settings of each row, separated by tabulators

#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "rows.hpp"

namespace {

using namespace weir::stampede;
namespace demo = weir::demo;

int list_rows() {
  for (Row const& row : rows())
    std::printf("%s\t%s\t%s\n", std::string(row.name).c_str(), std::string(row.title).c_str(),
                std::string(row.weir_settings).c_str());
  return 0;
}

// Until a request comes through, for at most 10 s.
bool is_ready(demo::Tcp::endpoint proxy) {
  Crowd one;
  one.target = [](std::size_t) { return std::string("/ready"); };
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (ask(proxy, one).front().status == 200) return true;
    std::this_thread::sleep_for(Milliseconds(50));
  }
  return false;
}

int run(std::vector<std::string> const& arguments) {
  if (arguments == std::vector<std::string>{"--rows"}) return list_rows();
  if (arguments.size() != 3) {
    std::fprintf(stderr, "usage: weir-bench-stampede ORIGIN PROXY ROW | --rows\n");
    return 2;
  }
  SlowOrigin origin(demo::parse_endpoint(arguments[0]));
  demo::Tcp::endpoint const proxy = demo::parse_endpoint(arguments[1]);
  for (Row const& row : rows()) {
    if (row.name != arguments[2]) continue;
    if (!is_ready(proxy)) {
      std::fprintf(stderr, "weir-bench-stampede: no way through %s\n", arguments[1].c_str());
      return 1;
    }
    Outcome const outcome = row.play(origin, proxy);
    std::printf("%u\t%.3f\t%.3f\t%s\n", outcome.calls, outcome.median.count(), outcome.last.count(), outcome.note.c_str());
    return 0;
  }
  std::fprintf(stderr, "weir-bench-stampede: no row named %s\n", arguments[2].c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  demo::raise_descriptor_limit();
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "weir-bench-stampede: %s\n", e.what());
    return 1;
  }
}
