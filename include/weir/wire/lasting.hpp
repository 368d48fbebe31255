// Work that has to go on as long as its loop runs: accepting, housekeeping, polling, checking. When its coroutine ends by an
// exception, as when there is no memory for a moment, it is begun again after `lasting_pause`; beginning again needs no
// memory that might not be there. A coroutine that returns is over. Owner: itself. Threads: the loop's.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>

#include "weir/base/clock.hpp"
#include "weir/wire/operation_memory.hpp"

namespace weir::wire {

namespace asio = boost::asio;

inline constexpr base::Duration lasting_pause = std::chrono::milliseconds(100);

class Lasting : public std::enable_shared_from_this<Lasting> {
 public:
  using Work = std::function<asio::awaitable<void>()>;
  // Hears each exception, or null where an operation was lost without a word. Must not throw.
  using Tell = std::function<void(std::exception_ptr const&)>;

  Lasting(asio::io_context& io, Work work, Tell tell)
      : io_(io), work_(std::move(work)), tell_(std::move(tell)), pause_(io) {}
  // Throws std::bad_alloc, and then nothing was begun.
  static void begin(asio::io_context& io, Work work, Tell tell);

 private:
  struct Run;
  void run() noexcept;
  void again(std::exception_ptr const& failure) noexcept;
  void wait_a_while() noexcept;

  asio::io_context& io_;
  Work work_;
  Tell tell_;
  asio::basic_waitable_timer<base::Clock> pause_;
  OperationMemory memory_;
};

}  // namespace weir::wire
