// TLS between two streams: what is written is read, whatever the sockets take at once, and how it ends is told.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "support/certificate.hpp"
#include "weir/wire/certificates.hpp"
#include "weir/wire/stream.hpp"

namespace weir::wire {
namespace {

// Two ends in one thread.
class Wire {
 public:
  // Small, so that a record does not fit.
  explicit Wire(int send_buffer = 4096) : client_context_(asio::ssl::context::tls_client) {
    EXPECT_EQ(certificates_.add(certificate_.file(), certificate_.key_file()), "");
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (int const end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    auto const adopt = [&](int end) {
      Stream::Socket socket(io);
      socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), end);
      return std::make_shared<Stream>(std::move(socket));
    };
    client = adopt(ends[0]);
    server = adopt(ends[1]);
  }

  void run(std::function<asio::awaitable<void>()> const& one, std::function<asio::awaitable<void>()> const& other) {
    auto const rethrow = [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    };
    asio::co_spawn(io, one(), rethrow);
    asio::co_spawn(io, other(), rethrow);
    io.restart();
    io.run();
  }
  asio::awaitable<error_code> shake_hands_as_client() { co_return co_await client->start_tls_client(client_context_, ""); }
  asio::awaitable<error_code> shake_hands_as_server() {
    co_return co_await server->start_tls_server(certificates_.context());
  }
  void shake_hands() {
    run([this]() -> asio::awaitable<void> { EXPECT_FALSE(co_await shake_hands_as_client()); },
        [this]() -> asio::awaitable<void> { EXPECT_FALSE(co_await shake_hands_as_server()); });
  }

  // REL-1: what the client says of a server that should be `name`.
  error_code verify(std::string const& name, bool trusts) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    context.set_verify_mode(asio::ssl::verify_peer);
    if (trusts) context.load_verify_file(certificate_.file());
    error_code said;
    run(
        [&]() -> asio::awaitable<void> {
          said = co_await client->start_tls_client(context, name);
          client->close();
        },
        [this]() -> asio::awaitable<void> { co_await server->start_tls_server(certificates_.context()); });
    return said;
  }

  asio::io_context io;
  std::shared_ptr<Stream> client, server;

 private:
  test::Certificate certificate_{{"weir.test", "*.weir.test", "192.0.2.7"}};
  Certificates certificates_{false};
  asio::ssl::context client_context_;
};

asio::awaitable<std::string> read_all(Stream& stream, error_code& end) {
  std::string all(8192, '\0'), out;
  for (;;) {
    auto const got = co_await stream.read_some(all);
    out.append(all, 0, got.bytes);
    end = got.error;
    if (end) co_return out;
  }
}

std::string counted(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + ",";
  return text;
}

TEST(TlsStream, CarriesBothDirectionsAtOnceToTheirEnds) {
  Wire wire;
  wire.shake_hands();
  auto const up = counted(700'000), down = counted(900'000);
  std::string got_up, got_down;
  error_code up_end, down_end;
  auto const send = [](Stream& stream, std::string const& text) -> asio::awaitable<void> {
    std::array<asio::const_buffer, 3> const parts{asio::buffer(text, 10), asio::const_buffer(),
                                                  asio::buffer(text) + std::size_t{10}};
    auto const sent = co_await stream.write(parts);
    EXPECT_FALSE(sent.error);
    EXPECT_EQ(sent.bytes, text.size());
    EXPECT_FALSE(co_await stream.finish());
  };
  asio::co_spawn(wire.io, send(*wire.client, up), [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
  asio::co_spawn(wire.io, send(*wire.server, down), [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
  wire.run([&]() -> asio::awaitable<void> { got_up = co_await read_all(*wire.server, up_end); },
           [&]() -> asio::awaitable<void> { got_down = co_await read_all(*wire.client, down_end); });
  EXPECT_TRUE(got_up == up);
  EXPECT_TRUE(got_down == down);
  EXPECT_EQ(up_end, asio::error::eof);
  EXPECT_EQ(down_end, asio::error::eof);
}

// What was not reported as written comes next, in pieces of another size, and arrives once.
TEST(TlsStream, GoesOnWithWhatWasLeftOver) {
  Wire wire;
  wire.shake_hands();
  auto const text = counted(100'000);
  std::array<asio::const_buffer, 4> const parts{asio::buffer(text, 100), asio::buffer(text.data() + 100, 20'000),
                                                asio::buffer(text.data() + 20'100, 1),
                                                asio::buffer(text) + std::size_t{20'101}};
  auto const now = wire.server->try_write(parts);
  EXPECT_EQ(now.error, asio::error::would_block);
  EXPECT_LT(now.bytes, text.size());
  EXPECT_EQ(wire.server->try_write({}).bytes, 0U);
  std::string got;
  error_code end;
  wire.run(
      [&]() -> asio::awaitable<void> {
        for (std::size_t at = now.bytes; at < text.size(); at += 777)
          EXPECT_FALSE(
              (co_await wire.server->write(asio::buffer(text.data() + at, std::min<std::size_t>(777, text.size() - at))))
                  .error);
        wire.server->close();
      },
      [&]() -> asio::awaitable<void> { got = co_await read_all(*wire.client, end); });
  EXPECT_TRUE(got == text);
  EXPECT_EQ(end, asio::error::eof);
}

// A socket that takes all of a record but its last few bytes: they go out once. The kernel cuts what it takes at pieces
// that follow from the size of its buffer, so some of these records end a few bytes behind one.
TEST(TlsStream, SendsAShortRestOnce) {
  auto const text = counted(40'000);
  for (std::size_t piece = 4000; piece < 4040; ++piece) {
    Wire wire;
    wire.shake_hands();
    std::string got;
    error_code end;
    wire.run(
        [&]() -> asio::awaitable<void> {
          for (std::size_t at = 0; at < text.size(); at += piece)
            co_await wire.server->write(asio::buffer(text.data() + at, std::min(piece, text.size() - at)));
          co_await wire.server->finish();
        },
        [&]() -> asio::awaitable<void> {
          got = co_await read_all(*wire.client, end);
          wire.client->close();
        });
    ASSERT_TRUE(got == text) << piece << ": " << got.size() << " bytes, " << end.message();
    ASSERT_EQ(end, asio::error::eof) << piece;  // the end, too, waits for a socket that is full
  }
}

// COA-10: an end that nobody announced is a break.
TEST(TlsStream, TellsAnEndFromABreak) {
  Wire wire;
  wire.shake_hands();
  EXPECT_FALSE(wire.client->is_stale());
  EXPECT_FALSE(wire.server->has_bytes());
  wire.server->socket().shutdown(Stream::Socket::shutdown_send);
  EXPECT_TRUE(wire.client->is_stale());
  error_code end;
  wire.run([&]() -> asio::awaitable<void> { EXPECT_EQ(co_await read_all(*wire.client, end), ""); },
           []() -> asio::awaitable<void> { co_return; });
  EXPECT_EQ(end, asio::error::connection_reset);
}

// A client's first request comes with the end of its handshake.
TEST(TlsStream, HoldsWhatCameWithTheHandshake) {
  Wire wire(64 * 1024);  // the session tickets, which nobody reads here, leave it writable
  std::string const early = "early";
  wire.run(
      [&]() -> asio::awaitable<void> {
        EXPECT_FALSE(co_await wire.shake_hands_as_client());
        EXPECT_FALSE((co_await wire.client->write(asio::buffer(early))).error);
      },
      [&]() -> asio::awaitable<void> {
        EXPECT_FALSE(co_await wire.shake_hands_as_server());
        EXPECT_TRUE(wire.server->has_bytes());
        auto const [error] = co_await wire.server->wait_readable(asio::as_tuple(asio::use_awaitable));
        EXPECT_FALSE(error);
      });
  std::string into(100, '\0');
  EXPECT_EQ(wire.server->try_read(into).bytes, early.size());
}

// Bytes that OpenSSL holds are bytes that wait: nobody waits for the socket beside them.
TEST(TlsStream, KnowsWhatItHolds) {
  Wire wire;
  wire.shake_hands();
  std::string both = "first", second = "second";
  wire.run(
      [&]() -> asio::awaitable<void> {
        EXPECT_FALSE((co_await wire.client->write(asio::buffer(both))).error);
        EXPECT_FALSE((co_await wire.client->write(asio::buffer(second))).error);
      },
      []() -> asio::awaitable<void> { co_return; });
  std::string into(100, '\0');
  EXPECT_TRUE(wire.server->has_bytes());
  EXPECT_EQ(wire.server->try_read(std::span(into).first(3)).bytes, 3U);
  EXPECT_EQ(wire.server->try_read(into).bytes, 2U);
  EXPECT_TRUE(wire.server->has_bytes());
  EXPECT_FALSE(wire.server->has_begun());
  EXPECT_TRUE(wire.client->is_stale() == false && wire.server->is_stale());
  wire.run(
      [&]() -> asio::awaitable<void> {
        auto const [error] = co_await wire.server->wait_readable(asio::as_tuple(asio::use_awaitable));
        EXPECT_FALSE(error);
      },
      []() -> asio::awaitable<void> { co_return; });
  EXPECT_EQ(wire.server->try_read(into).bytes, 6U);
  EXPECT_EQ(wire.server->try_read(into).error, asio::error::would_block);
  EXPECT_FALSE(wire.server->has_bytes());
}

// REL-1
TEST(TlsStream, VerifiesWhomItConnectsTo) {
  for (auto const* const name : {"weir.test", "WEIR.test", "a.weir.test", "192.0.2.7", ""})
    EXPECT_FALSE(Wire().verify(name, true)) << name;
  for (auto const* const name : {"other.test", "a.b.weir.test", "192.0.2.8", "2001:db8::7", "weir"})
    EXPECT_TRUE(Wire().verify(name, true)) << name;
  EXPECT_TRUE(Wire().verify("weir.test", false));
}

}  // namespace
}  // namespace weir::wire
