#include "support/gate.hpp"

#include <gtest/gtest.h>

namespace weir::test {

void Gate::open() {
  std::lock_guard lock(state_->mutex);
  state_->open = true;
  state_->opened.notify_all();
}

bool Gate::is_open() const {
  std::lock_guard lock(state_->mutex);
  return state_->open;
}

int Gate::waiting() const {
  std::lock_guard lock(state_->mutex);
  return state_->waiting;
}

int Gate::arrived() const {
  std::lock_guard lock(state_->mutex);
  return state_->arrived;
}

bool Gate::wait(Milliseconds bound) const {
  return wait_unless([] { return false; }, bound);
}

bool Gate::wait_slice() const {
  std::unique_lock lock(state_->mutex);
  return state_->opened.wait_for(lock, Milliseconds(5), [this] { return state_->open; });
}

bool Gate::report_closed() {
  ADD_FAILURE() << "a gate stayed closed";
  return false;
}

Gate::Visit::Visit(State& state) : state_(state) {
  std::lock_guard lock(state_.mutex);
  ++state_.waiting;
  ++state_.arrived;
}

Gate::Visit::~Visit() {
  std::lock_guard lock(state_.mutex);
  --state_.waiting;
}

}  // namespace weir::test
