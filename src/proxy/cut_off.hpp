// A reader that holds up a fetch for too long is cut off (COA-9), and its client's connection is closed at once, also while
// a write to it waits for the client. Lies in the frame of the coroutine that reads, behind the reader; `end` comes before
// its destructor. Threads: the client's worker.
#pragma once

#include "weir/proxy/client.hpp"
#include "weir/proxy/park.hpp"
#include "weir/shield/flight.hpp"

namespace weir::proxy {

class CutOff {
 public:
  CutOff(Client& client, shield::Reader& reader, asio::any_io_executor const& executor, std::uint16_t worker)
      : client_(client), reader_(reader), told_(executor) {
    waiter_.worker = worker;
    waiter_.context = this;
    waiter_.recall = &Mailboxes::recall;
    waiter_.resume = [](shield::Waiter& waiter) noexcept {
      auto& self = *static_cast<CutOff*>(waiter.context);
      self.client_.stream().reset();  // not even a body that ends with its connection looks whole
      self.told_.set();
    };
    linked_ = reader_.wait_for_cut_off(waiter_);
  }

  asio::awaitable<void> end() {
    if (linked_ && !reader_.cancel_wait_for_cut_off(waiter_)) co_await told_.wait();
    linked_ = false;
  }

 private:
  Client& client_;
  shield::Reader& reader_;
  Event told_;
  shield::Waiter waiter_;
  bool linked_ = false;
};

}  // namespace weir::proxy
