// One pipelined connection to the Valkey server (VAL-1). Replies come in the order of the questions; a question that timed
// out is abandoned, its reply read and dropped in its turn; when such a reply is `overdue` late the connection is closed.
// Connects when it is asked something. Every outcome is told to the guard. Owner: the store, with the coroutines that run it
// until `close`. Threads: its worker's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>

#include "reply.hpp"
#include "weir/store/guard.hpp"
#include "weir/store/server_clock.hpp"
#include "weir/wire/dialer.hpp"

namespace weir::store {

namespace asio = boost::asio;

// What links of one process share.
struct LinkRules {
  wire::Peer peer;
  std::string username, password;  // empty: no AUTH
  std::uint32_t database = 0;
  base::Duration connect_timeout = std::chrono::seconds(1);
  std::size_t most_reply = 0;  // bytes of one reply
};

// Why a question has no answers.
enum class LinkFault : std::uint8_t { none, guarded, timeout, broken, refused, overloaded };
std::string_view describe(LinkFault fault) noexcept;

struct Answers {
  LinkFault fault = LinkFault::broken;
  std::vector<Reply> replies;  // all of them, or none
  explicit operator bool() const noexcept { return fault == LinkFault::none; }
};

class ValkeyLink : public std::enable_shared_from_this<ValkeyLink> {
 public:
  static constexpr base::Duration overdue = std::chrono::seconds(1);
  static constexpr std::size_t most_waiting = 16'384;                        // questions
  static constexpr std::size_t most_unsent = std::size_t{64} * 1024 * 1024;  // bytes
  static constexpr std::size_t large = std::size_t{64} * 1024;

  // `clock`: told what the server says when the link connects; null: nobody is. `guard`: null for a link that is asked
  // whatever the store's state is.
  ValkeyLink(asio::io_context& io, LinkRules const& rules, ServerClock* clock, Guard* guard);
  ~ValkeyLink();

  // The answers, or why there are none; at most `limit` later. An error among the replies counts as a failure of the server,
  // and the answers have it.
  asio::awaitable<Answers> ask(Commands commands, base::Duration limit);
  // What comes unasked (pub/sub) goes to `hear`, and the end of the connection as a null reply; set before the first
  // question.
  void set_hear(std::function<void(Reply const&)> hear) { hear_ = std::move(hear); }
  // What the server said when it did not let us in, last time; empty: it did.
  std::string_view turned_away() const noexcept { return turned_away_.error(); }
  bool is_connected() const noexcept { return state_ == State::connected; }
  void close() noexcept;

 private:
  enum class State : std::uint8_t { idle, connecting, connected };
  struct Question;
  struct Asking;
  struct End;
  using Waiting = std::shared_ptr<Question>;

  Waiting enqueue(Commands commands, base::SteadyTime due);
  void start() noexcept;
  asio::awaitable<void> run(std::uint64_t life);
  asio::awaitable<bool> open(std::uint64_t life);
  asio::awaitable<void> write(std::uint64_t life);
  bool take(Reply reply);
  bool finish(Question& question) noexcept;
  bool load_scripts() noexcept;
  void fail(LinkFault fault) noexcept;
  void watch_overdue();

  asio::io_context& io_;
  LinkRules const& rules_;
  ServerClock* clock_;
  Guard* guard_;
  wire::Dialer dialer_;
  State state_ = State::idle;
  std::shared_ptr<wire::Stream> stream_;
  std::deque<Waiting> waiting_;  // in the order of their replies
  std::string unsent_;
  bool writing_ = false, closed_ = false, watching_ = false, loading_ = false;
  std::uint64_t life_ = 0;  // counts connections
  asio::basic_waitable_timer<base::Clock> overdue_timer_;
  std::function<void(Reply const&)> hear_;
  Reply turned_away_;
};

}  // namespace weir::store
