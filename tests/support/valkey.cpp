#include "support/valkey.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>

#include "support/resp.hpp"

namespace weir::test {

namespace {

// Of the programs in the order of preference, the first that PATH has; empty if it has none.
std::string find_program() {
  char const* const path = std::getenv("PATH");
  for (char const* const name : {"valkey-server", "redis-server"}) {
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (std::string program = folder + "/" + name; ::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

std::filesystem::path make_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-valkey-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a folder for the server: " << std::strerror(errno);
  return name;
}

// What a child does between fork and exec, with the calls that are allowed there. Descriptors of the test are none of its
// business: a connection that it held open would not end when the test closes it.
[[noreturn]] void become(char* const* words, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  if (::close_range(STDERR_FILENO + 1, ~0U, 0) != 0)
    for (int fd = STDERR_FILENO + 1; fd < 65'536; ++fd) ::close(fd);
  ::execv(words[0], words);
  ::_exit(127);
}

pid_t run(std::vector<std::string> line, std::filesystem::path const& output) {
  std::vector<char*> words;
  for (std::string& word : line) words.push_back(word.data());
  words.push_back(nullptr);
  Socket const file(::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  pid_t const parent = ::getpid();
  pid_t const child = ::fork();
  if (child == 0) become(words.data(), file.fd(), parent);
  return child;
}

// The bytes of the reply, if all of it came in time.
std::optional<std::string> ask(Socket& socket, std::vector<std::string> const& words, Milliseconds bound) {
  Deadline const deadline(bound);
  std::string reply;
  bool going = socket.send_all(write_command(words), bound);
  while (going && first_value(reply).is == ValueExtent::Is::partial)
    going = socket.receive(reply, 64 * 1024, deadline.left()) == Socket::Got::bytes;
  return first_value(reply).is == ValueExtent::Is::whole ? std::optional(reply) : std::nullopt;
}

}  // namespace

ValkeyServer::ValkeyServer(std::vector<std::string> arguments, On on)
    : arguments_(std::move(arguments)), folder_(make_folder()) {
  if (on == On::unix_socket) {
    socket_ = folder_ / "socket";
  } else {
    reservation_ = reserve_port();
    port_ = local_port(reservation_);
  }
  start();
}

ValkeyServer::~ValkeyServer() {
  kill();
  std::error_code ignored;  // a folder that stays behind is no failure of what was tested
  std::filesystem::remove_all(folder_, ignored);
}

std::string ValkeyServer::address() const {
  return socket_.empty() ? "127.0.0.1:" + std::to_string(port_) : "unix:" + socket_.string();
}

Socket ValkeyServer::connect() const {
  return connect_to(port_, {.address = socket_.empty() ? "127.0.0.1" : "unix:" + socket_.string()});
}

std::vector<std::string> ValkeyServer::command_line() const {
  std::vector<std::string> line = {find_program(), "--bind", "127.0.0.1",      "--port",    std::to_string(port_),
                                   "--save",       "",       "--appendonly",   "no",        "--daemonize",
                                   "no",           "--dir",  folder_.string(), "--logfile", ""};
  if (!socket_.empty()) line.insert(line.end(), {"--unixsocket", socket_.string()});
  line.insert(line.end(), arguments_.begin(), arguments_.end());
  return line;
}

void ValkeyServer::start() {
  if (pid_ != 0) return;
  std::vector<std::string> line = command_line();
  if (line.front().empty()) {
    ADD_FAILURE() << "neither valkey-server nor redis-server is on PATH: install one, as Debian's redis-server";
    return;
  }
  std::string const program = line.front();
  pid_ = run(std::move(line), folder_ / "log");
  bool gone = pid_ < 0;
  bool const up = !gone && eventually([&] {
    gone = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    return gone || answers();
  });
  if (up && !gone) return;
  if (gone) {
    pid_ = 0;
  } else {
    kill();
  }
  ADD_FAILURE() << program << " did not come up; its last words:\n" << log();
}

bool ValkeyServer::answers() const {
  Socket socket = connect();
  return socket && ask(socket, {"PING"}, Milliseconds(1'000));
}

void ValkeyServer::stop() { end(SIGTERM); }

void ValkeyServer::kill() { end(SIGKILL); }

void ValkeyServer::end(int signal) {
  if (pid_ <= 0) return;
  ::kill(pid_, signal);
  ::kill(pid_, SIGCONT);  // a paused one hears of SIGTERM only when it goes on
  bool const ended = eventually([&] { return ::waitpid(pid_, nullptr, WNOHANG) == pid_; });
  if (!ended) {
    ADD_FAILURE() << "the server did not end; its last words:\n" << log();
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = 0;
}

void ValkeyServer::pause() {
  ASSERT_GT(pid_, 0) << "the server does not run";
  ::kill(pid_, SIGSTOP);
  int status = 0;
  bool const stopped = ::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status);
  if (!stopped) pid_ = 0;
  ASSERT_TRUE(stopped) << "the server ended in place of pausing; its last words:\n" << log();
}

void ValkeyServer::resume() {
  ASSERT_GT(pid_, 0) << "the server does not run";
  ::kill(pid_, SIGCONT);
}

std::string ValkeyServer::cli(std::vector<std::string> const& words, Milliseconds bound) const {
  Socket socket = connect();
  auto const password = std::find(arguments_.begin(), arguments_.end(), "--requirepass");
  if (socket && password != arguments_.end()) ask(socket, {"AUTH", *std::next(password)}, bound);
  std::optional<std::string> const reply = socket ? ask(socket, words, bound) : std::nullopt;
  if (reply) return reply_text(*reply);
  ADD_FAILURE() << "no reply of the server to " << (words.empty() ? "nothing" : words.front());
  return {};
}

std::string ValkeyServer::info(std::string_view field) const {
  std::istringstream lines(cli({"INFO", "everything"}));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.starts_with(std::string(field) + ":")) return line.substr(field.size() + 1);
  }
  return {};
}

std::size_t ValkeyServer::calls(std::string_view command) const {
  std::string const statistics = info("cmdstat_" + std::string(command));  // calls=3,usec=...
  std::size_t count = 0;
  constexpr std::string_view label = "calls=";
  if (statistics.starts_with(label))
    std::from_chars(statistics.data() + label.size(), statistics.data() + statistics.size(), count);
  return count;
}

std::string ValkeyServer::log() const {
  std::ifstream file(folder_ / "log");
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t last = 2'000;
  return text.size() > last ? text.substr(text.size() - last) : text;
}

}  // namespace weir::test
