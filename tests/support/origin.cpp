#include "support/origin.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace weir::test {

namespace {

constexpr std::size_t block_size = 64 * 1024;

// `stop` cuts a wait short by shutting the socket down, so a connection may be idle for as long as a test lasts.
constexpr Milliseconds idle{600'000};

std::function<Script(Request const&)> in_order(std::vector<Script> scripts) {
  auto const next = std::make_shared<std::atomic<std::size_t>>(0);
  return [scripts = std::move(scripts), next](Request const&) {
    return scripts.at(std::min(next->fetch_add(1), scripts.size() - 1));
  };
}

bool wants_close(Request const& request) {
  std::string const connection = request.value("Connection");
  return same_name(connection, "close") || (request.version == "HTTP/1.0" && !same_name(connection, "keep-alive"));
}

}  // namespace

ScriptedOrigin::ScriptedOrigin(std::string address) : address_(std::move(address)) { start(); }

ScriptedOrigin::~ScriptedOrigin() { stop(); }

std::string ScriptedOrigin::url() const {
  bool const v6 = address_.find(':') != std::string::npos;
  return "http://" + (v6 ? "[" + address_ + "]" : address_) + ":" + std::to_string(port_);
}

void ScriptedOrigin::answer(std::string const& target, Script script) {
  answer(target, [script = std::move(script)](Request const&) { return script; });
}

void ScriptedOrigin::answer(std::string const& target, std::initializer_list<Script> in_turn) {
  answer(target, in_order(in_turn));
}

void ScriptedOrigin::answer(std::string const& target, Handler handler) {
  std::lock_guard lock(mutex_);
  handlers_[target] = std::move(handler);
}

void ScriptedOrigin::answer_rest(Handler handler) {
  std::lock_guard lock(mutex_);
  rest_ = std::move(handler);
}

void ScriptedOrigin::answer_before_body(bool on) {
  std::lock_guard lock(mutex_);
  before_body_ = on;
}

void ScriptedOrigin::start() {
  if (acceptor_.joinable()) return;
  listener_ = listen_on(port_, address_);
  port_ = local_port(listener_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = false;
  }
  acceptor_ = std::thread([this] { accept_all(); });
}

void ScriptedOrigin::stop() {
  if (!acceptor_.joinable()) return;
  std::vector<std::unique_ptr<Connection>> connections;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  listener_.shut_down();
  acceptor_.join();
  listener_.close();
  {
    std::lock_guard lock(mutex_);
    connections.swap(connections_);
    for (auto const& connection : connections)
      if (!connection->over) connection->socket.shut_down();
  }
  for (auto const& connection : connections) connection->thread.join();
}

void ScriptedOrigin::accept_all() {
  for (;;) {
    int const fd = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    join_those_that_are_over();
    std::lock_guard lock(mutex_);
    if (stopping_) {
      Socket(fd).reset();
      return;
    }
    if (fd < 0) continue;
    auto& connection = *connections_.emplace_back(std::make_unique<Connection>());
    connection.socket = Socket(fd);
    int const number = static_cast<int>(++accepted_);
    connection.thread = std::thread([this, &connection, number] { serve(connection, number); });
  }
}

void ScriptedOrigin::join_those_that_are_over() {
  std::vector<std::unique_ptr<Connection>> over;
  {
    std::lock_guard lock(mutex_);
    auto const first = std::partition(connections_.begin(), connections_.end(),
                                      [](std::unique_ptr<Connection> const& connection) { return !connection->over; });
    std::move(first, connections_.end(), std::back_inserter(over));
    connections_.erase(first, connections_.end());
  }
  for (auto const& connection : over) connection->thread.join();
}

void ScriptedOrigin::serve(Connection& connection, int number) {
  std::string buffer;
  After after = After::keep;
  bool unread_body = false;
  while (after == After::keep) {
    RequestReader reader;
    reader.request().connection = number;
    if (!read_request(connection, buffer, reader)) break;
    Request const request = std::move(reader.request());
    Script const script = script_for(request);
    {
      std::lock_guard lock(mutex_);
      ++chosen_;
    }
    after = play(connection, script, request.method == "HEAD");
    unread_body = !request.complete;
    if (after == After::keep && (wants_close(request) || unread_body)) after = After::close;
    std::lock_guard lock(mutex_);
    --at_once_;
  }
  if (after == After::close && unread_body) drain(connection);
  {
    std::lock_guard lock(mutex_);
    connection.over = true;  // from here on `stop` leaves the descriptor alone
    if (stopping_) after = After::reset;
  }
  if (after == After::reset) {
    connection.socket.reset();
  } else {
    connection.socket.close();
  }
}

// Closing with bytes unread would reset the connection and could take the answer with it.
void ScriptedOrigin::drain(Connection& connection) {
  connection.socket.finish_sending();
  Deadline const deadline(Milliseconds(2'000));
  for (std::string dropped; connection.socket.receive(dropped, block_size, deadline.left()) == Socket::Got::bytes;)
    dropped.clear();
}

// True with a request to answer; false when the other side left or sent nonsense.
bool ScriptedOrigin::read_request(Connection& connection, std::string& buffer, RequestReader& reader) {
  while (!reader.take_head(buffer))
    if (connection.socket.receive(buffer, block_size, idle) != Socket::Got::bytes) return false;
  bool before_body = false;
  {
    std::lock_guard lock(mutex_);
    before_body = before_body_;
  }
  if (reader.problem().empty() && !before_body) {
    if (same_name(reader.request().value("Expect"), "100-continue"))
      connection.socket.send_all("HTTP/1.1 100 Continue\r\n\r\n");
    while (!reader.take_body(buffer))
      if (connection.socket.receive(buffer, block_size, idle) != Socket::Got::bytes) return false;
  }
  std::lock_guard lock(mutex_);
  if (!reader.problem().empty()) {
    problems_.push_back(reader.problem());
    return false;
  }
  requests_.push_back(reader.request());
  most_at_once_ = std::max(most_at_once_, ++at_once_);
  return true;
}

Script ScriptedOrigin::script_for(Request const& request) {
  Handler handler;
  {
    std::lock_guard lock(mutex_);
    auto const found = handlers_.find(request.target);
    handler = found != handlers_.end() ? found->second : rest_;
  }
  return handler ? handler(request) : respond(404, {}, "no script for " + request.target);
}

ScriptedOrigin::After ScriptedOrigin::play(Connection& connection, Script const& script, bool is_head) {
  for (Script::Step const& step : script.steps()) {
    if (std::holds_alternative<Script::Close>(step)) return After::close;
    if (std::holds_alternative<Script::Reset>(step)) return After::reset;
    if (std::holds_alternative<Script::Hang>(step)) return hang_on(connection);
    if (Gate const* gate = std::get_if<Gate>(&step)) {
      if (!gate->wait_unless([&] { return must_leave(connection); })) return departed();
    } else if (Script::Send const& piece = std::get<Script::Send>(step); !(piece.is_body && is_head)) {
      if (!connection.socket.send_all(piece.bytes, idle)) return departed();
    }
  }
  return After::keep;
}

ScriptedOrigin::After ScriptedOrigin::hang_on(Connection& connection) {
  while (!must_leave(connection)) give_way();
  return departed();
}

ScriptedOrigin::After ScriptedOrigin::departed() {
  std::lock_guard lock(mutex_);
  if (!stopping_) ++departures_;
  return After::close;
}

bool ScriptedOrigin::must_leave(Connection& connection) const {
  std::lock_guard lock(mutex_);
  return stopping_ || connection.socket.peer_is_gone();
}

std::vector<Request> ScriptedOrigin::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<Request> ScriptedOrigin::requests(std::string_view target) const {
  std::vector<Request> those;
  std::lock_guard lock(mutex_);
  std::copy_if(requests_.begin(), requests_.end(), std::back_inserter(those),
               [&](Request const& request) { return request.target == target; });
  return those;
}

Request ScriptedOrigin::last_request() const {
  std::lock_guard lock(mutex_);
  if (!requests_.empty()) return requests_.back();
  ADD_FAILURE() << "the origin saw no request";
  return {};
}

std::size_t ScriptedOrigin::calls() const {
  std::lock_guard lock(mutex_);
  return requests_.size();
}

std::size_t ScriptedOrigin::calls(std::string_view target) const {
  std::lock_guard lock(mutex_);
  auto const count =
      std::count_if(requests_.begin(), requests_.end(), [&](Request const& request) { return request.target == target; });
  return static_cast<std::size_t>(count);
}

bool ScriptedOrigin::waits_for_calls(std::size_t count, Milliseconds bound) const {
  return eventually(
      [&] {
        std::lock_guard lock(mutex_);
        return chosen_ >= count;
      },
      bound);
}

std::size_t ScriptedOrigin::connections() const {
  std::lock_guard lock(mutex_);
  return accepted_;
}

std::size_t ScriptedOrigin::at_once() const {
  std::lock_guard lock(mutex_);
  return at_once_;
}

std::size_t ScriptedOrigin::most_at_once() const {
  std::lock_guard lock(mutex_);
  return most_at_once_;
}

std::size_t ScriptedOrigin::departures() const {
  std::lock_guard lock(mutex_);
  return departures_;
}

std::vector<std::string> ScriptedOrigin::problems() const {
  std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace weir::test
