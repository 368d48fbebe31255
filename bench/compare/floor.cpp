// The floor that every server is measured against: accept, read, write a constant. No parsing, no look-up.
// usage: weir-bench-floor PORT BODY_BYTES
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

int listen_on(unsigned short port) {
  int const listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int const one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool const bound = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  return bound && listen(listener, 1024) == 0 ? listener : -1;
}

void watch(int poll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

void accept_all(int poll, int listener) {
  int const one = 1;
  for (int client; (client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    watch(poll, client);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string const body(static_cast<std::size_t>(std::atoi(argv[2])), 'x');
  std::string const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: max-age=3600\r\nContent-Length: " +
                             std::to_string(body.size()) + "\r\nAge: 10\r\nCache-Status: Floor; hit; ttl=50\r\n\r\n" + body;
  int const listener = listen_on(static_cast<unsigned short>(std::atoi(argv[1])));
  if (listener < 0) return std::perror("listen"), 1;
  int const poll = epoll_create1(0);
  watch(poll, listener);
  std::array<char, 16384> buffer;
  std::array<epoll_event, 256> events;
  for (;;) {
    int const ready = epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      int const fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == listener) accept_all(poll, listener);
      else if (read(fd, buffer.data(), buffer.size()) <= 0 || write(fd, answer.data(), answer.size()) < 0) close(fd);
    }
  }
}
