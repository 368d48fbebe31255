#include "weir/admin/client.hpp"

#include <array>
#include <charconv>
#include <exception>
#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "weir/wire/deadline.hpp"
#include "weir/wire/dialer.hpp"
#include "weir/wire/head.hpp"
#include "weir/wire/write.hpp"

namespace weir::admin {
namespace {

namespace asio = boost::asio;

constexpr std::size_t read_size = std::size_t{16} * 1024;
constexpr std::size_t most_bytes = std::size_t{64} << 20U;

std::optional<wire::Peer> peer_at(std::string_view address) {
  constexpr std::string_view unix_prefix = "unix:";
  if (address.starts_with(unix_prefix)) return wire::Peer{{}, {}, std::string(address.substr(unix_prefix.size()))};
  auto const colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  auto host = address.substr(0, colon);
  auto const port = address.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t number = 0;
  auto const [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number == 0) return std::nullopt;
  return wire::Peer{std::string(host), std::string(port), {}};
}

std::string message_of(Order const& order) {
  std::string message = order.method + ' ' + order.target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  if (!order.token.empty()) message += "Authorization: Bearer " + order.token + "\r\n";
  if (!order.body.empty()) message += "Content-Type: application/json\r\n";
  if (!order.body.empty() || order.method != "GET")
    message += "Content-Length: " + std::to_string(order.body.size()) + "\r\n";
  return message + "\r\n" + order.body;
}

// One exchange; `trouble` says why there is no reply.
class Exchange {
 public:
  Exchange(asio::io_context& io, Order const& order, wire::Peer peer)
      : io_(io), order_(order), dialer_(io, std::move(peer)) {}

  std::string trouble = "did not answer";
  std::optional<Reply> reply;

  asio::awaitable<void> run() {
    auto const due = base::Clock::now() + order_.patience;
    wire::Stream::Socket socket(io_);
    auto const dialled = co_await dialer_.connect(socket, due);
    if (dialled != wire::Dialled::connected) {
      trouble = dialled == wire::Dialled::timeout        ? "cannot be reached in time"
                : dialled == wire::Dialled::not_resolved ? "is no name that can be resolved"
                                                         : "refuses the connection: is Weir running there?";
      co_return;
    }
    auto const stream = std::make_shared<wire::Stream>(std::move(socket));
    wire::Deadline deadline(stream);
    deadline.expires_at(due);
    auto const message = message_of(order_);
    auto const sent = co_await stream->write(asio::buffer(message));
    if (!sent.error) co_await read(*stream);
    if (!reply && deadline.expired()) trouble = "did not answer in time";
  }

 private:
  asio::awaitable<void> read(wire::Stream& stream) {
    auto const room = std::make_unique<wire::HeadRoom>();
    auto const method = order_.method == "GET" ? http::Method::get : http::Method::post;
    std::string bytes;
    std::size_t scanned = 0;
    wire::ResponseHead head;
    for (;;) {
      auto const before = bytes.size();
      bytes.resize(before + read_size);
      auto const got = co_await stream.read_some({bytes.data() + before, read_size});
      bytes.resize(before + got.bytes);
      if (head.step != wire::HeadStep::ready) head = wire::read_response_head(bytes, method, {}, *room, scanned);
      if (head.step == wire::HeadStep::refused) {
        trouble = "does not speak HTTP";
        co_return;
      }
      bool const ready = head.step == wire::HeadStep::ready;
      if (ready && head.response.framing.kind != http::BodyKind::length) {
        trouble = "is no admin listener of Weir";
        co_return;
      }
      if (ready && bytes.size() - head.size >= head.response.framing.length) {
        reply = Reply{head.response.status, bytes.substr(head.size, head.response.framing.length)};
        co_return;
      }
      if (got.error || bytes.size() > most_bytes) co_return;
      // The head's views do not outlive the bytes' growth; all that is used of it are numbers.
    }
  }

  asio::io_context& io_;
  Order const& order_;
  wire::Dialer dialer_;
};

}  // namespace

boost::system::result<Reply, std::string> call(Order const& order) {
  using Result = boost::system::result<Reply, std::string>;
  auto const failed = [&](std::string_view why) {
    return Result(boost::system::in_place_error, order.address + ' ' + std::string(why));
  };
  auto const peer = peer_at(order.address);
  if (!peer) return failed("is no address: write host:port or unix:/path");
  asio::io_context io;
  Exchange exchange(io, order, *peer);
  std::exception_ptr failure;
  asio::co_spawn(io, exchange.run(), [&](std::exception_ptr error) { failure = error; });
  io.run();
  if (failure) std::rethrow_exception(failure);
  if (!exchange.reply) return failed(exchange.trouble);
  return *std::move(exchange.reply);
}

std::string escaped(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  static constexpr std::string_view plain = "-._~";
  std::string out;
  for (char const c : text) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      auto const byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
  return out;
}

}  // namespace weir::admin
