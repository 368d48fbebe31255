#include "weir/store/budget.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "weir/store/memory_store.hpp"

namespace weir::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> leading_number(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// "max" and whatever else is no number count as no limit.
std::uint64_t limit_in(fs::path const& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return no_limit;
  return leading_number(line).value_or(no_limit);
}

// The least limit of `group` and of all groups above it. A group whose path leaves its mount ("/..") is seen through
// another namespace: only the mount itself counts then.
std::uint64_t limit_up_from(fs::path const& mount, std::string_view group, char const* file) {
  std::uint64_t least = limit_in(mount / file);
  if (group.find("..") != std::string_view::npos) return least;
  fs::path directory = mount;
  for (auto const& part : fs::path(group).relative_path()) {
    directory /= part;
    least = std::min(least, limit_in(directory / file));
  }
  return least;
}

// Whether a comma-separated list of cgroup v1 controllers names `memory`.
bool names_memory(std::string_view controllers) noexcept {
  while (!controllers.empty()) {
    auto const comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// A line of /proc/self/cgroup is "number:controllers:path"; v2's is "0::path".
std::uint64_t cgroup_limit(fs::path const& root) {
  std::uint64_t least = no_limit;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    auto const first = line.find(':');
    auto const second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string_view const all = line;
    auto const controllers = all.substr(first + 1, second - first - 1);
    auto const group = all.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, limit_up_from(root / "sys/fs/cgroup", group, "memory.max"));
      least = std::min(least, limit_up_from(root / "sys/fs/cgroup/unified", group, "memory.max"));
    } else if (names_memory(controllers)) {
      least = std::min(least, limit_up_from(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t machine_memory(fs::path const& root) {
  static constexpr std::string_view name = "MemTotal:";
  std::ifstream in(root / "proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name)) continue;
    auto const kibibytes = leading_number(std::string_view(line).substr(name.size()));
    return kibibytes ? *kibibytes * 1024 : no_limit;
  }
  return no_limit;
}

}  // namespace

std::uint64_t memory_limit(fs::path const& root) {
  auto const least = std::min(cgroup_limit(root), machine_memory(root));
  return least == no_limit ? 0 : least;
}

std::uint64_t budget_of(std::uint64_t memory_limit) noexcept {
  return std::clamp<std::uint64_t>(memory_limit / 4, 16ULL << 20, 8ULL << 30);
}

std::uint64_t default_budget() { return budget_of(memory_limit("/")); }

}  // namespace weir::store
