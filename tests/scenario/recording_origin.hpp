// An origin that keeps every byte it gets and answers what a strict reader, which shares no code with Weir, makes of them:
// each answer says which request it is for. What the reader refuses ends the connection and is a problem. Threads: any may
// ask.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include "support/message.hpp"
#include "support/socket.hpp"

namespace weir::test {

class RecordingOrigin {
 public:
  explicit RecordingOrigin(std::string fields = "Cache-Control: max-age=60\r\n")
      : fields_(std::move(fields)), listener_(listen_on()), thread_([this] { serve_all(); }) {}
  ~RecordingOrigin() {
    stopping_ = true;
    Socket const wake = connect_to(local_port(listener_));
    thread_.join();
  }
  RecordingOrigin(RecordingOrigin const&) = delete;
  RecordingOrigin& operator=(RecordingOrigin const&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(local_port(listener_)); }
  // Whole requests, in order, from the one with that number on.
  std::vector<Request> requests(std::size_t from = 0) const {
    std::lock_guard const lock(mutex_);
    return {requests_.begin() + static_cast<std::ptrdiff_t>(std::min(from, requests_.size())), requests_.end()};
  }
  std::vector<std::string> problems() const { return locked(problems_); }      // what the reader could not read
  std::vector<std::string> unfinished() const { return locked(unfinished_); }  // what connections ended in the middle of
  std::size_t calls() const {
    std::lock_guard const lock(mutex_);
    return requests_.size();
  }
  std::size_t bytes() const { return locked(bytes_); }

 private:
  struct Line {
    Socket socket;
    std::string message, buffer;  // bytes since the last whole request; those not read yet
    RequestReader reader;
    bool has_head = false;
  };

  template <class Value>
  Value locked(Value const& value) const {
    std::lock_guard const lock(mutex_);
    return value;
  }

  void serve_all() {
    std::vector<std::unique_ptr<Line>> lines;
    while (!stopping_) {
      std::vector<pollfd> polled{{listener_.fd(), POLLIN, 0}};
      for (auto const& line : lines) polled.push_back({line->socket.fd(), POLLIN, 0});
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      for (std::size_t i = lines.size(); i-- > 0;)
        if (polled[i + 1].revents != 0 && !serve(*lines[i])) lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
      if (polled[0].revents == 0) continue;
      lines.push_back(std::make_unique<Line>());
      lines.back()->socket = Socket(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }

  // False: the connection is over.
  bool serve(Line& line) {
    auto const had = line.buffer.size();
    bool const more = line.socket.receive(line.buffer, 65'536) == Socket::Got::bytes;
    std::lock_guard const lock(mutex_);
    bytes_ += line.buffer.size() - had;
    line.message += line.buffer.substr(had);
    if (!more) {
      if (!line.message.empty()) unfinished_.push_back(line.message);
      return false;
    }
    for (;;) {
      auto& request = line.reader.request();
      if (!line.has_head) {
        if (!line.reader.take_head(line.buffer)) return true;
        line.has_head = true;
        if (line.reader.problem().empty() && request.has("Expect")) line.socket.send_all("HTTP/1.1 100 Continue\r\n\r\n");
      }
      if (line.reader.problem().empty() && !line.reader.take_body(line.buffer)) return true;
      if (!line.reader.problem().empty()) {
        problems_.push_back(line.reader.problem() + " in " + line.message);
        return false;
      }
      requests_.push_back(request);
      answer(line);
      line.message = line.buffer;
      line.reader = {};
      line.has_head = false;
    }
  }

  void answer(Line& line) const {
    auto const& request = line.reader.request();
    std::string const body = request.method + " " + request.target + " " + request.value("Host") + "\n" + request.body;
    line.socket.send_all("HTTP/1.1 200 OK\r\n" + fields_ + "X-For: " + request.method + " " + request.target +
                         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                         (request.method == "HEAD" ? "" : body));
  }

  std::string fields_;
  Socket listener_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Request> requests_;
  std::vector<std::string> problems_, unfinished_;
  std::size_t bytes_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace weir::test
