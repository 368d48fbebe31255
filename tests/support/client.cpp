#include "support/client.hpp"

#include <gtest/gtest.h>
#include <poll.h>

namespace weir::test {

namespace {

constexpr std::size_t block_size = 16 * 1024;

bool names(Fields const& fields, std::string_view name) {
  for (Field const& field : fields)
    if (same_name(field.name, name)) return true;
  return false;
}

End end_of(Socket::Got got) {
  switch (got) {
    case Socket::Got::end:
      return End::finished;
    case Socket::Got::reset:
      return End::reset;
    case Socket::Got::bytes:
    case Socket::Got::nothing:
      break;
  }
  return End::silence;
}

}  // namespace

std::string write_request(std::string_view method, std::string_view target, Fields const& fields, std::string_view body) {
  std::string text(method);
  text.append(" ").append(target).append(" HTTP/1.1\r\n");
  bool const to_admin = target.starts_with("/v1/");  // where names are refused
  if (!names(fields, "Host")) text += to_admin ? "Host: localhost\r\n" : "Host: weir.test\r\n";
  text += write_fields(fields);
  if (!body.empty() && !names(fields, "Content-Length") && !names(fields, "Transfer-Encoding"))
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text.append("\r\n").append(body);
}

Client::Client(std::uint16_t port, ConnectOptions const& options) : socket_(connect_to(port, options)) {
  if (!socket_) ADD_FAILURE() << "cannot connect to " << options.address << " port " << port;
}

void Client::send(std::string_view bytes) {
  if (!socket_.send_all(bytes)) ADD_FAILURE() << "the peer took no more of what a client sent";
}

void Client::send_request(std::string_view method, std::string_view target, Fields const& fields, std::string_view body) {
  send(write_request(method, target, fields, body));
  methods_.emplace_back(method);
}

Response Client::read_until(std::size_t enough, Milliseconds bound) {
  if (!reading_) {
    reading_.emplace(methods_.empty() ? "GET" : methods_.front());
    if (!methods_.empty()) methods_.pop_front();
  }
  auto const done = [this](End end) {
    Response response = reading_->so_far(end);
    reading_.reset();
    return response;
  };
  Deadline const deadline(bound);
  for (;;) {
    if (reading_->take(buffer_)) return done(End::whole);
    if (reading_->has_head() && reading_->body_size() >= enough) return reading_->so_far(End::silence);
    Socket::Got const got = socket_.receive(buffer_, block_size, deadline.left());
    if (got == Socket::Got::bytes) continue;
    if (got == Socket::Got::nothing) ADD_FAILURE() << "a client waited for a response in vain";
    return done(end_of(got));
  }
}

Response Client::request(std::string_view method, std::string_view target, Fields const& fields, std::string_view body) {
  send_request(method, target, fields, body);
  return read();
}

std::string Client::read_some(std::size_t most, Milliseconds bound) {
  if (buffer_.empty() && socket_.receive(buffer_, most, bound) == Socket::Got::nothing)
    ADD_FAILURE() << "a client waited for bytes in vain";
  std::string taken = buffer_.substr(0, most);
  buffer_.erase(0, taken.size());
  return taken;
}

std::string Client::read_exactly(std::size_t size, Milliseconds bound) {
  Deadline const deadline(bound);
  std::string taken;
  while (taken.size() < size) {
    std::string const some = read_some(size - taken.size(), deadline.left());
    if (some.empty()) break;
    taken += some;
  }
  return taken;
}

std::string Client::read_to_end(Milliseconds bound) {
  Deadline const deadline(bound);
  std::string taken;
  for (;;) {
    std::string const some = read_some(block_size, deadline.left());
    if (some.empty()) return taken;
    taken += some;
  }
}

bool Client::has_answer() const {
  pollfd poll_fd{socket_.fd(), POLLIN, 0};
  return !buffer_.empty() || (::poll(&poll_fd, 1, 0) == 1 && !socket_.peer_is_gone());
}

bool Client::is_closed() const { return buffer_.empty() && socket_.peer_is_gone(); }

bool Client::waits_until_closed(Milliseconds bound) const {
  return eventually([this] { return is_closed(); }, bound);
}

Response get(std::uint16_t port, std::string_view target, Fields const& fields) { return Client(port).get(target, fields); }

}  // namespace weir::test
