// One connection through a relay: a client's socket, the server's, and what waits between them under the fault in force.
// Threads: the relay's own.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "support/gate.hpp"
#include "support/socket.hpp"

namespace weir::test {

// What a relay does to everything that passes through it; nothing, unless said.
struct Fault {
  enum class Commands { pass, hold, leave_unread, answer };
  enum class Beyond { wait, close, reset };
  Commands commands = Commands::pass;
  std::string answer{};                               // `answer`: what commands get; empty: they are lost
  std::set<std::string> only{};                       // and which, in small letters; empty: all
  bool loses_server = false;                          // connections keep their client and nothing else
  bool refuses = false;                               // nobody listens
  std::function<std::string(std::string)> rewrite{};  // of each reply; an empty result is dropped
  bool loses_messages = false;
  Milliseconds delay{0};               // of each reply
  std::optional<Milliseconds> drip{};  // between two bytes
  std::optional<std::size_t> limit{};  // bytes of replies for each connection
  Beyond beyond = Beyond::wait;        // what becomes of the next one
  Gate gate{};                         // `wait`: until it opens
};

// What a relay saw. Threads: any.
class Tally {
 public:
  void accepted();
  void left();
  void read(std::size_t bytes);
  // Sends and counts as one, so that who has seen a byte finds it counted. As `Socket::send_some`.
  std::optional<std::size_t> send(Socket& socket, std::string_view bytes);
  void command(std::string const& name);

  struct Counts {
    std::size_t accepted = 0, open = 0, commands = 0;
    std::uint64_t bytes_from_clients = 0, bytes_to_clients = 0;
    std::map<std::string, std::size_t, std::less<>> by_name;
  };
  Counts counts() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;
};

class RelayedConnection {
 public:
  RelayedConnection(Socket client, std::string const& server, std::shared_ptr<Fault const> fault,
                    std::shared_ptr<Tally> tally);
  ~RelayedConnection();
  RelayedConnection(RelayedConnection const&) = delete;
  RelayedConnection& operator=(RelayedConnection const&) = delete;

  // Another fault from now on. What the one before it held back is due.
  void obey(std::shared_ptr<Fault const> fault);
  void inject(std::string bytes);
  void reset();

  // What it waits for: a descriptor of -1 is one that poll passes over, a timeout of -1 is none.
  pollfd client_events() const;
  pollfd server_events() const;
  int poll_timeout() const;
  // Does whatever can be done without waiting.
  void advance(bool client_is_ready, bool server_is_ready);
  bool is_over() const noexcept { return over_; }

 private:
  struct Command {
    std::string name;  // in small letters
    std::string bytes;
    std::size_t replies = 1;
  };
  struct Piece {
    Deadline due;
    std::string bytes;
    std::size_t sent = 0;
  };

  bool is_silent() const { return cut_off_ || fault_->commands == Fault::Commands::hold || leaves_unread(); }
  bool leaves_unread() const { return fault_->commands == Fault::Commands::leave_unread; }
  bool reads_client() const;
  bool reads_server() const;
  bool at_limit() const { return fault_->limit && passed_ >= *fault_->limit; }

  void reach_server();
  void receive_commands();
  void note_departure();
  void take_commands();
  void pass_commands();
  bool is_answered_here(Command const& command) const;
  void send_to_server();
  void receive_replies();
  void take_reply(std::string value);
  void take_answers();
  bool is_message(std::string const& value) const;
  void emit(std::string bytes);
  void send_to_client();
  void finish_if_done();
  void end(bool by_reset);
  void client_left();

  Socket client_, server_;
  std::string const server_address_;
  std::shared_ptr<Fault const> fault_;
  std::shared_ptr<Tally> const tally_;

  std::string from_client_;       // less than a command
  std::deque<Command> commands_;  // read, not passed on
  std::string to_server_;
  std::deque<std::string> awaited_;  // replies that are owed, in order: the server's (empty), or an answer of the relay's
  std::string from_server_;          // less than a reply
  std::deque<Piece> to_client_;
  std::size_t held_ = 0;    // bytes in `commands_`
  std::size_t queued_ = 0;  // bytes in `to_client_`
  std::size_t passed_ = 0;  // bytes of replies under this fault
  Deadline next_byte_;      // of those that drip

  bool subscribed_ = false;
  bool cut_off_ = false;       // has no server any more; what comes from the client is counted and dropped
  bool blocked_ = false;       // the client's window is full
  bool client_open_ = true;    // as the tally has it
  bool client_ended_ = false;  // nothing more comes from it
  bool server_ended_ = false;
  bool server_broke_ = false;  // ... with RST, or nobody was there
  bool told_server_ = false;   // that nothing more comes
  bool over_ = false;
};

}  // namespace weir::test
