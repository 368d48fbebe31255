// How long a server takes from exec to its first answer: starts it, tries to connect again and again without a pause, asks
// once, reads the status, stops it. Prints milliseconds, a line a round, the median last.
// usage: weir-bench-start ROUNDS PORT COMMAND...
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto longest = std::chrono::seconds(10);

int connect_to(unsigned short port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int const fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

// Whether it was a 200.
bool ask(int fd) {
  static constexpr std::string_view request = "GET /first HTTP/1.1\r\nHost: bench.example\r\n\r\n";
  char answer[4096];
  if (write(fd, request.data(), request.size()) != static_cast<ssize_t>(request.size())) return false;
  auto const size = read(fd, answer, sizeof answer);
  return size > 12 && std::string_view(answer, 12) == "HTTP/1.1 200";
}

// Milliseconds; negative: no answer.
double round(unsigned short port, char** command) {
  auto const from = Clock::now();
  pid_t const child = fork();
  if (child == 0) {
    execvp(command[0], command);
    _exit(127);
  }
  double took = -1;
  int fd = -1;
  while (fd < 0 && Clock::now() - from < longest) fd = connect_to(port);
  if (fd >= 0 && ask(fd)) took = std::chrono::duration<double, std::milli>(Clock::now() - from).count();
  close(fd);
  kill(child, SIGTERM);
  waitpid(child, nullptr, 0);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<double> all;
  for (int i = 0, rounds = std::atoi(argv[1]); i < rounds; ++i) {
    all.push_back(round(static_cast<unsigned short>(std::atoi(argv[2])), argv + 3));
    if (all.back() < 0) return std::fprintf(stderr, "weir-bench-start: no answer\n"), 1;
  }
  std::sort(all.begin(), all.end());
  std::printf("%.2f ms (%.2f to %.2f), %zu starts\n", all[all.size() / 2], all.front(), all.back(), all.size());
}
