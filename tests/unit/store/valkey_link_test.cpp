// VAL-1, VAL-3: the connection to the store's server, whose peer leaves at the worst moment.
#include "../../../src/store/valkey_link.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <exception>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "../../../src/store/scripts.hpp"
#include "weir/base/turned_clock.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;
using Local = asio::local::stream_protocol;

asio::awaitable<void> ask(std::shared_ptr<ValkeyLink> link, std::optional<LinkFault>& heard, base::Duration limit) {
  Commands commands;
  commands.add({"PING"});
  auto const answers = co_await link->ask(std::move(commands), limit);
  heard = answers.fault;
}

// A link and its peer on one loop, which turns by single steps: a local connection stands as soon as it is asked for, so the
// peer can leave before the link has seen it.
struct Linked {
  Linked() {
    rules.peer.unix_path = testing::TempDir() + "weir-link-" + std::to_string(::getpid());
    rules.most_reply = 1U << 20U;
    link = std::make_shared<ValkeyLink>(io, rules, nullptr, nullptr);
    link->set_hear([this](Reply const& reply) { ends += reply.is_null() ? 1 : 0; });
  }
  ~Linked() {
    link->close();
    run();
    ::unlink(rules.peer.unix_path.c_str());
  }
  std::shared_ptr<std::optional<LinkFault>> asks(base::Duration limit = 10s) {
    auto const heard = std::make_shared<std::optional<LinkFault>>();
    asio::co_spawn(io, ask(link, *heard, limit), [heard](std::exception_ptr failure) { EXPECT_FALSE(failure); });
    return heard;
  }
  Local::socket accepts() {
    Local::socket peer(io);
    boost::system::error_code error = asio::error::would_block;
    for (int step = 0; error && step < 100; ++step) {
      io.restart();
      io.poll_one();
      listener->accept(peer, error);
    }
    EXPECT_FALSE(error) << error.message();
    return peer;
  }
  void listen() {
    ::unlink(rules.peer.unix_path.c_str());
    listener.emplace(io, Local::endpoint(rules.peer.unix_path));
    listener->non_blocking(true);
  }
  void run() {
    io.restart();
    io.run();
  }
  // All that is due, by a clock that was turned.
  void poll() {
    asio::basic_waitable_timer<base::Clock> due(io, base::SteadyTime::min());
    due.async_wait([](boost::system::error_code) {});
    io.restart();
    while (io.poll() > 0) {}
  }

  asio::io_context io{1};
  LinkRules rules;
  std::optional<Local::acceptor> listener;
  std::shared_ptr<ValkeyLink> link;
  int ends = 0;  // of its connection, as it hears them
};

TEST(ValkeyLink, APeerThatIsGoneBeforeTheFirstWriteIsAnAnswer) {
  Linked linked;
  for (int round = 1; round <= 3; ++round) {
    linked.listen();
    auto const heard = linked.asks();
    linked.accepts().close();
    linked.run();
    EXPECT_EQ(*heard, LinkFault::broken);
    EXPECT_FALSE(linked.link->is_connected());
    EXPECT_EQ(linked.ends, round);
  }
  linked.listener.reset();
  auto const heard = linked.asks();
  linked.run();
  EXPECT_EQ(*heard, LinkFault::refused);
}

std::string greeting() {
  std::string text;
  for (std::size_t i = 0; i < scripts().size() + 1; ++i) text += "+OK\r\n";
  return text + "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n";
}

// The one before it, which had more time, is answered; this one never is.
TEST(ValkeyLink, AReplyThatIsOverdueBehindAnotherClosesTheConnection) {
  Linked linked;
  linked.listen();
  auto const first = linked.asks(), second = linked.asks(1s);
  auto peer = linked.accepts();
  while (peer.available() == 0) linked.io.poll_one();
  asio::write(peer, asio::buffer(greeting()));
  linked.poll();
  base::turn_clock(2500ms);
  linked.poll();
  EXPECT_EQ(*second, LinkFault::timeout);
  EXPECT_EQ(linked.ends, 0);
  asio::write(peer, asio::buffer("+PONG\r\n", 7));
  linked.poll();
  EXPECT_EQ(*first, LinkFault::none);
  EXPECT_EQ(linked.ends, 1);
}

// What comes after the write that found the connection gone belongs to nobody, and ends nothing twice.
TEST(ValkeyLink, APeerThatForgotTheScriptsAndLeftEndsOneConnection) {
  Linked linked;
  linked.listen();
  auto const first = linked.asks(), second = linked.asks();
  auto peer = linked.accepts();
  while (peer.available() == 0) linked.io.poll_one();
  std::string unread(peer.available(), '\0');
  asio::read(peer, asio::buffer(unread));
  asio::write(peer, asio::buffer(greeting() + "-NOSCRIPT No matching script.\r\n+PONG\r\n"));
  peer.close();
  linked.run();
  EXPECT_EQ(*first, LinkFault::none);
  EXPECT_EQ(*second, LinkFault::broken);
  EXPECT_EQ(linked.ends, 1);
}

}  // namespace
}  // namespace weir::store
