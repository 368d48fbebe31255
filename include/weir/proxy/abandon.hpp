// The way from the last reader of a flight (on any worker) to its fetch (COA-2). A signal may still be on its way when the
// fetch has ended, so signals belong to the fetch's worker, which keeps them for the next fetch. Threads: `raise` from any,
// the rest from the worker.
#pragma once

#include <memory>
#include <vector>

#include "weir/shield/waiter.hpp"

namespace weir::proxy {

class AbandonSignals;

struct AbandonSignal {
  shield::Waiter node;
  shield::Waker* waker = nullptr;
  AbandonSignals* home = nullptr;
  void* fetch = nullptr;  // null: that fetch is over
  void (*tell)(void*) noexcept = nullptr;

  static void raise(void* signal) noexcept;  // for Flight::set_on_interest
};

class AbandonSignals {
 public:
  AbandonSignal& take(shield::Waker& waker, std::uint16_t worker, void* fetch, void (*tell)(void*) noexcept);
  void give(AbandonSignal& signal) noexcept;  // the flight knows it no more; nothing is told any more

 private:
  static void arrive(shield::Waiter& waiter) noexcept;
  std::vector<std::unique_ptr<AbandonSignal>> all_;
  std::vector<AbandonSignal*> free_;  // has room for all of `all_`
};

}  // namespace weir::proxy
