#include "load/origin.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "support/deadline.hpp"

namespace weir::load {
namespace {

constexpr std::size_t block_size = 64 * 1024;
constexpr std::size_t most_problems = 10;
constexpr std::size_t most_parts = 1000;  // then they count together, under no name

std::string_view first_segment(std::string_view target) {
  target.remove_prefix(std::min<std::size_t>(1, target.size()));
  return target.substr(0, target.find_first_of("/?"));
}

char letter_of(SteadyTime made) { return static_cast<char>('a' + made.time_since_epoch().count() / 1000 % 26); }

}  // namespace

std::string stamped_body(std::string_view target, SteadyTime made, std::size_t size) {
  std::string body(target);
  body += " " + std::to_string(made.time_since_epoch().count()) + " " + std::to_string(size) + "\n";
  if (body.size() < size) body.append(size - body.size(), letter_of(made));
  return body;
}

std::optional<SteadyTime> read_stamp(std::string_view body, std::string_view target) {
  auto const end = body.find('\n');
  auto const line = body.substr(0, end);
  if (end == std::string_view::npos || !line.starts_with(target) || line.size() < target.size() + 4) return std::nullopt;
  auto const numbers = line.substr(target.size() + 1);
  std::int64_t stamp = 0;
  std::size_t size = 0;
  auto const first = std::from_chars(numbers.data(), numbers.data() + numbers.size(), stamp);
  if (first.ec != std::errc() || first.ptr == numbers.data() + numbers.size()) return std::nullopt;
  std::from_chars(first.ptr + 1, numbers.data() + numbers.size(), size);
  SteadyTime const made{base::Duration(stamp)};
  if (body.size() != std::max(size, end + 1)) return std::nullopt;
  if (body.find_first_not_of(letter_of(made), end + 1) != std::string_view::npos) return std::nullopt;
  return made;
}

Origin::Origin(Handler handler)
    : handler_(std::move(handler)),
      listener_(test::listen_on()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  port_ = test::local_port(listener_);
  for (Socket const* socket : {&listener_, &event_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = socket->fd();
    ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, socket->fd(), &event);
  }
  thread_ = std::thread([this] { run(); });
}

Origin::~Origin() {
  stopping_ = true;
  wake();
  thread_.join();
}

void Origin::wake() {
  if (::eventfd_write(event_.fd(), 1) != 0) ADD_FAILURE() << "the origin cannot be woken: " << std::strerror(errno);
}

void Origin::listen(bool on) {
  wants_to_listen_ = on;
  wake();
  EXPECT_TRUE(test::eventually([&] { return listens_ == on; })) << "the origin does not do as it is told";
}

void Origin::run() {
  std::array<epoll_event, 256> events;
  while (!stopping_) {
    int timeout = -1;
    if (!due_.empty()) {
      auto const left = std::chrono::ceil<Milliseconds>(due_.begin()->first - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000));
    }
    int const ready = ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < ready; ++i) {
      auto const& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == listener_.fd()) {
        accept_one();
      } else if (event.data.fd == event_.fd()) {
        eventfd_t count = 0;
        ::eventfd_read(event_.fd(), &count);
        if (listens_ != wants_to_listen_) switch_over();
      } else if (auto const at = connections_.find(event.data.fd); at != connections_.end()) {
        if ((event.events & EPOLLOUT) != 0) {
          send(*at->second);
        } else {
          receive(*at->second);
        }
      }
    }
    for (auto const now = Clock::now(); !due_.empty() && due_.begin()->first <= now;) {
      auto const [fd, number] = due_.begin()->second;
      due_.erase(due_.begin());
      auto const at = connections_.find(fd);
      if (at != connections_.end() && at->second->number == number) answer(*at->second);
    }
  }
}

// Between listening and not: who listens anew does so on the same port.
void Origin::switch_over() {
  if (wants_to_listen_) {
    listener_ = test::listen_on(port_);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = listener_.fd();
    ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, listener_.fd(), &event);
  } else {
    listener_.close();
    while (!connections_.empty()) drop(connections_.begin()->first);
  }
  listens_ = wants_to_listen_.load();
}

void Origin::accept_one() {
  int const fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  auto& connection = connections_[fd];
  connection = std::make_unique<Connection>();
  connection->socket = Socket(fd);
  connection->number = ++accepted_;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event);
}

void Origin::watch(Connection const& connection, bool for_writing) {
  epoll_event event{};
  event.events = for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.fd = connection.socket.fd();
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_MOD, connection.socket.fd(), &event);
}

void Origin::receive(Connection& connection) {
  std::array<char, block_size> block;
  ssize_t const got = ::recv(connection.socket.fd(), block.data(), block.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(connection.socket.fd());
  connection.in.append(block.data(), static_cast<std::size_t>(got));
  if (!connection.answering) take_requests(connection);
}

void Origin::take_requests(Connection& connection) {
  if (!connection.has_head && !connection.reader.take_head(connection.in)) return;
  connection.has_head = true;
  bool const whole = connection.reader.problem().empty() && connection.reader.take_body(connection.in);
  if (!connection.reader.problem().empty()) {
    {
      std::lock_guard const lock(mutex_);
      if (problems_.size() < most_problems) problems_.push_back(connection.reader.problem());
    }
    return drop(connection.socket.fd());
  }
  if (whole) begin(connection);
}

void Origin::begin(Connection& connection) {
  auto const& request = connection.reader.request();
  connection.answering = true;
  connection.target = request.target;
  connection.reply = handler_(request);
  if (connection.reply.constant) {
    connection.reply.fields.push_back({"ETag", "\"constant\""});
    if (request.value("If-None-Match") == "\"constant\"") connection.reply.status = 304;
  }
  connection.body_of = request.method == "HEAD" ? "" : connection.target;
  {
    std::lock_guard const lock(mutex_);
    auto part = first_segment(connection.target);
    if (by_part_.size() >= most_parts && by_part_.find(part) == by_part_.end()) part = {};
    auto at = by_part_.find(part);
    if (at == by_part_.end()) at = by_part_.emplace(part, 0).first;
    ++at->second;
    most_at_once_ = std::max(most_at_once_, ++at_once_);
    most_of_one_ = std::max(most_of_one_, ++at_once_of_[connection.target]);
  }
  auto const delay = connection.reply.delay;
  if (connection.reply.ends == Reply::Ends::never) return;
  if (delay == Milliseconds{0}) return answer(connection);
  due_.emplace(Clock::now() + delay, std::pair(connection.socket.fd(), connection.number));
}

void Origin::answer(Connection& connection) {
  auto const& reply = connection.reply;
  auto const made = reply.constant ? SteadyTime{} : Clock::now();
  std::string body;
  if (reply.status != 304) body = stamped_body(connection.target, made, reply.size);
  connection.out = "HTTP/1.1 " + std::to_string(reply.status) + " Said\r\n" + write_fields(reply.fields);
  if (reply.status != 304) connection.out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  connection.out += "\r\n";
  if (reply.ends == Reply::Ends::broken) {
    body.resize(body.size() / 2);
    connection.reset_when_sent = true;
  }
  if (!connection.body_of.empty()) connection.out += body;
  send(connection);
}

void Origin::send(Connection& connection) {
  auto const sent = connection.socket.send_some(connection.out);
  if (!sent) return drop(connection.socket.fd());
  connection.out.erase(0, *sent);
  if (!connection.out.empty()) return watch(connection, true);
  if (connection.reset_when_sent) {
    int const fd = connection.socket.fd();
    linger const hard{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    return drop(fd);
  }
  watch(connection, false);
  finish(connection);
  connection.answering = connection.has_head = false;
  connection.reader = {};
  if (!connection.in.empty()) take_requests(connection);
}

void Origin::finish(Connection& connection) {
  if (!connection.answering) return;
  std::lock_guard const lock(mutex_);
  --at_once_;
  auto const at = at_once_of_.find(connection.target);
  if (--at->second == 0) at_once_of_.erase(at);
}

void Origin::drop(int fd) {
  auto const at = connections_.find(fd);
  if (at == connections_.end()) return;
  finish(*at->second);
  connections_.erase(at);
}

std::uint64_t Origin::calls() const {
  std::lock_guard const lock(mutex_);
  std::uint64_t sum = 0;
  for (auto const& [part, count] : by_part_) sum += count;
  return sum;
}

std::uint64_t Origin::calls(std::string_view part) const {
  std::lock_guard const lock(mutex_);
  auto const at = by_part_.find(part);
  return at == by_part_.end() ? 0 : at->second;
}

std::size_t Origin::most_at_once() const {
  std::lock_guard const lock(mutex_);
  return most_at_once_;
}

std::size_t Origin::most_at_once_of_one() const {
  std::lock_guard const lock(mutex_);
  return most_of_one_;
}

std::vector<std::string> Origin::problems() const {
  std::lock_guard const lock(mutex_);
  return problems_;
}

void Origin::forget() {
  std::lock_guard const lock(mutex_);
  by_part_.clear();
  most_at_once_ = at_once_;
  most_of_one_ = 0;
}

}  // namespace weir::load
