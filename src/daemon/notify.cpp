#include "weir/daemon/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weir::daemon {
namespace {

void send(std::string const& message) {
  char const* const path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  auto const size = std::strlen(path);
  if (size < 2 || size >= sizeof where.sun_path || (*path != '/' && *path != '@')) return;
  std::memcpy(where.sun_path, path, size);
  if (*path == '@') where.sun_path[0] = '\0';  // a name without a file
  int const descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  auto const length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  sendto(descriptor, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&where),
         length);
  close(descriptor);
}

std::optional<std::uint64_t> number_in(char const* variable) {
  char const* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  std::uint64_t number = 0;
  auto const end = text + std::strlen(text);
  auto const read = std::from_chars(text, end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

void notify_ready(std::string_view status) { send("READY=1\nSTATUS=" + std::string(status)); }

// It tells a reload from the one before by the time at which it began.
void notify_reloading() {
  auto const monotonic = base::Clock::now().time_since_epoch();
  auto const microseconds = std::chrono::duration_cast<std::chrono::microseconds>(monotonic).count();
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds) + "\nSTATUS=reloading");
}

void notify_stopping() { send("STOPPING=1\nSTATUS=draining"); }

void notify_alive() { send("WATCHDOG=1"); }

std::optional<base::Duration> watchdog_interval() {
  auto const microseconds = number_in("WATCHDOG_USEC");
  auto const pid = number_in("WATCHDOG_PID");
  if (!microseconds || *microseconds == 0 || (pid && *pid != static_cast<std::uint64_t>(getpid()))) return std::nullopt;
  return std::chrono::microseconds(*microseconds);
}

}  // namespace weir::daemon
