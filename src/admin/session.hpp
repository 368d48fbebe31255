// One connection of the admin listener: one call after the other. For server.cpp. Threads: the admin thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include "weir/admin/router.hpp"
#include "weir/wire/deadline.hpp"
#include "weir/wire/head.hpp"
#include "weir/wire/stream.hpp"

namespace weir::admin {

// What one listener opens, and to whom.
struct Door {
  Router router;
  std::string token{};    // empty: nobody has to show one
  bool browsable = true;  // a browser can get here: no unix socket
};

class Session {
 public:
  // `door`, `stopping` and `all` outlive it; it is in `all` for as long as it lives. No call begins on the connection after
  // `stopping` became true.
  Session(wire::Stream::Socket socket, Door const& door, bool const& stopping, std::set<Session*>& all);
  ~Session() { all_.erase(this); }
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;

  // Until the peer leaves, is too slow, or asks for something after which the connection cannot go on.
  boost::asio::awaitable<void> run();
  // Between two calls: closes.
  void close_if_idle() noexcept;

 private:
  boost::asio::awaitable<bool> serve_one();
  boost::asio::awaitable<wire::RequestHead> read_head();
  boost::asio::awaitable<bool> read_body(wire::RequestHead const& head);
  boost::asio::awaitable<bool> write(Answer const& answer, bool head_only, bool keep_alive);
  boost::asio::awaitable<bool> refuse(Answer const& answer, wire::RequestHead const& head);
  boost::asio::awaitable<void> linger();
  Answer call(Endpoint const& endpoint, http::Request const& request) const;

  std::shared_ptr<wire::Stream> stream_;
  wire::Deadline deadline_;
  Door const& door_;
  bool const& stopping_;
  std::set<Session*>& all_;
  bool idle_ = true;  // no byte of a call has come
  bool served_ = false;
  wire::HeadRoom room_;
  std::string buffer_;  // the head's views point into it; only read_head changes it
  std::string body_;
};

}  // namespace weir::admin
