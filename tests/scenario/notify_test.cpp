// What the service manager hears (LCY-2): systemd's protocol on a socket of the test's own.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "scenario/weir.hpp"
#include "weir/daemon/notify.hpp"

namespace weir::test {
namespace {

class Notify : public testing::Test {
 protected:
  void SetUp() override {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    path_ = testing::TempDir() + "weir_notify_" + std::to_string(getpid());
    path_.copy(where.sun_path, sizeof where.sun_path - 1);
    ASSERT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
    unlink(path_.c_str());
  }
  // The next datagram; empty: there is none.
  std::string heard() const {
    std::string bytes(512, '\0');
    auto const size = recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    return bytes;
  }
  int socket_ = socket(AF_UNIX, SOCK_DGRAM, 0);
  std::string path_;
};

// LCY-2
TEST_F(Notify, AReloadIsToldFromItsBeginToItsEnd) {
  ScriptedOrigin origin;
  Weir weir(origin);
  EXPECT_TRUE(weir.reload("drain: {timeout: 5s}\n").empty());
  auto const begin = heard();
  EXPECT_TRUE(begin.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << begin;
  EXPECT_GT(std::stoull(begin.substr(begin.find("USEC=") + 5)), 0U);
  EXPECT_EQ(heard(), "READY=1\nSTATUS=serving");
  EXPECT_FALSE(weir.reload("nothing: 1\n").empty());
  EXPECT_TRUE(heard().starts_with("RELOADING=1\n"));
  EXPECT_EQ(heard(), "READY=1\nSTATUS=serving; the last reload was refused");
  EXPECT_EQ(heard(), "");
}

// LCY-2
TEST_F(Notify, StoppingAndLivingAreTold) {
  daemon::notify_stopping();
  EXPECT_EQ(heard(), "STOPPING=1\nSTATUS=draining");
  daemon::notify_alive();
  EXPECT_EQ(heard(), "WATCHDOG=1");
  EXPECT_FALSE(daemon::watchdog_interval());
  setenv("WATCHDOG_USEC", "2000000", 1);
  EXPECT_EQ(daemon::watchdog_interval(), std::chrono::seconds(2));
  setenv("WATCHDOG_PID", "1", 1);  // somebody else's
  EXPECT_FALSE(daemon::watchdog_interval());
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

}  // namespace
}  // namespace weir::test
