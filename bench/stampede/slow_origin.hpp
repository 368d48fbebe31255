// An origin that thinks for 200 ms before each answer, does what a row says, and counts. It runs in a thread of its own; any
// thread may script it and ask for its counts.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "demo/plain_http.hpp"

namespace weir::stampede {

using Milliseconds = std::chrono::milliseconds;

struct OriginAnswer {
  int status = 200;
  std::string cache_control = "max-age=60";
  std::string body = std::string(1024, 'x');
  Milliseconds thinking{200};
  bool hangs = false;    // no answer at all; the connection stays open
  bool breaks = false;   // half of the body, then a reset
  Milliseconds drip{0};  // the body in ten parts over this time
};

class SlowOrigin {
 public:
  // `call` counts from 1 since the last `script`.
  using Script = std::function<OriginAnswer(unsigned call)>;

  explicit SlowOrigin(demo::Tcp::endpoint where);
  ~SlowOrigin();

  void script(Script script);  // counts begin anew
  unsigned calls() const;
  unsigned most_at_once() const;

 private:
  boost::asio::awaitable<void> accept_all();
  boost::asio::awaitable<void> serve(demo::Tcp::socket socket);
  boost::asio::awaitable<bool> play(demo::Tcp::socket& socket, OriginAnswer answer, bool head_only);
  OriginAnswer begin_call();
  void end_call();

  boost::asio::io_context context_{1};
  demo::Tcp::acceptor acceptor_;
  mutable std::mutex mutex_;  // guards what follows
  Script script_;
  unsigned calls_ = 0;
  unsigned at_once_ = 0;
  unsigned most_at_once_ = 0;
  std::thread thread_;
};

}  // namespace weir::stampede
