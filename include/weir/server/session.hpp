// One client connection: reads requests, hands each to an exchange, keeps answers in order (REQ-2, REQ-3). One coroutine;
// idle, it holds no buffer. Owner: its worker's list until it ends. Threads: its worker.
#pragma once

#include <memory>

#include "weir/proxy/exchange.hpp"
#include "weir/server/preface.hpp"
#include "weir/server/timekeeper.hpp"

namespace weir::server {

namespace asio = boost::asio;

class Worker;

class Session : public Timed {
 public:
  // `door`: which listener it came by; told apart, not looked at.
  Session(Worker& worker, std::shared_ptr<wire::Stream> stream, std::string address, void const* door);
  ~Session();
  asio::awaitable<void> run(Preface preface);
  // Once, before `run`: what a request begins may have to keep the session until that ends too.
  void set_owner(std::shared_ptr<Session> const& self) noexcept { client_.owner = self; }
  // `run` has ended, perhaps by an exception: the connection closes, and what the last request began ends.
  void end() noexcept;
  // The next answer is its last (drain). Idle, it has a moment for a request that is on its way, then it ends.
  void retire();
  void const* door() const noexcept { return door_; }

  boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> worker_hook;
  std::string const& address() const noexcept { return client_.address; }
  // Whether its address is counted among those that are connected: by the worker, or once a PROXY header told the address.
  bool is_admitted() const noexcept { return admitted_; }
  void set_admitted() noexcept { admitted_ = true; }

 private:
  enum class Next : std::uint8_t { close, refuse, wait_idle, wait_for_head, exchange, again };

  // preface.cpp: what comes before the first request.
  asio::awaitable<bool> open(Preface const& preface);
  asio::awaitable<bool> learn_client();
  asio::awaitable<wire::ProxyHeader> read_proxy_header();
  asio::awaitable<bool> shake_hands(wire::Certificates const& certificates);

  Next serve_ready();
  Next serve_one(wire::RequestHead const& head, base::Now now);
  void begin_idle();
  bool end_idle(bool failed) noexcept;
  asio::awaitable<bool> read_more();
  asio::awaitable<void> refuse(wire::Refusal refusal);
  asio::awaitable<void> linger();

  void judge_peer();

  Worker& worker_;
  void const* door_;
  proxy::Client client_;
  std::unique_ptr<proxy::Exchange> exchange_;
  std::size_t scanned_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t setup_number_ = 0;  // by which the peer was judged
  wire::Refusal refusal_ = wire::Refusal::none;
  bool idle_ = false, timed_out_ = false, head_began_ = false, admitted_ = false;
};

}  // namespace weir::server
