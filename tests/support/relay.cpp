#include "support/relay.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "support/resp.hpp"

namespace weir::test {

namespace {

int sooner(int one, int other) {
  if (one < 0 || other < 0) return std::max(one, other);
  return std::min(one, other);
}

}  // namespace

Relay::Relay(std::string server)
    : server_(std::move(server)),
      reservation_(reserve_port()),
      port_(local_port(reservation_)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  listen(true);
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  on_the_thread([this] {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  });
  thread_.join();
}

void Relay::hang() { set({.commands = Fault::Commands::hold}); }

void Relay::hang_without_reading() { set({.commands = Fault::Commands::leave_unread}); }

void Relay::half_open() { set({.loses_server = true}); }

void Relay::refuse() { set({.refuses = true}); }

void Relay::answer(std::string reply, std::set<std::string> only) {
  Fault fault{.commands = Fault::Commands::answer, .answer = std::move(reply)};
  for (std::string const& name : only) fault.only.insert(small_letters(name));
  set(std::move(fault));
}

void Relay::delay(Milliseconds time) { set({.delay = time}); }

void Relay::drip(Milliseconds pause) { set({.drip = pause}); }

void Relay::hold_after(std::size_t bytes, Gate const& gate) {
  set({.limit = bytes, .beyond = Fault::Beyond::wait, .gate = gate});
}

void Relay::close_after(std::size_t bytes) { set({.limit = bytes, .beyond = Fault::Beyond::close}); }

void Relay::reset_after(std::size_t bytes) { set({.limit = bytes, .beyond = Fault::Beyond::reset}); }

void Relay::rewrite(std::function<std::string(std::string)> change) { set({.rewrite = std::move(change)}); }

void Relay::garble(std::string bytes) {
  rewrite([bytes = std::move(bytes)](std::string const&) { return bytes; });
}

void Relay::lose_messages() { set({.loses_messages = true}); }

void Relay::inject(std::string bytes) {
  on_the_thread([this, bytes = std::move(bytes)] {
    for (auto const& connection : connections_) connection->inject(bytes);
  });
}

void Relay::break_connections() {
  on_the_thread([this] {
    for (auto const& connection : connections_) connection->reset();
  });
}

void Relay::set(Fault fault) {
  on_the_thread([this, shared = std::make_shared<Fault const>(std::move(fault))] {
    fault_ = shared;
    listen(!fault_->refuses);
    for (auto const& connection : connections_) connection->obey(fault_);
  });
}

void Relay::on_the_thread(std::function<void()> step) {
  std::unique_lock lock(mutex_);
  steps_.push_back(std::move(step));
  std::uint64_t const mine = ++asked_;
  ::eventfd_write(wake_.fd(), 1);
  done_.wait(lock, [&] { return taken_ >= mine; });
}

void Relay::run() {
  while (take_steps()) {
    std::erase_if(connections_, [](auto const& connection) { return connection->is_over(); });
    poll_all();
  }
}

// False when it was the last time.
bool Relay::take_steps() {
  std::unique_lock lock(mutex_);
  std::vector<std::function<void()>> const steps = std::exchange(steps_, {});
  lock.unlock();
  for (auto const& step : steps) step();
  lock.lock();
  taken_ += steps.size();
  done_.notify_all();
  return !stopping_;
}

void Relay::listen(bool on) {
  if (!on) return listener_.close();
  if (!listener_) listener_ = listen_on(port_);
}

void Relay::poll_all() {
  std::vector<pollfd> polls = {{wake_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
  int timeout = -1;
  for (auto const& connection : connections_) {
    polls.push_back(connection->client_events());
    polls.push_back(connection->server_events());
    timeout = sooner(timeout, connection->poll_timeout());
  }
  if (::poll(polls.data(), polls.size(), timeout) < 0) return;  // interrupted
  eventfd_t wakes = 0;
  if (polls[0].revents != 0) ::eventfd_read(wake_.fd(), &wakes);
  for (std::size_t i = 0; i < connections_.size(); ++i)
    connections_[i]->advance(polls[2 + 2 * i].revents != 0, polls[3 + 2 * i].revents != 0);
  if (polls[1].revents != 0) accept_one();
}

void Relay::accept_one() {
  Socket client(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!client) return;
  connections_.push_back(std::make_unique<RelayedConnection>(std::move(client), server_, fault_, tally_));
  connections_.back()->advance(false, false);
}

std::size_t Relay::accepted() const { return tally_->counts().accepted; }

std::size_t Relay::open() const { return tally_->counts().open; }

std::uint64_t Relay::bytes_from_clients() const { return tally_->counts().bytes_from_clients; }

std::uint64_t Relay::bytes_to_clients() const { return tally_->counts().bytes_to_clients; }

std::size_t Relay::commands() const { return tally_->counts().commands; }

std::size_t Relay::commands(std::string_view name) const {
  Tally::Counts const counts = tally_->counts();
  auto const found = counts.by_name.find(small_letters(name));
  return found != counts.by_name.end() ? found->second : 0;
}

std::vector<std::string> wrong_replies() {
  return {"+OK\r\n",
          ":7\r\n",
          "*0\r\n",
          "*-1\r\n",
          "$0\r\n\r\n",
          "*1\r\n$1\r\nx\r\n",
          "*3\r\n:1\r\n:2\r\n:3\r\n",
          "*3\r\n*1\r\n$1\r\na\r\n*0\r\n*-1\r\n",
          "*3\r\n$-1\r\n-ERR inside\r\n+OK\r\n",
          "*6\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n",
          "-ERR something else altogether\r\n",
          "-\r\n",
          "*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\ny\r\n"};
}

}  // namespace weir::test
