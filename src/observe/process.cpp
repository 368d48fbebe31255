#include "weir/observe/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace weir::observe {
namespace {

// Seconds since 1970 at which the machine started; 0 if unknown.
double boot_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  while (file >> word) {
    if (word == "btime") {
      double seconds = 0;
      file >> seconds;
      return seconds;
    }
    std::getline(file, word);
  }
  return 0;
}

// proc(5), /proc/self/stat: the name may hold anything, so fields are counted from behind its last parenthesis.
void read_stat(ProcessFacts& facts) {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::size_t const name_end = text.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0, started = 0;
  std::int64_t pages = 0;
  fields >> user >> system >> skipped >> skipped >> skipped >> skipped >> facts.threads >> skipped >> started >>
      facts.virtual_bytes >> pages;
  auto const ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  facts.cpu_seconds = (user + system) / ticks;
  facts.start_time_seconds = boot_time() + started / ticks;
  facts.resident_bytes = static_cast<std::uint64_t>(pages * ::sysconf(_SC_PAGESIZE));
}

std::uint64_t count_open_files() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // one was the directory itself
}

}  // namespace

ProcessFacts read_process() {
  ProcessFacts facts;
  read_stat(facts);
  facts.open_fds = count_open_files();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.max_fds = limit.rlim_cur;
  return facts;
}

}  // namespace weir::observe
