#include "weir/proxy/abandon.hpp"

namespace weir::proxy {

void AbandonSignal::raise(void* signal) noexcept {
  auto& self = *static_cast<AbandonSignal*>(signal);
  auto expected = shield::WaiterState::free;
  if (!self.node.state.compare_exchange_strong(expected, shield::WaiterState::chosen)) return;  // already on its way
  shield::WaiterList one;
  one.push_back(self.node);
  self.waker->wake(one);
}

AbandonSignal& AbandonSignals::take(shield::Waker& waker, std::uint16_t worker, void* fetch, void (*tell)(void*) noexcept) {
  if (free_.empty()) {
    free_.reserve(all_.size() + 1);
    all_.push_back(std::make_unique<AbandonSignal>());
    free_.push_back(all_.back().get());
  }
  auto& signal = *free_.back();
  free_.pop_back();
  signal.waker = &waker;
  signal.home = this;
  signal.fetch = fetch;
  signal.tell = tell;
  signal.node.worker = worker;
  signal.node.resume = &AbandonSignals::arrive;
  signal.node.context = &signal;
  return signal;
}

void AbandonSignals::give(AbandonSignal& signal) noexcept {
  signal.fetch = nullptr;
  if (signal.node.state.load(std::memory_order_acquire) == shield::WaiterState::free) free_.push_back(&signal);
}

void AbandonSignals::arrive(shield::Waiter& waiter) noexcept {
  auto& signal = *static_cast<AbandonSignal*>(waiter.context);
  if (signal.fetch != nullptr)
    signal.tell(signal.fetch);
  else
    signal.home->free_.push_back(&signal);
}

}  // namespace weir::proxy
