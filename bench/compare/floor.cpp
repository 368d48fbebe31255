// The floor that every server is measured against: accept, read, write a constant. No parsing, no look-up. It is the origin
// behind the others too, as it answers anything with the same bytes.
// usage: weir-bench-floor PORT FILE [PROCESSES]     FILE: the whole answer, head and body
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

int listen_on(unsigned short port) {
  int const listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int const one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool const bound = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  return bound && listen(listener, 4096) == 0 ? listener : -1;
}

class Floor {
 public:
  Floor(int listener, std::string answer)
      : listener_(listener), answer_(std::move(answer)), sent_(static_cast<std::size_t>(sysconf(_SC_OPEN_MAX))) {
    watch(listener_, EPOLL_CTL_ADD, EPOLLIN);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> events;
    for (;;) {
      int const ready = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < ready; ++i) {
        auto const& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == listener_)
          accept_all();
        else if ((event.events & EPOLLOUT) != 0)
          go_on(event.data.fd);
        else
          answer(event.data.fd);
      }
    }
  }

 private:
  void watch(int fd, int what, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    epoll_ctl(poll_, what, fd, &event);
  }

  void accept_all() {
    int const one = 1;
    for (int client; (client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
      setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      sent_[static_cast<std::size_t>(client)] = 0;
      watch(client, EPOLL_CTL_ADD, EPOLLIN);
    }
  }

  void answer(int fd) {
    if (read(fd, buffer_.data(), buffer_.size()) <= 0) {
      close(fd);
      return;
    }
    if (write(fd)) return;
    watch(fd, EPOLL_CTL_MOD, EPOLLOUT);
  }

  // A large answer that the socket did not take whole.
  void go_on(int fd) {
    if (write(fd)) watch(fd, EPOLL_CTL_MOD, EPOLLIN);
  }

  // Whether nothing is left to write.
  bool write(int fd) {
    auto& sent = sent_[static_cast<std::size_t>(fd)];
    auto const size = ::write(fd, answer_.data() + sent, answer_.size() - sent);
    if (size < 0 && errno != EAGAIN) {
      close(fd);
      return true;
    }
    sent += size < 0 ? 0 : static_cast<std::size_t>(size);
    if (sent != answer_.size()) return false;
    sent = 0;
    return true;
  }

  int poll_ = epoll_create1(0);
  int listener_;
  std::string answer_;
  std::vector<std::size_t> sent_;  // by descriptor
  std::array<char, 16384> buffer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  signal(SIGPIPE, SIG_IGN);
  std::ifstream file(argv[2], std::ios::binary);
  std::string answer{std::istreambuf_iterator<char>(file), {}};
  for (int i = 1, processes = argc > 3 ? std::atoi(argv[3]) : 1; i < processes; ++i)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      break;
    }
  int const listener = listen_on(static_cast<unsigned short>(std::atoi(argv[1])));
  if (listener < 0 || answer.empty()) return std::perror("weir-bench-floor"), 1;
  Floor(listener, std::move(answer)).run();
}
