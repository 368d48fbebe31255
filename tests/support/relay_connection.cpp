#include "support/relay_connection.hpp"

#include <algorithm>
#include <utility>

#include "support/resp.hpp"

namespace weir::test {

namespace {

constexpr std::size_t block_size = 64 * 1024;
constexpr std::size_t most_held = 256u << 20;   // bytes of commands that wait here; what is over waits in the kernel
constexpr std::size_t most_queued = 16u << 20;  // the same of replies
constexpr Milliseconds at_once{0};

ConnectOptions options_for(std::string const& address) {
  return {.address = address.starts_with("unix:") ? address : address.substr(0, address.rfind(':'))};
}

std::uint16_t port_of(std::string const& address) {
  if (address.starts_with("unix:")) return 0;
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

bool is_one_of(std::string const& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void Tally::accepted() {
  std::lock_guard lock(mutex_);
  ++counts_.accepted;
  ++counts_.open;
}

void Tally::left() {
  std::lock_guard lock(mutex_);
  --counts_.open;
}

void Tally::read(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  counts_.bytes_from_clients += bytes;
}

std::optional<std::size_t> Tally::send(Socket& socket, std::string_view bytes) {
  std::lock_guard lock(mutex_);
  std::optional<std::size_t> const sent = socket.send_some(bytes);
  counts_.bytes_to_clients += sent.value_or(0);
  return sent;
}

void Tally::command(std::string const& name) {
  std::lock_guard lock(mutex_);
  ++counts_.commands;
  ++counts_.by_name[name];
}

Tally::Counts Tally::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

RelayedConnection::RelayedConnection(Socket client, std::string const& server, std::shared_ptr<Fault const> fault,
                                     std::shared_ptr<Tally> tally)
    : client_(std::move(client)),
      server_address_(server),
      fault_(std::move(fault)),
      tally_(std::move(tally)),
      next_byte_(at_once) {
  tally_->accepted();
  cut_off_ = fault_->loses_server;
  if (fault_->commands == Fault::Commands::pass && !cut_off_) reach_server();
}

RelayedConnection::~RelayedConnection() { client_left(); }

void RelayedConnection::obey(std::shared_ptr<Fault const> fault) {
  fault_ = std::move(fault);
  passed_ = 0;
  next_byte_ = Deadline(at_once);
  for (Piece& piece : to_client_) piece.due = Deadline(at_once);
  if (fault_->loses_server) {
    cut_off_ = true;
    server_.close();
  }
  if (fault_->refuses) return reset();
  advance(false, false);
}

void RelayedConnection::inject(std::string bytes) {
  if (!client_open_) return;
  queued_ += bytes.size();
  to_client_.push_back({Deadline(at_once), std::move(bytes)});
  advance(false, false);
}

void RelayedConnection::reset() { end(true); }

bool RelayedConnection::reads_client() const { return !client_ended_ && !leaves_unread() && held_ < most_held; }

bool RelayedConnection::reads_server() const {
  return server_ && !server_ended_ && !is_silent() && (client_ended_ || queued_ < most_queued);
}

pollfd RelayedConnection::client_events() const {
  short events = 0;
  if (reads_client()) events |= POLLIN;
  if (leaves_unread() && client_open_) events |= POLLRDHUP;
  if (blocked_ && !is_silent()) events |= POLLOUT;
  return {events != 0 ? client_.fd() : -1, events, 0};
}

pollfd RelayedConnection::server_events() const {
  short events = 0;
  if (reads_server()) events |= POLLIN;
  if (!to_server_.empty() && server_ && !is_silent()) events |= POLLOUT;
  return {events != 0 ? server_.fd() : -1, events, 0};
}

int RelayedConnection::poll_timeout() const {
  if (over_ || client_ended_ || blocked_ || is_silent() || to_client_.empty()) return -1;
  if (at_limit() && fault_->beyond == Fault::Beyond::wait) return 1;  // a gate tells nobody when it opens
  return std::max(to_client_.front().due.poll_timeout(), next_byte_.poll_timeout());
}

void RelayedConnection::advance(bool client_is_ready, bool server_is_ready) {
  if (over_) return;
  if (client_is_ready) {
    blocked_ = false;
    receive_commands();
  }
  pass_commands();
  send_to_server();
  if (server_is_ready) receive_replies();
  send_to_client();
  finish_if_done();
}

// Where there is none, the client hears of it as of one that broke off.
void RelayedConnection::reach_server() {
  if (server_ || server_ended_) return;
  server_ = connect_to(port_of(server_address_), options_for(server_address_));
  if (!server_) server_ended_ = server_broke_ = true;
}

void RelayedConnection::receive_commands() {
  if (leaves_unread()) return note_departure();
  if (!reads_client()) return;
  std::size_t const before = from_client_.size();
  Socket::Got const got = client_.receive(from_client_, block_size, at_once);
  tally_->read(from_client_.size() - before);
  if (got == Socket::Got::bytes) take_commands();
  if (got == Socket::Got::end || got == Socket::Got::reset) {
    client_ended_ = true;
    to_client_.clear();
    queued_ = 0;
    client_left();
  }
}

// Without reading: that bytes wait in front of the client's FIN does not hide it from poll.
void RelayedConnection::note_departure() {
  pollfd client{client_.fd(), POLLRDHUP, 0};
  if (::poll(&client, 1, 0) > 0) client_left();
}

void RelayedConnection::take_commands() {
  for (;;) {
    ValueExtent const command = first_value(from_client_);
    if (command.is == ValueExtent::Is::partial) return;
    // What is no command at all is the server's to judge.
    std::size_t const size = command.is == ValueExtent::Is::whole ? command.size : from_client_.size();
    std::string bytes = from_client_.substr(0, size);
    from_client_.erase(0, size);
    if (cut_off_ && command.is != ValueExtent::Is::whole) continue;
    std::vector<std::string> const words = scalars(bytes);
    std::string const name = words.empty() ? std::string() : small_letters(words.front());
    tally_->command(name);
    if (cut_off_) continue;
    bool const subscribes =
        is_one_of(name, {"subscribe", "psubscribe", "ssubscribe", "unsubscribe", "punsubscribe", "sunsubscribe"});
    held_ += size;
    commands_.push_back({name, std::move(bytes), subscribes ? std::max<std::size_t>(words.size(), 2) - 1 : 1});
  }
}

bool RelayedConnection::is_answered_here(Command const& command) const {
  return fault_->commands == Fault::Commands::answer && (fault_->only.empty() || fault_->only.contains(command.name));
}

void RelayedConnection::pass_commands() {
  while (!is_silent() && !commands_.empty()) {
    Command const command = std::move(commands_.front());
    commands_.pop_front();
    held_ -= command.bytes.size();
    if (is_answered_here(command)) {
      if (!fault_->answer.empty()) awaited_.push_back(fault_->answer);
      continue;
    }
    reach_server();
    to_server_ += command.bytes;
    awaited_.insert(awaited_.end(), command.replies, std::string());
    if (is_one_of(command.name, {"subscribe", "psubscribe", "ssubscribe"})) subscribed_ = true;
  }
  if (!is_silent()) take_answers();
}

void RelayedConnection::send_to_server() {
  if (to_server_.empty() || !server_ || server_ended_ || is_silent()) return;
  std::optional<std::size_t> const sent = server_.send_some(to_server_);
  to_server_.erase(0, sent.value_or(to_server_.size()));  // one that is gone says so when it is read from
}

void RelayedConnection::receive_replies() {
  if (!reads_server()) return;
  Socket::Got const got = server_.receive(from_server_, block_size, at_once);
  server_ended_ = got == Socket::Got::end || got == Socket::Got::reset;
  server_broke_ = got == Socket::Got::reset;
  for (ValueExtent reply = first_value(from_server_); !from_server_.empty(); reply = first_value(from_server_)) {
    if (reply.is == ValueExtent::Is::partial && !server_ended_) return;
    std::size_t const size = reply.is == ValueExtent::Is::whole ? reply.size : from_server_.size();
    std::string value = from_server_.substr(0, size);
    from_server_.erase(0, size);
    take_reply(std::move(value));
  }
}

void RelayedConnection::take_reply(std::string value) {
  bool const message = is_message(value);
  bool const asked_for = !message && !awaited_.empty();
  if (asked_for) awaited_.pop_front();
  if (!(message && fault_->loses_messages)) emit(fault_->rewrite ? fault_->rewrite(std::move(value)) : std::move(value));
  if (asked_for) take_answers();
}

// Those answers of the relay's own whose turn it is: none overtakes a reply that the server still owes.
void RelayedConnection::take_answers() {
  for (; !awaited_.empty() && !awaited_.front().empty(); awaited_.pop_front()) emit(std::move(awaited_.front()));
}

bool RelayedConnection::is_message(std::string const& value) const {
  if (value.front() != '>' && !(value.front() == '*' && subscribed_)) return false;
  std::vector<std::string> const kind = scalars(value, 1);
  return !kind.empty() && is_one_of(kind.front(), {"message", "pmessage", "smessage", "invalidate"});
}

void RelayedConnection::emit(std::string bytes) {
  if (bytes.empty() || client_ended_) return;
  queued_ += bytes.size();
  to_client_.push_back({Deadline(fault_->delay), std::move(bytes)});
}

void RelayedConnection::send_to_client() {
  while (!over_ && !blocked_ && !client_ended_ && !is_silent() && !to_client_.empty()) {
    Piece& piece = to_client_.front();
    if (!piece.due.passed()) return;
    std::size_t most = piece.bytes.size() - piece.sent;
    if (at_limit() && fault_->beyond != Fault::Beyond::wait) return end(fault_->beyond == Fault::Beyond::reset);
    if (at_limit() && !fault_->gate.is_open()) return;
    if (fault_->limit && !at_limit()) most = std::min(most, *fault_->limit - passed_);
    if (fault_->drip) {
      if (!next_byte_.passed()) return;
      next_byte_ = Deadline(*fault_->drip);
      most = 1;
    }
    std::string_view const bytes = std::string_view(piece.bytes).substr(piece.sent, most);
    std::optional<std::size_t> const sent = tally_->send(client_, bytes);
    if (!sent) return end(false);
    blocked_ = *sent < most;
    passed_ += *sent;
    queued_ -= *sent;
    piece.sent += *sent;
    if (piece.sent == piece.bytes.size()) to_client_.pop_front();
  }
}

void RelayedConnection::finish_if_done() {
  if (over_) return;
  if (client_ended_) {
    // What it asked for before it left reaches the server; closing at once could take that back.
    if (cut_off_ || !server_ || server_ended_) {
      over_ = cut_off_ || commands_.empty();
    } else if (commands_.empty() && to_server_.empty() && !std::exchange(told_server_, true)) {
      server_.finish_sending();
    }
    return;
  }
  if (server_ended_ && to_client_.empty() && !is_silent()) end(server_broke_);
}

// With FIN the client's end stays, deaf and dumb, until the client has left: closing it with bytes unread would reset it.
void RelayedConnection::end(bool by_reset) {
  if (over_) return;
  client_left();
  server_.close();
  cut_off_ = true;
  if (by_reset) {
    over_ = true;
    client_.reset();
  } else {
    client_.finish_sending();
  }
}

void RelayedConnection::client_left() {
  if (std::exchange(client_open_, false)) tally_->left();
}

}  // namespace weir::test
