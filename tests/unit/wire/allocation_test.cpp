// Replaces this program's operator new to count what a read allocates.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "reading.hpp"
#include "request_rows.hpp"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir::wire {
namespace {

// REQ-1: neither an accepted nor a refused head allocates
TEST(RequestHead, ReadsWithoutAllocating) {
  RequestReader reader;
  auto const read = [&](std::string const& bytes) {
    std::size_t const before = allocations;
    reader.read(bytes);
    return allocations - before;
  };
  EXPECT_EQ(read("GET"), 0u);
  for (auto const& row : accepted_rows()) EXPECT_EQ(read(row.bytes), 0u) << row.name;
  for (auto const& row : refused_rows()) EXPECT_EQ(read(row.bytes), 0u) << row.name;
  EXPECT_GT(allocations, 0u);  // the counter is alive
}

}  // namespace
}  // namespace weir::wire
