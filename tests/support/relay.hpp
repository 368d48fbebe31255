// A faulty wire between Weir and the store's server: it listens on a port of its own and passes commands on and replies
// back, whole ones, until the test says otherwise. One fault is in force at a time, for every connection, old and new; each
// call that sets one returns when it is in force, so no byte passes after it that should not. Threads: any may call; a
// fault's function runs on the relay's own.
//
//   ValkeyServer server;
//   Relay relay(server.address());
//   relay.hang();                               // from here on nobody is answered
//   relay.pass();                               // what was held back goes on, late
//   EXPECT_EQ(relay.commands("get"), 1U);
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/relay_connection.hpp"
#include "support/socket.hpp"

namespace weir::test {

class Relay {
 public:
  // `server`: 127.0.0.1:<port> or unix:<path>. It need not be there yet: clients are reset until it is.
  explicit Relay(std::string server);
  ~Relay();
  Relay(Relay const&) = delete;
  Relay& operator=(Relay const&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // No fault. Held-back commands and replies go on their way, late and in order; after `refuse` it listens again.
  void pass() { set({}); }

  // Commands are read and counted and wait here, nobody is answered. What a client had asked before it left reaches the
  // server all the same once this ends, as it does with a server that was stopped.
  void hang();
  // Connections are accepted, and nothing is read from them: the kernel's buffers fill.
  void hang_without_reading();
  // Each connection that is open loses its server and stays open in silence to its end, as do those that are accepted while
  // this lasts.
  void half_open();
  // Nobody listens, and what was open is reset.
  void refuse();
  // Every command gets these bytes in its turn and does not reach the server; with names in `only`, those commands alone.
  // With no bytes they are lost, and later replies come in their place.
  // `answer("-LOADING Redis is loading the dataset in memory\r\n")`
  void answer(std::string reply, std::set<std::string> only = {});

  // Commands reach the server in all that follows. Here each reply and message sets out so much later.
  void delay(Milliseconds time);
  // They come a byte at a time, each so long after the one before it.
  void drip(Milliseconds pause);
  // So many bytes of replies reach each connection, the rest when the gate opens.
  void hold_after(std::size_t bytes, Gate const& gate);
  // So many bytes of replies reach each connection; in place of the next one it ends, with FIN or with RST.
  void close_after(std::size_t bytes);
  void reset_after(std::size_t bytes);
  // Each reply and message becomes what `change` makes of it, framing and all; nothing at all if that is empty.
  void rewrite(std::function<std::string(std::string)> change);
  // Each becomes `bytes`: garbage, or a well-formed reply of the wrong kind.
  void garble(std::string bytes);
  // What subscribers would hear is lost, replies pass.
  void lose_messages();

  // Once, beside the fault in force: every open connection gets these bytes behind what waits for it, asked for by nobody.
  void inject(std::string bytes);
  // Once: every open connection is reset.
  void break_connections();

  std::size_t accepted() const;              // connections in all
  std::size_t open() const;                  // whose client has not left and which no fault has ended
  std::uint64_t bytes_from_clients() const;  // read, whether or not they went further
  std::uint64_t bytes_to_clients() const;    // sent, and taken by the kernel
  std::size_t commands() const;              // read whole, whether or not the server saw them
  std::size_t commands(std::string_view name) const;

 private:
  void set(Fault fault);
  // Has the relay's thread do it, and returns when it is done.
  void on_the_thread(std::function<void()> step);
  void run();
  bool take_steps();
  void listen(bool on);
  void accept_one();
  void poll_all();

  std::string const server_;
  Socket reservation_;  // keeps the port ours while nobody listens
  std::uint16_t port_ = 0;
  Socket wake_;
  std::shared_ptr<Tally> const tally_ = std::make_shared<Tally>();

  // The relay's thread alone touches these once it runs.
  Socket listener_;
  std::shared_ptr<Fault const> fault_ = std::make_shared<Fault>();
  std::vector<std::unique_ptr<RelayedConnection>> connections_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable done_;
  std::vector<std::function<void()>> steps_;
  std::uint64_t asked_ = 0;
  std::uint64_t taken_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

// Replies that are well-formed and can be no answer to a look-up: wrong kinds, wrong shapes, wrong depth.
std::vector<std::string> wrong_replies();

}  // namespace weir::test
