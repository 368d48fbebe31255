// Counted pointers and lists whose links live in the element. Thread rule: counts are atomic; lists belong to whoever
// holds the mutex that their owner names.
#pragma once

#include <atomic>
#include <cstdint>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>

namespace weir::base {

template <class T>
using Ref = boost::intrusive_ptr<T>;

// Base of a counted type. `T` is deleted through `T::destroy(T const*)` if it has one (types with a trailing area), else
// with `delete`.
template <class T>
class Counted {
 public:
  Counted() = default;
  Counted(Counted const&) = delete;
  Counted& operator=(Counted const&) = delete;

  friend void intrusive_ptr_add_ref(T const* p) noexcept { p->count_.fetch_add(1, std::memory_order_relaxed); }
  friend void intrusive_ptr_release(T const* p) noexcept {
    if (p->count_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if constexpr (requires { T::destroy(p); })
      T::destroy(p);
    else
      delete p;
  }

  // Only exact when no other thread holds a reference; for tests and statistics.
  std::uint32_t use_count() const noexcept { return count_.load(std::memory_order_relaxed); }

 protected:
  ~Counted() = default;

 private:
  mutable std::atomic<std::uint32_t> count_{0};
};

// A link that asserts (in `safe_link` mode) that its element is not destroyed while linked.
using ListHook = boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::safe_link>>;

template <class T, ListHook T::*Hook>
using List = boost::intrusive::list<T, boost::intrusive::member_hook<T, ListHook, Hook>, boost::intrusive::constant_time_size<false>>;

}  // namespace weir::base
