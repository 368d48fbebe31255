// MEM-1: the default budget, read from made-up machines.
#include "weir/store/budget.hpp"

#include <atomic>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "weir/store/memory_store.hpp"

namespace weir::store {
namespace {

namespace fs = std::filesystem;

class Machine {
 public:
  explicit Machine(std::vector<std::pair<std::string, std::string>> const& files)
      : root_(fs::temp_directory_path() / ("weir_budget_" + std::to_string(getpid()) + "_" + std::to_string(next_++))) {
    fs::create_directories(root_);
    for (auto const& [path, text] : files) {
      fs::create_directories((root_ / path).parent_path());
      std::ofstream(root_ / path) << text;
    }
  }
  ~Machine() {
    std::error_code ignored;  // a leftover in the temporary directory fails no test
    fs::remove_all(root_, ignored);
  }
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;
  fs::path const& root() const { return root_; }

 private:
  static inline std::atomic<int> next_{0};
  fs::path root_;
};

TEST(Budget, memory_limit_of_machines) {
  using Files = std::vector<std::pair<std::string, std::string>>;
  struct Row {
    char const* name;
    Files files;
    std::uint64_t limit;
  };
  std::string const v2 = "sys/fs/cgroup/", v1 = "sys/fs/cgroup/memory/", self = "proc/self/cgroup", total = "proc/meminfo";
  std::string const meminfo = "MemFree:  17 kB\nMemTotal:       1000 kB\nBuffers: 1 kB\n";
  std::vector<Row> const rows = {
      {"nothing to read", {}, 0},
      {"machine only", {{total, meminfo}}, 1'024'000},
      {"no MemTotal", {{total, "MemFree: 17 kB\n"}}, 0},
      {"MemTotal is no number", {{total, "MemTotal: many kB\n"}}, 0},
      {"v2, own group", {{self, "0::/a/b\n"}, {v2 + "a/b/memory.max", "5000\n"}, {total, meminfo}}, 5000},
      {"v2, group above is tighter",
       {{self, "0::/a/b\n"}, {v2 + "a/b/memory.max", "5000\n"}, {v2 + "a/memory.max", "4000\n"}, {total, meminfo}},
       4000},
      {"v2, max above is no limit",
       {{self, "0::/a/b\n"}, {v2 + "a/b/memory.max", "5000\n"}, {v2 + "a/memory.max", "max\n"}, {total, meminfo}},
       5000},
      {"v2, max", {{self, "0::/a\n"}, {v2 + "a/memory.max", "max\n"}, {total, meminfo}}, 1'024'000},
      {"v2, larger than the machine", {{self, "0::/a\n"}, {v2 + "a/memory.max", "9000000\n"}, {total, meminfo}}, 1'024'000},
      {"v2, container sees itself as the root", {{self, "0::/\n"}, {v2 + "memory.max", "3000\n"}, {total, meminfo}}, 3000},
      {"v2, path leaves the namespace",
       {{self, "0::/../x\n"}, {v2 + "memory.max", "3000\n"}, {"sys/fs/x/memory.max", "1\n"}, {total, meminfo}},
       3000},
      {"v2 beside v1", {{self, "0::/a\n"}, {v2 + "unified/a/memory.max", "2000\n"}, {total, meminfo}}, 2000},
      {"v1", {{self, "3:cpu,memory:/a\n"}, {v1 + "a/memory.limit_in_bytes", "7000\n"}, {total, meminfo}}, 7000},
      {"v1, memory first",
       {{self, "3:memory,cpu:/a\n"}, {v1 + "a/memory.limit_in_bytes", "7000\n"}, {total, meminfo}},
       7000},
      {"v1, no limit is a huge number",
       {{self, "3:memory:/a\n"}, {v1 + "a/memory.limit_in_bytes", "9223372036854771712\n"}, {total, meminfo}},
       1'024'000},
      {"v1, other controllers do not count",
       {{self, "3:cpu,memory_other:/a\n"}, {v1 + "a/memory.limit_in_bytes", "7000\n"}, {total, meminfo}},
       1'024'000},
      {"v1 and v2: the least",
       {{self, "3:memory:/a\n0::/a\n"}, {v1 + "a/memory.limit_in_bytes", "7000\n"}, {v2 + "a/memory.max", "6000\n"}},
       6000},
      {"lines that are none", {{self, "nothing\n4:\n0::/a\n"}, {v2 + "a/memory.max", "6000\n"}}, 6000},
      {"empty limit file", {{self, "0::/a\n"}, {v2 + "a/memory.max", ""}, {total, meminfo}}, 1'024'000},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    Machine const machine(row.files);
    EXPECT_EQ(memory_limit(machine.root()), row.limit);
  }
}

TEST(Budget, is_a_quarter_within_bounds) {
  EXPECT_EQ(budget_of(4ULL << 30), 1ULL << 30);
  EXPECT_EQ(budget_of(64ULL << 30), 8ULL << 30);
  EXPECT_EQ(budget_of(16ULL << 20), 16ULL << 20);
  EXPECT_EQ(budget_of(0), 16ULL << 20);
}

TEST(Budget, of_this_machine_is_the_default) {
  EXPECT_EQ(default_budget(), budget_of(memory_limit("/")));
  cache::MemoryAccount account;
  EXPECT_EQ(MemoryStore({}, account).stats().capacity, default_budget());
}

}  // namespace
}  // namespace weir::store
