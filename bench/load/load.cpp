// A load generator that costs little: one thread, requests made before, answers looked at no further than their status and
// length. Says what it used itself, so that a run in which it was the bottleneck can be told.
//
// usage: weir-bench-load PORT [--connections 64] [--seconds S | --requests N | --hold] [--path /x] [--keys N] [--first N]
//                        [--each] [--head-bytes 150] [--field 'Name: value'] [--status 200] [--warm N]
//   --keys    asks for PATH/<eight digits>, N of them from --first on, uniform; with --each in order, each once
//   --warm    so many requests first that do not count; then prints "warm"; and "done" at the end; goes on with each line of
//   input
//   --hold    every connection asks once; then prints "ready" and holds them until a line of input
// Prints one line: requests, errors, seconds, p50_us, p99_us, cpu (its own, of 1).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  unsigned short port = 0;
  std::size_t connections = 64;
  double seconds = 0;  // 0: until all is asked
  std::uint64_t warm = 0;
  std::uint64_t requests = 0;  // 0: as many as the time allows
  std::string path = "/x", fields;
  std::uint64_t keys = 1, first = 0;
  std::size_t head_bytes = 150;
  int status = 200;
  bool each = false, hold = false;
};

Options parse(int argc, char** argv) {
  Options options;
  options.port = static_cast<unsigned short>(std::atoi(argv[1]));
  for (int i = 2; i < argc; ++i) {
    std::string_view const name = argv[i];
    if (name == "--each")
      options.each = true;
    else if (name == "--hold")
      options.hold = true;
    else if (i + 1 == argc)
      std::exit(2);
    else if (name == "--connections")
      options.connections = std::strtoul(argv[++i], nullptr, 10);
    else if (name == "--seconds")
      options.seconds = std::atof(argv[++i]);
    else if (name == "--requests")
      options.requests = std::strtoull(argv[++i], nullptr, 10);
    else if (name == "--warm")
      options.warm = std::strtoull(argv[++i], nullptr, 10);
    else if (name == "--path")
      options.path = argv[++i];
    else if (name == "--keys")
      options.keys = std::strtoull(argv[++i], nullptr, 10);
    else if (name == "--first")
      options.first = std::strtoull(argv[++i], nullptr, 10);
    else if (name == "--head-bytes")
      options.head_bytes = std::strtoul(argv[++i], nullptr, 10);
    else if (name == "--field")
      options.fields.append(argv[++i]).append("\r\n");
    else if (name == "--status")
      options.status = std::atoi(argv[++i]);
    else
      std::exit(2);
  }
  if (options.each && options.seconds == 0 && options.requests == 0) options.requests = options.keys;
  return options;
}

// Microseconds in steps of at most one part in 32.
class Latencies {
 public:
  void add(std::uint64_t us) {
    if (us >= (1U << 26U)) us = (1U << 26U) - 1;
    int shift = 0;
    for (auto rest = us; rest >= 64; rest >>= 1U) ++shift;
    ++counts_[static_cast<std::size_t>(shift) * 64 + (us >> static_cast<unsigned>(shift))];
    ++total_;
  }
  double quantile(double share) const {
    auto left = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] > left) return static_cast<double>((i % 64) << (i / 64));
      left -= counts_[i];
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, 64 * 24> counts_{};
  std::uint64_t total_ = 0;
};

struct Answer {
  int status = 0;
  std::size_t head = 0;  // 0: not whole yet
  std::uint64_t body = 0;
  bool has_length = false, closes = false;
};

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && strncasecmp(text.data(), lower.data(), lower.size()) == 0;
}

Answer read_answer(std::string_view bytes) {
  Answer answer;
  auto const end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos || end < 12) return answer;
  answer.head = end + 4;
  std::from_chars(bytes.data() + 9, bytes.data() + 12, answer.status);
  for (auto at = bytes.find("\r\n"); at < end; at = bytes.find("\r\n", at + 2)) {
    auto const line = bytes.substr(at + 2, end - at - 2);
    if (starts_with_ignoring_case(line, "content-length: ")) {
      answer.has_length = true;
      std::from_chars(line.data() + 16, line.data() + line.size(), answer.body);
    }
    answer.closes |= starts_with_ignoring_case(line, "connection: close");
  }
  if (answer.status == 304) answer.body = 0, answer.has_length = true;
  return answer;
}

class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)), connections_(options_.connections) {
    auto const digits = options_.keys > 1 || options_.each ? "/00000000" : "";
    request_ = "GET " + options_.path + digits + " HTTP/1.1\r\nHost: bench.example\r\n" + options_.fields +
               "Accept: */*\r\nAccept-Encoding: gzip\r\nUser-Agent: bench";
    digits_ = request_.find(" HTTP/1.1") - 8;
    if (request_.size() + 4 < options_.head_bytes) request_.append(options_.head_bytes - request_.size() - 4, 'x');
    request_ += "\r\n\r\n";
  }

  void run() {
    began_ = Clock::now();
    if (options_.hold) return hold();
    for (std::size_t i = 0; i < connections_.size(); ++i) open(i);
    if (options_.warm != 0) warm_up();
    load();
    if (options_.warm != 0) pause("done");
    report();
  }

 private:
  struct Connection {
    int fd = -1;
    bool waits = false;  // for an answer
    std::uint64_t body_left = 0;
    Clock::time_point sent;
    std::string head;  // of which more must come
  };

  void open(std::size_t index) {
    auto& connection = connections_[index];
    connection = {};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection.fd = socket(AF_INET, SOCK_STREAM, 0);
    int const one = 1;
    setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connection.fd < 0 || connect(connection.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      std::perror("weir-bench-load: connect");
      std::exit(1);
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = index;
    epoll_ctl(poll_, EPOLL_CTL_ADD, connection.fd, &event);
  }

  void load() {
    for (std::size_t i = 0; i < connections_.size(); ++i) send(i);
    auto const end = began_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.seconds));
    std::array<epoll_event, 256> events;
    while (options_.requests != 0 ? answers_ + errors_ < options_.requests : now_ < end) {
      int const ready = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 100);
      now_ = Clock::now();
      for (int i = 0; i < ready; ++i) receive(events[static_cast<std::size_t>(i)].data.u64);
    }
  }

  // Says so and waits for a line of input, or its end.
  void pause(char const* word) {
    std::printf("%s\n", word);
    std::fflush(stdout);
    if (read(0, buffer_.data(), buffer_.size()) < 0) std::perror("weir-bench-load: input");
  }

  void warm_up() {
    std::swap(options_.warm, options_.requests);
    load();
    std::swap(options_.warm, options_.requests);
    asked_ = answers_ = 0;
    latencies_ = {};
    pause("warm");
    began_ = Clock::now();
  }

  void hold() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      open(i);
      send(i);
      while (connections_[i].waits) receive(i);
    }
    pause("ready");
    report();
  }

  void send(std::size_t index) {
    if (options_.requests != 0 && asked_ == options_.requests) return;
    auto& connection = connections_[index];
    if (options_.keys > 1 || options_.each) {
      auto key = options_.first + (options_.each ? asked_ : random() % options_.keys);
      for (std::size_t i = 8; i-- > 0; key /= 10) request_[digits_ + i] = static_cast<char>('0' + key % 10);
    }
    ++asked_;
    connection.sent = now_ = Clock::now();
    connection.waits = true;
    if (write(connection.fd, request_.data(), request_.size()) != static_cast<ssize_t>(request_.size())) fail(index);
  }

  void receive(std::size_t index) {
    auto& connection = connections_[index];
    auto const size = read(connection.fd, buffer_.data(), buffer_.size());
    if (size <= 0) return fail(index);
    std::string_view bytes(buffer_.data(), static_cast<std::size_t>(size));
    if (connection.body_left == 0) {
      if (!connection.head.empty()) bytes = connection.head.append(bytes);
      auto const answer = read_answer(bytes);
      if (answer.head == 0) {
        if (connection.head.empty()) connection.head = bytes;
        return;
      }
      if (answer.status != options_.status) return wrong(index, bytes.substr(0, answer.head));
      if (!answer.has_length) return wrong(index, bytes.substr(0, answer.head));
      if (answer.closes) return fail(index);
      connection.body_left = answer.body + answer.head;
    }
    connection.body_left -= bytes.size();
    connection.head.clear();
    if (connection.body_left != 0) return;
    ++answers_;
    connection.waits = false;
    latencies_.add(
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now_ - connection.sent).count()));
    if (!options_.hold) send(index);
  }

  void wrong(std::size_t index, std::string_view head) {
    if (errors_ == 0) std::fprintf(stderr, "weir-bench-load: unexpected:\n%.*s", static_cast<int>(head.size()), head.data());
    fail(index);
  }

  void fail(std::size_t index) {
    ++errors_;
    close(connections_[index].fd);
    if (errors_ > 1000 || options_.hold) {
      std::fprintf(stderr, "weir-bench-load: too many errors\n");
      std::exit(1);
    }
    open(index);
    send(index);
  }

  void report() const {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    auto const seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    auto const cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                     static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    std::printf("requests %llu errors %llu seconds %.3f p50_us %.0f p99_us %.0f cpu %.2f\n",
                static_cast<unsigned long long>(answers_), static_cast<unsigned long long>(errors_), seconds,
                latencies_.quantile(0.5), latencies_.quantile(0.99), cpu / seconds);
  }

  std::uint64_t random() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    return state_ ^= state_ << 17U;
  }

  Options options_;
  std::vector<Connection> connections_;
  int poll_ = epoll_create1(0);
  std::string request_;
  std::size_t digits_ = 0;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 18U);
  Latencies latencies_;
  Clock::time_point began_, now_;
  std::uint64_t asked_ = 0, answers_ = 0, errors_ = 0, state_ = 88172645463325252ULL;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  Load(parse(argc, argv)).run();
}
