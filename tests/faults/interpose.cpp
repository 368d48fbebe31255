#include "faults/interpose.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include <boost/asio/post.hpp>

namespace weir::test {
namespace {

thread_local bool on_worker = false;
std::atomic<bool> armed{false};
std::atomic<std::uint64_t> made{0}, first{0}, last{0};
std::atomic<bool> one_failed{false};

// Whether this allocation fails.
bool fails() noexcept {
  if (!on_worker || !armed.load(std::memory_order_acquire)) return false;
  auto const number = made.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < first.load(std::memory_order_relaxed) || number > last.load(std::memory_order_relaxed)) return false;
  one_failed.store(true, std::memory_order_release);
  return true;
}

}  // namespace

void mark_workers(Weir& weir) {
  std::atomic<std::size_t> marked{0};
  auto& workers = weir.daemon().workers();
  for (auto& worker : workers) {
    boost::asio::post(worker->io(), [&marked] {
      on_worker = true;
      marked.fetch_add(1);
    });
  }
  if (!eventually([&] { return marked.load() == workers.size(); })) std::abort();
}

bool is_worker() noexcept { return on_worker; }

namespace allocations {

void fail(Which which) {
  made.store(0);
  one_failed.store(false);
  first.store(which.first);
  auto const most = std::numeric_limits<std::uint64_t>::max();
  last.store(which.count > most - which.first ? most : which.first + which.count - 1);
  armed.store(true, std::memory_order_release);
}

std::uint64_t end() {
  armed.store(false, std::memory_order_release);
  return made.load();
}

bool failed() noexcept { return one_failed.load(std::memory_order_acquire); }

}  // namespace allocations

namespace {

// Under sanitizers malloc is theirs, and what C libraries take is safe.
#ifdef WEIR_SANITIZED
void* take(std::size_t size, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  void* block = nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return posix_memalign(&block, alignment, size == 0 ? 1 : size) == 0 ? block : nullptr;
}
void* take_or_throw(std::size_t size, std::size_t alignment) {
  if (auto* const block = take(size, alignment)) return block;
  throw std::bad_alloc();
}
#endif

}  // namespace
}  // namespace weir::test

#ifdef WEIR_SANITIZED

using weir::test::take;
using weir::test::take_or_throw;
constexpr std::size_t usual = alignof(std::max_align_t);

// Not inlined: g++ would take the malloc and the delete for a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t size) { return take_or_throw(size, usual); }
[[gnu::noinline]] void* operator new[](std::size_t size) { return take_or_throw(size, usual); }
[[gnu::noinline]] void* operator new(std::size_t size, std::nothrow_t const&) noexcept { return take(size, usual); }
[[gnu::noinline]] void* operator new[](std::size_t size, std::nothrow_t const&) noexcept { return take(size, usual); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t at) {
  return take_or_throw(size, static_cast<std::size_t>(at));
}
[[gnu::noinline]] void* operator new[](std::size_t size, std::align_val_t at) {
  return take_or_throw(size, static_cast<std::size_t>(at));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::nothrow_t const&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::nothrow_t const&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
// Asio's.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return take(size, alignment > usual ? alignment : usual);
}

#else

// All that goes through glibc's malloc: operator new, Asio, OpenSSL, hiredis.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  if (!weir::test::fails()) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  if (!weir::test::fails()) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* block, std::size_t size) noexcept {
  if (!weir::test::fails()) return __libc_realloc(block, size);
  errno = ENOMEM;
  return nullptr;
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  if (!weir::test::fails()) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept { return memalign(alignment, size); }
int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  *block = memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}
}

#endif
