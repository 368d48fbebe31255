#include "load/daemon.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "support/client.hpp"
#include "support/socket.hpp"

namespace weir::load {
namespace {

constexpr std::size_t most_words = 4000;

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-load-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a folder for the daemon";
  return name;
}

std::string content(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Between fork and exec only such calls are allowed.
[[noreturn]] void become(char const* program, char const* config, char const* log, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  int const output = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(output, STDERR_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::execl(program, "weir", "-c", config, static_cast<char*>(nullptr));
  ::_exit(127);
}

// The number behind `name` in a file of lines such as "VmRSS:  1234 kB".
std::int64_t number_behind(std::string const& text, std::string_view name) {
  auto at = text.find(name);
  if (at == std::string::npos) return 0;
  at = text.find_first_of("0123456789", at + name.size());
  std::int64_t number = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

// A reload that is refused is one that the operator is told of.
void expect_no_errors(std::string const& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    bool const of_a_reload =
        line.find(" configuration ") != std::string::npos || line.find(" reload-refused ") != std::string::npos;
    EXPECT_TRUE(of_a_reload || line.find(" error ") == std::string::npos) << line;
  }
}

}  // namespace

Daemon::Daemon(std::uint16_t origin_port, std::string const& settings) : folder_(make_folder()), origin_port_(origin_port) {
  test::raise_descriptor_limit();
  write(settings);
  auto const config = (folder_ / "weir.yaml").string(), output = (folder_ / "log").string();
  char const* const other = std::getenv("WEIR_BINARY");  // such as a sanitizer's
  char const* const program = other != nullptr ? other : WEIR_BINARY;
  pid_t const parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(program, config.c_str(), output.c_str(), parent);
  bool gone = pid_ < 0;
  bool const up = test::eventually([&] {
    gone = gone || ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    return gone || log().find("listening address=127.0.0.1:") != std::string::npos;
  });
  if (gone) pid_ = 0;
  if (gone || !up) throw std::runtime_error("weir did not come up; its last words:\n" + log());
  port_ = static_cast<std::uint16_t>(number_behind(log(), "listening address=127.0.0.1:"));
}

Daemon::~Daemon() {
  stop();
  std::error_code ignored;  // a folder that stays behind is no failure of what was tested
  std::filesystem::remove_all(folder_, ignored);
}

void Daemon::write(std::string const& settings) const {
  std::ofstream file(folder_ / "weir.yaml", std::ios::trunc);
  file << "version: 1\nlisten: [\"127.0.0.1:0\"]\nadmin: {listen: \"unix:" << folder_.string() << "/admin\"}\n"
       << "origins: {app: {url: \"http://127.0.0.1:" << origin_port_ << "\"}}\n"
       << settings;
}

std::string Daemon::log() const { return content(folder_ / "log"); }

test::Response Daemon::admin(std::string_view method, std::string_view target, std::string_view body) const {
  test::Client client(0, {.address = "unix:" + (folder_ / "admin").string()});
  test::Fields fields{{"Connection", "close"}};
  if (!body.empty()) fields.push_back({"Content-Type", "application/json"});
  return client.request(method, target, fields, body);
}

std::map<std::string, double, std::less<>> Daemon::metrics() const {
  std::map<std::string, double, std::less<>> samples;
  std::istringstream page(admin("GET", "/metrics").body);
  for (std::string line; std::getline(page, line);) {
    auto const space = line.rfind(' ');
    if (!line.starts_with('#') && space != std::string::npos)
      samples[line.substr(0, space)] = std::strtod(line.c_str() + space, nullptr);
  }
  return samples;
}

double Daemon::metric(std::string_view sample) const {
  auto const all = metrics();
  auto const at = all.find(sample);
  EXPECT_NE(at, all.end()) << "the metrics page has no " << sample;
  return at == all.end() ? 0 : at->second;
}

int Daemon::reload(std::string const& settings) {
  write(settings);
  return admin("POST", "/v1/reload").status;
}

Usage Daemon::usage() const {
  auto const folder = std::filesystem::path("/proc") / std::to_string(pid_);
  auto const status = content(folder / "status");
  Usage usage;
  usage.resident = number_behind(status, "VmRSS:") * 1024;
  usage.peak = number_behind(status, "VmHWM:") * 1024;
  usage.descriptors = std::distance(std::filesystem::directory_iterator(folder / "fd"), {});
  auto const stat = content(folder / "stat");
  std::istringstream words(stat.substr(stat.rfind(')') + 1));
  std::string word;
  double ticks = 0;
  for (int i = 0; i < 13 && words >> word; ++i)
    if (i >= 11) ticks += std::strtod(word.c_str(), nullptr);  // utime and stime
  usage.cpu_seconds = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return usage;
}

void Daemon::forget_peak() const {
  std::ofstream file(std::filesystem::path("/proc") / std::to_string(pid_) / "clear_refs");
  file << "5";
}

bool Daemon::settles() const {
  return test::eventually([&] {
    auto const all = metrics();
    auto const is_zero = [&](std::string_view name) { return all.find(name) != all.end() && all.find(name)->second == 0; };
    return is_zero("weir_flights") && is_zero("weir_origin_inflight") && is_zero("weir_limiter_queue_depth");
  });
}

std::string Daemon::stats() const { return admin("GET", "/v1/stats").body; }

void Daemon::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  int status = 0;
  bool const ended = test::eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, test::Milliseconds(60'000));
  if (!ended) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = 0;
  auto const words = log();
  bool const good = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  EXPECT_TRUE(good) << "status " << status << "; its last words:\n"
                    << words.substr(words.size() - std::min(words.size(), most_words));
  expect_no_errors(words);
}

}  // namespace weir::load
