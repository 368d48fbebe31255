#include "weir/wire/lasting.hpp"

#include <utility>

#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

namespace weir::wire {

// What hears the coroutine's end. A handler that is destroyed without having been called is an end too: Asio loses one when
// it finds no memory for its own part of an operation.
struct Lasting::Run {
  explicit Run(std::shared_ptr<Lasting> l) noexcept : lasting(std::move(l)) {}
  Run(Run&&) noexcept = default;
  Run& operator=(Run&&) = delete;
  ~Run() {
    if (lasting) lasting->again(nullptr);
  }
  void operator()(std::exception_ptr const& failure) {
    auto const ended = std::exchange(lasting, nullptr);
    if (failure) ended->again(failure);
  }
  std::shared_ptr<Lasting> lasting;
};

void Lasting::begin(asio::io_context& io, Work work, Tell tell) {
  std::make_shared<Lasting>(io, std::move(work), std::move(tell))->run();
}

void Lasting::run() noexcept {
  Run over(shared_from_this());
  try {
    asio::co_spawn(io_, work_(), std::move(over));
  } catch (std::exception const&) {
    return;  // told, and begun again, by the end of `over`
  }
}

void Lasting::again(std::exception_ptr const& failure) noexcept {
  if (io_.stopped()) return;  // frames are being destroyed
  tell_(failure);
  wait_a_while();
}

void Lasting::wait_a_while() noexcept {
  OperationAllocator<std::byte> const memory(memory_);
  try {
    pause_.expires_after(lasting_pause);
    pause_.async_wait(
        asio::bind_allocator(memory, [self = shared_from_this()](boost::system::error_code const&) { self->run(); }));
  } catch (std::exception const&) {  // the loop's queue of timers could not grow: once more, behind what others do
    asio::post(io_, asio::bind_allocator(memory, [self = shared_from_this()] { self->wait_a_while(); }));
  }
}

}  // namespace weir::wire
