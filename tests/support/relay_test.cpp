// Each fault of the relay, seen through a raw socket with a real server behind it.
#include "support/relay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/resp.hpp"
#include "support/valkey.hpp"

namespace weir::test {
namespace {

using testing::Each;

constexpr Milliseconds a_moment{20};  // in which nothing comes that must not
constexpr Milliseconds never{3'600'000};

// A client of the store that reads exact bytes.
struct Raw {
  explicit Raw(std::uint16_t port) : socket(connect_to(port)) {}
  explicit Raw(Relay const& relay) : Raw(relay.port()) {}

  void send(std::vector<std::string> const& words) { EXPECT_TRUE(socket.send_all(write_command(words))); }
  // The next whole reply; what came, with a mark, when it ended before.
  std::string reply(Milliseconds bound = patience) {
    while (first_value(unread).is == ValueExtent::Is::partial) {
      Socket::Got const got = socket.receive(unread, 64 * 1024, bound);
      if (got != Socket::Got::bytes)
        return std::exchange(unread, "") + (got == Socket::Got::end     ? "[end]"
                                            : got == Socket::Got::reset ? "[reset]"
                                                                        : "[nothing]");
    }
    std::size_t const size = first_value(unread).is == ValueExtent::Is::whole ? first_value(unread).size : unread.size();
    std::string const value = unread.substr(0, size);
    unread.erase(0, size);
    return value;
  }
  std::string ask(std::vector<std::string> const& words) {
    send(words);
    return reply();
  }
  bool is_left_alone() { return reply(a_moment) == "[nothing]"; }

  Socket socket;
  std::string unread;
};

struct RelayTest : testing::Test {
  ValkeyServer server;
  Relay relay{server.address()};
};

TEST_F(RelayTest, PassesAndCounts) {
  Raw one(relay), other(relay);
  std::string const value(3 << 20, 'v');
  EXPECT_EQ(one.ask({"SET", "k", value}), "+OK\r\n");
  EXPECT_EQ(other.ask({"get", "k"}), "$3145728\r\n" + value + "\r\n");
  one.send({"GET", "a"});
  one.send({"GET", "b"});
  EXPECT_EQ(one.reply(), "$-1\r\n");
  EXPECT_EQ(one.reply(), "$-1\r\n");
  EXPECT_EQ(relay.accepted(), 2U);
  EXPECT_EQ(relay.open(), 2U);
  EXPECT_EQ(relay.commands(), 4U);
  EXPECT_EQ(relay.commands("GET"), 3U);
  EXPECT_EQ(relay.commands("mget"), 0U);
  EXPECT_EQ(relay.bytes_to_clients(), value.size() + std::string_view("+OK\r\n$3145728\r\n\r\n$-1\r\n$-1\r\n").size());
  EXPECT_GT(relay.bytes_from_clients(), value.size());
  one.socket.close();
  EXPECT_TRUE(eventually([&] { return relay.open() == 1; }));
  EXPECT_TRUE(eventually([&] { return server.info("connected_clients") == "2"; }));  // the one that asks, too
}

TEST_F(RelayTest, PassesWhatIsNoCommandAndAnEnd) {
  Raw raw(relay);
  EXPECT_TRUE(raw.socket.send_all("PING\r\n"));
  EXPECT_EQ(raw.reply(), "+PONG\r\n");
  server.kill();
  EXPECT_EQ(raw.reply(), "[end]");
  EXPECT_EQ(Raw(relay).reply(), "[reset]");
  server.start();
  EXPECT_EQ(Raw(relay).ask({"PING"}), "+PONG\r\n");
}

TEST_F(RelayTest, Delays) {
  Raw raw(relay);
  relay.delay(a_moment);
  Deadline const soonest(a_moment);
  EXPECT_EQ(raw.ask({"PING"}), "+PONG\r\n");
  EXPECT_TRUE(soonest.passed());
  relay.delay(never);
  EXPECT_EQ(raw.socket.send_all(write_command({"SET", "k", "v"})), true);
  EXPECT_TRUE(raw.is_left_alone());
  EXPECT_TRUE(eventually([&] { return server.cli({"GET", "k"}) == "v"; }));
  relay.pass();
  EXPECT_EQ(raw.reply(), "+OK\r\n");
}

TEST_F(RelayTest, HangsAndAnswersLate) {
  Raw old(relay);
  EXPECT_EQ(old.ask({"PING"}), "+PONG\r\n");
  relay.hang();
  Raw fresh(relay);
  old.send({"SET", "k", "v"});
  old.send({"GET", "k"});
  fresh.send({"PING"});
  EXPECT_TRUE(eventually([&] { return relay.commands() == 4; }));
  EXPECT_TRUE(old.is_left_alone());
  EXPECT_TRUE(fresh.is_left_alone());
  EXPECT_EQ(server.cli({"DBSIZE"}), "0");
  relay.pass();
  EXPECT_EQ(old.reply(), "+OK\r\n");
  EXPECT_EQ(old.reply(), "$1\r\nv\r\n");
  EXPECT_EQ(fresh.reply(), "+PONG\r\n");
}

TEST_F(RelayTest, PassesOnWhatOneAskedWhoLeftAHang) {
  relay.hang();
  Raw raw(relay);
  raw.send({"SET", "k", "late"});
  EXPECT_TRUE(eventually([&] { return relay.commands("set") == 1; }));
  raw.socket.close();
  EXPECT_TRUE(eventually([&] { return relay.open() == 0; }));
  EXPECT_EQ(server.cli({"DBSIZE"}), "0");
  relay.pass();
  EXPECT_TRUE(eventually([&] { return server.cli({"GET", "k"}) == "late"; }));
}

TEST_F(RelayTest, HangsWithoutReading) {
  relay.hang_without_reading();
  Raw raw(relay), other(relay);
  EXPECT_TRUE(eventually([&] { return relay.open() == 2; }));
  std::string const command = write_command({"SET", "k", std::string(64 << 20, 'x')});
  std::size_t taken = 0;
  while (std::size_t const sent = raw.socket.send_some(std::string_view(command).substr(taken)).value_or(0)) taken += sent;
  EXPECT_GT(taken, 0U);
  EXPECT_LT(taken, command.size());
  EXPECT_EQ(relay.bytes_from_clients(), 0U);
  other.send({"PING"});
  other.socket.close();
  EXPECT_TRUE(eventually([&] { return relay.open() == 1; }));
  EXPECT_EQ(relay.commands(), 0U);
  relay.pass();
  EXPECT_TRUE(raw.socket.send_all(std::string_view(command).substr(taken)));
  EXPECT_EQ(raw.reply(), "+OK\r\n");
  EXPECT_TRUE(eventually([&] { return relay.commands("ping") == 1; }));
}

TEST_F(RelayTest, CutsInTheMiddleOfAReply) {
  server.cli({"SET", "k", "0123456789"});
  Raw old(relay);
  EXPECT_EQ(old.ask({"GET", "k"}), "$10\r\n0123456789\r\n");
  relay.close_after(9);
  EXPECT_EQ(old.ask({"GET", "k"}), "$10\r\n0123[end]");
  Raw eager(relay);
  for (int i = 0; i < 100; ++i) eager.send({"GET", "k"});
  EXPECT_EQ(eager.reply(), "$10\r\n0123[end]");
  relay.reset_after(17 + 6);
  Raw raw(relay);
  EXPECT_EQ(raw.ask({"GET", "k"}), "$10\r\n0123456789\r\n");
  EXPECT_EQ(raw.ask({"GET", "k"}), "$10\r\n0[reset]");
  relay.reset_after(0);
  EXPECT_EQ(Raw(relay).ask({"GET", "k"}), "[reset]");
  EXPECT_TRUE(eventually([&] { return relay.open() == 0; }));
  relay.pass();
  EXPECT_EQ(Raw(relay).ask({"GET", "k"}), "$10\r\n0123456789\r\n");
}

TEST_F(RelayTest, HoldsTheRestOfAReplyAtAGate) {
  server.cli({"SET", "k", "0123456789"});
  Gate gate;
  relay.hold_after(7, gate);
  Raw raw(relay);
  raw.send({"GET", "k"});
  raw.send({"PING"});
  EXPECT_EQ(raw.reply(a_moment), "$10\r\n01[nothing]");
  EXPECT_EQ(relay.bytes_to_clients(), 7U);
  gate.open();
  raw.unread = "$10\r\n01";
  EXPECT_EQ(raw.reply(), "$10\r\n0123456789\r\n");
  EXPECT_EQ(raw.reply(), "+PONG\r\n");
}

TEST_F(RelayTest, Drips) {
  Raw raw(relay);
  relay.drip(never);
  raw.send({"PING"});
  EXPECT_EQ(raw.reply(a_moment), "+[nothing]");
  Deadline const soonest(Milliseconds(5));  // six bytes, five pauses
  relay.drip(Milliseconds(1));
  raw.unread = "+";
  EXPECT_EQ(raw.reply(), "+PONG\r\n");
  EXPECT_TRUE(soonest.passed());
  relay.drip(Milliseconds(0));
  EXPECT_EQ(raw.ask({"ECHO", std::string(1'000, 'e')}), "$1000\r\n" + std::string(1'000, 'e') + "\r\n");
}

TEST_F(RelayTest, GarblesAndRewritesReplies) {
  Raw raw(relay);
  relay.garble("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_EQ(raw.ask({"GET", "k"}), "HTTP/1.1 400 Bad Request\r\n\r\n");
  for (std::string const& wrong : wrong_replies()) {
    EXPECT_EQ(first_value(wrong).is, ValueExtent::Is::whole) << wrong;
    relay.garble(wrong);
    EXPECT_EQ(raw.ask({"GET", "k"}), wrong);
  }
  relay.rewrite([](std::string const& reply) { return reply == "+PONG\r\n" ? reply + reply : std::string(); });
  raw.send({"GET", "lost"});
  EXPECT_EQ(raw.ask({"PING"}), "+PONG\r\n");
  EXPECT_EQ(raw.reply(), "+PONG\r\n");
  relay.pass();
  EXPECT_EQ(raw.ask({"GET", "k"}), "$-1\r\n");
  relay.inject("+stray\r\n");
  EXPECT_EQ(raw.reply(), "+stray\r\n");
}

TEST_F(RelayTest, LeavesConnectionsHalfOpen) {
  Raw old(relay);
  EXPECT_EQ(old.ask({"PING"}), "+PONG\r\n");
  relay.half_open();
  Raw fresh(relay);
  old.send({"SET", "k", "v"});
  fresh.send({"SET", "k", "v"});
  EXPECT_TRUE(eventually([&] { return relay.commands("set") == 2; }));
  EXPECT_TRUE(eventually([&] { return server.info("connected_clients") == "1"; }));
  relay.pass();
  EXPECT_EQ(Raw(relay).ask({"PING"}), "+PONG\r\n");
  EXPECT_TRUE(old.is_left_alone());
  EXPECT_TRUE(fresh.is_left_alone());
  EXPECT_EQ(server.cli({"DBSIZE"}), "0");
  old.socket.close();
  fresh.socket.close();
  EXPECT_TRUE(eventually([&] { return relay.open() == 0; }));
}

TEST_F(RelayTest, RefusesAndListensAgainOnTheSamePort) {
  for (int round = 0; round < 3; ++round) {
    Raw old(relay);
    EXPECT_EQ(old.ask({"PING"}), "+PONG\r\n");
    relay.refuse();
    EXPECT_FALSE(connect_to(relay.port()));
    EXPECT_EQ(old.reply(), "[reset]");
    EXPECT_EQ(relay.open(), 0U);
    relay.pass();
    EXPECT_EQ(Raw(relay).ask({"PING"}), "+PONG\r\n");
  }
}

TEST_F(RelayTest, BreaksConnectionsOnce) {
  Raw old(relay);
  EXPECT_EQ(old.ask({"PING"}), "+PONG\r\n");
  relay.break_connections();
  EXPECT_EQ(old.reply(), "[reset]");
  EXPECT_EQ(Raw(relay).ask({"PING"}), "+PONG\r\n");
}

TEST_F(RelayTest, AnswersInTheServersPlace) {
  std::string const loading = "-LOADING Redis is loading the dataset in memory\r\n";
  Raw raw(relay);
  relay.answer(loading);
  EXPECT_EQ(raw.ask({"SET", "k", "v"}), loading);
  EXPECT_EQ(Raw(relay).ask({"PING"}), loading);
  EXPECT_EQ(server.cli({"DBSIZE"}), "0");
  relay.answer("-OOM command not allowed\r\n", {"SET", "evalsha"});
  EXPECT_EQ(raw.ask({"set", "k", "v"}), "-OOM command not allowed\r\n");
  EXPECT_EQ(raw.ask({"GET", "k"}), "$-1\r\n");
  relay.answer("", {"get"});
  raw.send({"GET", "k"});
  EXPECT_EQ(raw.ask({"PING"}), "+PONG\r\n");
}

// An answer of the relay's own overtakes no reply that the server owes.
TEST_F(RelayTest, AnswersInTurn) {
  Raw raw(relay);
  EXPECT_EQ(raw.ask({"SET", "k", "v"}), "+OK\r\n");
  server.pause();
  raw.send({"GET", "k"});
  EXPECT_TRUE(eventually([&] { return relay.commands("get") == 1; }));
  relay.answer("-READONLY You can't write against a read only replica.\r\n", {"SET"});
  raw.send({"SET", "k", "w"});
  raw.send({"PING"});
  EXPECT_TRUE(raw.is_left_alone());
  server.resume();
  EXPECT_EQ(raw.reply(), "$1\r\nv\r\n");
  EXPECT_EQ(raw.reply(), "-READONLY You can't write against a read only replica.\r\n");
  EXPECT_EQ(raw.reply(), "+PONG\r\n");
}

TEST_F(RelayTest, LosesMessagesAndNothingElse) {
  for (std::string const protocol : {"2", "3"}) {
    Raw subscriber(relay);
    std::string const array = protocol == "2" ? "*3" : ">3";
    subscriber.send({"HELLO", protocol});
    subscriber.reply();
    subscriber.send({"SUBSCRIBE", "news", "more"});
    EXPECT_EQ(subscriber.reply(), array + "\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
    EXPECT_EQ(subscriber.reply(), array + "\r\n$9\r\nsubscribe\r\n$4\r\nmore\r\n:2\r\n");
    EXPECT_EQ(server.cli({"PUBLISH", "news", "one"}), "1");
    EXPECT_EQ(subscriber.reply(), array + "\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\none\r\n");
    relay.lose_messages();
    EXPECT_EQ(server.cli({"PUBLISH", "news", "two"}), "1");
    std::string const pong = protocol == "2" ? "*2\r\n$4\r\npong\r\n$0\r\n\r\n" : "+PONG\r\n";
    EXPECT_EQ(subscriber.ask({"PING"}), pong);
    EXPECT_EQ(Raw(relay).ask({"ECHO", "message"}), "$7\r\nmessage\r\n");
    relay.pass();
    EXPECT_EQ(server.cli({"PUBLISH", "news", "three"}), "1");
    EXPECT_EQ(subscriber.reply(), array + "\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nthree\r\n");
  }
}

// An array of a look-up whose first element reads like a message is a reply all the same.
TEST_F(RelayTest, KnowsAReplyThatLooksLikeAMessage) {
  server.cli({"SET", "k", "message"});
  relay.lose_messages();
  Raw raw(relay);
  EXPECT_EQ(raw.ask({"MGET", "k", "none", "none"}), "*3\r\n$7\r\nmessage\r\n$-1\r\n$-1\r\n");
}

TEST(Relay, WorksBeforeAUnixSocketAndForManyAtOnce) {
  ValkeyServer server({}, ValkeyServer::On::unix_socket);
  Relay relay(server.address());
  std::vector<Raw> clients;
  for (int i = 0; i < 100; ++i) clients.emplace_back(relay);
  for (Raw& client : clients)
    for (int i = 0; i < 20; ++i) client.send({"PING"});
  std::vector<std::string> replies;
  for (Raw& client : clients)
    for (int i = 0; i < 20; ++i) replies.push_back(client.reply());
  EXPECT_THAT(replies, Each("+PONG\r\n"));
  EXPECT_EQ(relay.commands("ping"), 2'000U);
  clients.clear();
  EXPECT_TRUE(eventually([&] { return relay.open() == 0; }));
}

}  // namespace
}  // namespace weir::test
