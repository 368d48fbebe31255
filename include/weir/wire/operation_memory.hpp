// Memory for one pending operation at a time, in the object that waits: waiting in it needs no other and cannot fail for
// want of it. Owner: whoever waits; it outlives the operation. Threads: one loop's.
#pragma once

#include <cstddef>

#include "weir/base/assert.hpp"

namespace weir::wire {

class OperationMemory {
 public:
  void* take(std::size_t size) {
    WEIR_ASSERT(!taken_ && size <= sizeof bytes_);
    taken_ = true;
    return bytes_;
  }
  void give_back() noexcept { taken_ = false; }

 private:
  alignas(std::max_align_t) std::byte bytes_[384];
  bool taken_ = false;
};

template <class T>
struct OperationAllocator {
  using value_type = T;
  explicit OperationAllocator(OperationMemory& m) noexcept : memory(&m) {}
  template <class U>
  OperationAllocator(OperationAllocator<U> const& other) noexcept
      : memory(other.memory) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) { return static_cast<T*>(memory->take(n * sizeof(T))); }
  void deallocate(T*, std::size_t) noexcept { memory->give_back(); }
  template <class U>
  bool operator==(OperationAllocator<U> const& other) const noexcept {
    return memory == other.memory;
  }
  OperationMemory* memory;
};

}  // namespace weir::wire
