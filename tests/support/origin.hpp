// An origin that does what the test says and keeps account of what it saw. Each connection has a thread of its own, so a
// script may wait at a gate as long as it likes. Threads: any may ask and script.
//
//   ScriptedOrigin origin;
//   origin.answer("/a", respond(200, {{"Cache-Control", "max-age=60"}}, "hello"));
//   origin.answer("/b", {respond(503), respond(200)});                              // in turn, the last one stays
//   origin.answer("/c", [](Request const& request) { return respond(200, {}, request.value("Cookie")); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/message.hpp"
#include "support/script.hpp"
#include "support/socket.hpp"

namespace weir::test {

class ScriptedOrigin {
 public:
  using Handler = std::function<Script(Request const&)>;

  // Listens at once, on a free port of `address`.
  explicit ScriptedOrigin(std::string address = "127.0.0.1");
  ~ScriptedOrigin();
  ScriptedOrigin(ScriptedOrigin const&) = delete;
  ScriptedOrigin& operator=(ScriptedOrigin const&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  std::string url() const;

  // By exact target; the newest word on a target counts. A target without one gets what `answer_rest` said, else 404.
  void answer(std::string const& target, Script script);
  void answer(std::string const& target, std::initializer_list<Script> in_turn);
  void answer(std::string const& target, Handler handler);
  void answer_rest(Handler handler);
  // When on, an answer is given as soon as the head is there: the body is left unread and the connection closes after it.
  void answer_before_body(bool on);

  // What came, in order, refused and unfinished requests left out.
  std::vector<Request> requests() const;
  std::vector<Request> requests(std::string_view target) const;
  Request last_request() const;  // fails the test if there was none
  std::size_t calls() const;
  std::size_t calls(std::string_view target) const;
  // Until so many came and their handlers have said what they get.
  [[nodiscard]] bool waits_for_calls(std::size_t count, Milliseconds bound = Milliseconds{20'000}) const;

  std::size_t connections() const;            // accepted in all
  std::size_t at_once() const;                // requests being answered now
  std::size_t most_at_once() const;           // and the most there ever were
  std::size_t departures() const;             // times the other side left while a script was waiting, hanging or sending
  std::vector<std::string> problems() const;  // malformed requests, one sentence each

  // A dead origin: nobody listens, every connection has ended. `start` listens on the same port again.
  void stop();
  void start();

 private:
  struct Connection {
    Socket socket;
    std::thread thread;
    bool over = false;
  };
  enum class After { keep, close, reset };

  void accept_all();
  void join_those_that_are_over();
  static void drain(Connection& connection);
  void serve(Connection& connection, int number);
  bool read_request(Connection& connection, std::string& buffer, RequestReader& reader);
  Script script_for(Request const& request);
  After play(Connection& connection, Script const& script, bool is_head);
  After hang_on(Connection& connection);
  After departed();
  bool must_leave(Connection& connection) const;

  std::string address_;
  std::uint16_t port_ = 0;
  Socket listener_;
  std::thread acceptor_;

  mutable std::mutex mutex_;  // guards everything below; never held while a script plays
  std::map<std::string, Handler, std::less<>> handlers_;
  Handler rest_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Request> requests_;
  std::vector<std::string> problems_;
  std::size_t accepted_ = 0;
  std::size_t chosen_ = 0;
  std::size_t at_once_ = 0;
  std::size_t most_at_once_ = 0;
  std::size_t departures_ = 0;
  bool before_body_ = false;
  bool stopping_ = false;
};

}  // namespace weir::test
