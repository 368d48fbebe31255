// The store server that tests start: it comes and goes as told, and never outlives the test.
#include "support/valkey.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "support/resp.hpp"

namespace weir::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ValkeyServer, AnswersAndCounts) {
  ValkeyServer server;
  EXPECT_EQ(server.address(), "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_EQ(server.cli({"SET", "k", "a\r\nb"}), "OK");
  EXPECT_EQ(server.cli({"GET", "k"}), "a\r\nb");
  EXPECT_EQ(server.cli({"GET", "other"}), "(nil)");
  EXPECT_EQ(server.cli({"DBSIZE"}), "1");
  EXPECT_EQ(server.calls("get"), 2U);
  EXPECT_EQ(server.calls("mget"), 0U);
  server.forget_calls();
  EXPECT_EQ(server.calls("get"), 0U);
  EXPECT_EQ(server.calls("config|resetstat"), 1U);
  EXPECT_EQ(server.info("redis_mode"), "standalone");
  EXPECT_EQ(server.info("aof_enabled"), "0");
  EXPECT_EQ(server.info("no such field"), "");
}

TEST(ValkeyServer, ComesBackEmptyOnTheSamePort) {
  ValkeyServer server;
  for (auto const end : {&ValkeyServer::stop, &ValkeyServer::kill}) {
    std::uint16_t const port = server.port();
    server.cli({"SET", "k", "v"});
    Socket const before = server.connect();
    (server.*end)();
    EXPECT_EQ(server.pid(), 0);
    EXPECT_TRUE(eventually([&] { return before.peer_is_gone(); }));
    EXPECT_FALSE(server.connect());
    server.start();
    EXPECT_EQ(server.port(), port);
    EXPECT_EQ(server.cli({"DBSIZE"}), "0");
  }
}

TEST(ValkeyServer, SaysNothingWhilePaused) {
  ValkeyServer server;
  Socket socket = server.connect();
  server.pause();
  EXPECT_TRUE(server.connect());
  EXPECT_TRUE(socket.send_all(write_command({"PING"})));
  std::string reply;
  EXPECT_EQ(socket.receive(reply, 64, Milliseconds(20)), Socket::Got::nothing);
  EXPECT_NONFATAL_FAILURE(server.cli({"GET", "k"}, Milliseconds(20)), "no reply of the server to GET");
  server.resume();
  EXPECT_EQ(socket.receive(reply, 64), Socket::Got::bytes);
  EXPECT_EQ(reply, "+PONG\r\n");
  server.pause();
  server.stop();  // ends a paused one too
}

TEST(ValkeyServer, TakesArgumentsAndSettings) {
  ValkeyServer server({"--requirepass", "secret", "--maxmemory", "3mb", "--maxmemory-policy", "noeviction"});
  EXPECT_EQ(server.cli({"CONFIG", "GET", "maxmemory"}), "maxmemory\n3145728");
  std::string const large(512 * 1024, 'x');
  for (int i = 0; i < 8; ++i) server.cli({"SET", "k" + std::to_string(i), large});
  EXPECT_THAT(server.cli({"SET", "one more", large}), StartsWith("-OOM"));
  EXPECT_EQ(server.cli({"FLUSHALL"}), "OK");
  EXPECT_EQ(server.cli({"REPLICAOF", "127.0.0.1", "1"}), "OK");
  EXPECT_THAT(server.cli({"SET", "k", "v"}), StartsWith("-READONLY"));
  EXPECT_EQ(server.cli({"GET", "k"}), "(nil)");
}

TEST(ValkeyServer, ListensOnAUnixSocket) {
  ValkeyServer server({}, ValkeyServer::On::unix_socket);
  EXPECT_EQ(server.port(), 0);
  EXPECT_THAT(server.address(), StartsWith("unix:/"));
  EXPECT_EQ(server.cli({"PING"}), "PONG");
  server.kill();
  EXPECT_FALSE(server.connect());
  server.start();
  EXPECT_EQ(server.cli({"PING"}), "PONG");
}

TEST(ValkeyServer, HoldsNoConnectionOfTheTestOpen) {
  Socket listener = listen_on();
  ::fcntl(listener.fd(), F_SETFD, 0);  // as libraries leave theirs
  ValkeyServer server;
  std::uint16_t const port = local_port(listener);
  listener.close();
  EXPECT_FALSE(connect_to(port));
}

TEST(ValkeyServer, SaysWhyItIsNotThere) {
  EXPECT_NONFATAL_FAILURE(ValkeyServer({"--no-such-setting", "1"}), "Bad directive");
  std::string const path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere:", 1);
  EXPECT_NONFATAL_FAILURE(ValkeyServer(), "neither valkey-server nor redis-server is on PATH");
  ::setenv("PATH", path.c_str(), 1);
}

// A test that is killed leaves no server behind.
TEST(ValkeyServer, DiesWithTheTest) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that the orphan's end is told to us
  std::string folder = (std::filesystem::temp_directory_path() / "weir-orphan-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  pid_t const test = ::fork();
  ASSERT_GE(test, 0);
  if (test == 0) {
    ::setenv("TMPDIR", folder.c_str(), 1);  // what it leaves behind
    ValkeyServer const server;
    pid_t const pid = server.pid();
    bool const told = ::write(pipe[1], &pid, sizeof pid) == sizeof pid;
    ::kill(::getpid(), told ? SIGKILL : SIGTERM);
  }
  pid_t server = 0;
  ASSERT_EQ(::read(pipe[0], &server, sizeof server), static_cast<ssize_t>(sizeof server));
  ASSERT_GT(server, 0);
  int status = 0;
  EXPECT_EQ(::waitpid(test, &status, 0), test);
  EXPECT_TRUE(eventually([&] { return ::waitpid(server, &status, WNOHANG) == server; }));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weir::test
