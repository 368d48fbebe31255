#include "support/burst.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace weir::test {

Burst::Burst(std::uint16_t port, std::size_t count, ConnectOptions const& options) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  raise_descriptor_limit();
  clients_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    One& one = clients_.emplace_back();
    one.socket = connect_to(port, options);
    if (!one.socket) {
      ADD_FAILURE() << "client " << i << " of a burst cannot connect";
      finish(one, End::reset);
      continue;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, one.socket.fd(), &event);
  }
}

void Burst::send(std::string_view bytes, std::string_view method) {
  send_each([&](std::size_t) { return std::string(bytes); }, method);
}

void Burst::send_each(std::function<std::string(std::size_t)> const& bytes_of, std::string_view method) {
  first_byte_order_.clear();
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    One& one = clients_[i];
    if (!one.socket) continue;
    if (one.done) --done_;
    one.done = one.has_bytes = false;
    one.end = End::silence;
    one.reader = ResponseReader(method);
    if (!one.socket.send_all(bytes_of(i))) finish(one, End::reset);
  }
}

void Burst::collect(std::size_t enough, Milliseconds bound) {
  enough = std::min(enough, clients_.size());
  std::array<epoll_event, 256> events;
  while (done_ < enough) {
    int const ready =
        ::epoll_wait(epoll_.fd(), events.data(), static_cast<int>(events.size()), static_cast<int>(bound.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      ADD_FAILURE() << "a burst waited for answers in vain: " << done_ << " of " << enough << " came";
      return;
    }
    for (int i = 0; i < ready; ++i) receive(events[static_cast<std::size_t>(i)].data.u64);
  }
}

void Burst::receive(std::size_t client) {
  One& one = clients_[client];
  if (!one.socket) return;  // closed while its event was already in the list
  std::array<char, 16 * 1024> block;
  ssize_t const got = ::recv(one.socket.fd(), block.data(), block.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    finish(one, got == 0 ? End::finished : End::reset);
    one.socket.close();
    return;
  }
  if (!std::exchange(one.has_bytes, true)) first_byte_order_.push_back(client);
  one.buffer.append(block.data(), static_cast<std::size_t>(got));
  if (!one.done && one.reader.take(one.buffer)) finish(one, End::whole);
}

void Burst::finish(One& one, End end) {
  if (std::exchange(one.done, true)) return;
  one.end = end;
  ++done_;
}

std::vector<Response> Burst::responses() const {
  std::vector<Response> all;
  all.reserve(clients_.size());
  for (One const& one : clients_) all.push_back(one.reader.so_far(one.end));
  return all;
}

void Burst::close(std::size_t client) {
  finish(clients_.at(client), End::silence);
  clients_.at(client).socket.close();
}

void Burst::reset(std::size_t client) {
  finish(clients_.at(client), End::silence);
  clients_.at(client).socket.reset();
}

std::map<int, std::size_t> statuses(std::vector<Response> const& responses) {
  std::map<int, std::size_t> counts;
  for (Response const& response : responses) ++counts[response.complete || response.status == 0 ? response.status : -1];
  return counts;
}

}  // namespace weir::test
