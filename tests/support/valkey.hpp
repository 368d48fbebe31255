// A real store server for tests: `valkey-server` where there is one, else `redis-server`, empty at each start, on a port or
// socket and in a folder of its own. It ends with this value, or with the thread that started it, whatever happens to that
// thread. Threads: one, but `cli` and what asks through it may be used by any while the server is neither started nor ended.
//
//   ValkeyServer server;                                 ValkeyServer full({"--maxmemory", "2mb"});
//   server.cli({"CONFIG", "SET", "maxmemory", "2mb"});   server.cli({"REPLICAOF", "127.0.0.1", "1"});   // read-only
//   server.pause();  server.resume();                    server.kill();  server.start();               // gone, back empty
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/socket.hpp"

namespace weir::test {

class ValkeyServer {
 public:
  enum class On { port, unix_socket };

  // Starts at once, with these arguments behind its own. Fails the test if it does not come up.
  explicit ValkeyServer(std::vector<std::string> arguments = {}, On on = On::port);
  ~ValkeyServer();
  ValkeyServer(ValkeyServer const&) = delete;
  ValkeyServer& operator=(ValkeyServer const&) = delete;

  std::uint16_t port() const noexcept { return port_; }  // 0 on a unix socket
  std::string address() const;                           // 127.0.0.1:<port> or unix:<path>
  pid_t pid() const noexcept { return pid_; }            // 0 while it does not run
  Socket connect() const;                                // an empty socket when it does not listen

  void start();   // the same address, nothing stored; returns when it answers
  void stop();    // SIGTERM, and waits for its end
  void kill();    // SIGKILL, and waits for its end
  void pause();   // SIGSTOP: connects still succeed, nothing is read or answered from here on
  void resume();  // SIGCONT

  // A command on a connection of its own, and the reply as `reply_text` writes it (errors begin with `-`). No whole reply
  // within `bound` fails the test.
  std::string cli(std::vector<std::string> const& words, Milliseconds bound = patience) const;
  // A field of INFO, such as `used_memory`; empty if there is none.
  std::string info(std::string_view field) const;
  // How often a command ran since the start, or since `forget_calls`; of a subcommand `config|set`.
  std::size_t calls(std::string_view command) const;
  void forget_calls() const { cli({"CONFIG", "RESETSTAT"}); }

 private:
  std::vector<std::string> command_line() const;
  bool answers() const;
  void end(int signal);
  std::string log() const;

  std::vector<std::string> arguments_;
  std::filesystem::path folder_;
  std::filesystem::path socket_;  // empty: on a port
  Socket reservation_;            // keeps the port ours while the server is down
  std::uint16_t port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace weir::test
