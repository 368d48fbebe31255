// COA-16: counted by interposing malloc; the sanitizers bring their own, so that there this file tests nothing.
#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "stage.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_COUNTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEIR_COUNTS 0
#endif
#endif
#ifndef WEIR_COUNTS
#define WEIR_COUNTS 1
#endif

#if WEIR_COUNTS
namespace {
std::atomic<std::size_t> allocations{0};
}

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
}

namespace weir::shield {
namespace {

template <class Work>
std::size_t allocations_in(Work work) {
  auto const before = allocations.load();
  work();
  return allocations.load() - before;
}

// COA-16
TEST(Allocations, followers_join_wait_read_and_leave_without_any) {
  Stage stage;
  Client leader, follower, reader;
  auto const key = Stage::key("/a", "de");
  EXPECT_GT(allocations_in([&] { stage.join(leader, 0, key); }), 0U);
  EXPECT_EQ(allocations_in([&] {
              stage.join(follower, 0, key);
              stage.table.cancel(follower.waiter);
              stage.join(follower, 0, key);
            }),
            0U);
  leader.ticket.flight().set_head(make_head(cacheable), nullptr, 0, at(0));
  EXPECT_EQ(allocations_in([&] { leader.ticket.publish_head(); }), 0U);
  stage.waker.deliver();
  grow(leader.ticket.flight(), "hello");
  std::size_t there = 0;
  EXPECT_EQ(allocations_in([&] {
              Reader first(std::move(follower.waiter.flight));
              stage.join(reader, 0, key);
              Reader second(std::move(reader.flight));
              for (auto* each : {&first, &second}) {
                there += each->peek().bytes.size();
                each->advance(5, {});
                Waiter waiter;
                each->wait(waiter);
                each->cancel_wait(waiter);
              }
            }),
            0U);
  EXPECT_EQ(there, 10U);
  EXPECT_EQ(allocations_in([&] { leader.ticket.leave(); }), 0U);
}

}  // namespace
}  // namespace weir::shield
#endif
