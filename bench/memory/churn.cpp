// Memory of the store alone: a million entries of 1 KiB, then ten million more, each of which makes room for itself.
// usage: weir-bench-churn [ENTRIES [CHURN]]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "weir/base/hash.hpp"
#include "weir/store/memory_store.hpp"

namespace {

using namespace weir;

constexpr std::size_t body_size = 1024;
constexpr std::size_t head_size = 300;

std::size_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, pages = 0;
  statm >> all >> pages;
  return pages * 4096;
}

class Churn {
 public:
  explicit Churn(std::uint64_t max_bytes) : store_({max_bytes}, account_) {}

  void add(std::uint64_t number) {
    char key[64];  // as long as the key of a short URL
    auto const size = std::snprintf(key, sizeof key, "g....http....13.bench.example....11./x/%08llu",
                                    static_cast<unsigned long long>(number));
    cache::StoredResponse::Parts parts{{key, static_cast<std::size_t>(size)}, "", head_, {}};
    parts.facts.status = 200;
    parts.facts.response_time = now_.steady;
    parts.facts.lifetime = std::chrono::hours(24);
    parts.facts.began = number + 1;
    parts.facts.purge_number = 1;
    auto entry = cache::StoredResponse::make(parts, body_size, account_);
    std::memset(entry->body_area(), 'x', body_size);
    store_.put(std::move(entry), now_.steady + std::chrono::hours(24), 8, now_);
  }

  void report(char const* when, std::size_t before) const {
    auto const stats = store_.stats();
    auto const bytes = resident() - before;
    std::printf("%s: %llu entries, %.0f bytes each resident, %.0f each by the store's own account\n", when,
                static_cast<unsigned long long>(stats.entries),
                static_cast<double>(bytes) / static_cast<double>(stats.entries),
                static_cast<double>(stats.bytes) / static_cast<double>(stats.entries));
  }

 private:
  std::string head_ = std::string(head_size, 'h');
  cache::MemoryAccount account_;
  base::Now now_ = base::read_clock();
  store::MemoryStore store_;
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t const entries = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  std::uint64_t const churned = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 10'000'000;
  auto const before = resident();
  std::size_t full = 0;
  {
    cache::MemoryAccount account;
    cache::StoredResponse::Parts const parts{std::string_view("key of the usual size, http, a host, a path"), "", "", {}};
    full = cache::StoredResponse::make(parts, body_size + head_size, account)->footprint();
  }
  Churn churn(entries * (full + 16));
  for (std::uint64_t i = 0; i < entries; ++i) churn.add(i);
  churn.report("store alone, filled", before);
  for (std::uint64_t i = 0; i < churned; ++i) churn.add(entries + i);
  churn.report("store alone, after the churn", before);
}
