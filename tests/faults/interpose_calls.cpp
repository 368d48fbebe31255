// The wrappers of system calls. Descriptors of files are told from others by what fstat says of them.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>

#include "faults/interpose.hpp"

namespace weir::test {
namespace {

struct Rule {
  std::atomic<bool> armed{false};
  std::atomic<int> error{0};
  std::atomic<std::uint64_t> first{1}, count{0}, made{0};
};
std::array<Rule, call_count> rules;
std::atomic<int> buffer_bytes{0};  // 0: as large as they are
std::atomic<bool> disk_fills{false};
std::atomic<std::size_t> disk_room{0};
std::atomic<std::uint64_t> all_failed{0};
std::atomic<bool> counting{false};

// Whether this call fails; errno says how.
bool fails(Call call) noexcept {
  if (!counting.load(std::memory_order_acquire)) return false;
  bool const of_files = call >= Call::open;
  if (!of_files && !is_worker()) return false;
  auto& rule = rules[static_cast<std::size_t>(call)];
  auto const number = rule.made.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!rule.armed.load(std::memory_order_acquire)) return false;
  auto const first = rule.first.load(std::memory_order_relaxed);
  if (number < first || number - first >= rule.count.load(std::memory_order_relaxed)) return false;
  all_failed.fetch_add(1, std::memory_order_relaxed);
  errno = rule.error.load(std::memory_order_relaxed);
  return true;
}

// Of a descriptor that a worker has just got. Asio takes a short read for an empty socket and a short write for a full one,
// as the kernel means them; so they are made by the kernel.
int with_small_buffers(int fd) noexcept {
  auto const bytes = is_worker() ? buffer_bytes.load(std::memory_order_relaxed) : 0;
  if (fd < 0 || bytes == 0) return fd;
  int const before = errno;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  errno = before;
  return fd;
}

// What a file takes of so many bytes; nothing: the disk is full.
std::size_t taken_by_disk(std::size_t size) noexcept {
  if (!disk_fills.load(std::memory_order_acquire)) return size;
  auto room = disk_room.load();
  while (!disk_room.compare_exchange_weak(room, room - std::min(room, size))) {}
  return std::min(room, size);
}

bool is_file(int fd) noexcept {
  struct stat about {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

}  // namespace

char const* name_of(Call call) noexcept {
  constexpr std::array<char const*, call_count> names{"accept", "socket", "connect", "receive", "send",
                                                      "watch",  "open",   "write",   "sync",    "rename"};
  return names[static_cast<std::size_t>(call)];
}

namespace calls {

void fail(Call call, int error, Which which) {
  auto& rule = rules[static_cast<std::size_t>(call)];
  rule.error = error;
  rule.first = which.first;
  rule.count = which.count;
  rule.made = 0;
  rule.armed.store(true, std::memory_order_release);
  counting.store(true, std::memory_order_release);
}

void shrink_buffers(int bytes) { buffer_bytes.store(bytes); }

void fill_disk(std::size_t after) {
  disk_room = after;
  disk_fills.store(true, std::memory_order_release);
}

void end() {
  counting.store(false, std::memory_order_release);
  buffer_bytes = 0;
  all_failed = 0;
  disk_fills = false;
  for (auto& rule : rules) {
    rule.armed = false;
    rule.made = 0;
  }
}

std::uint64_t made(Call call) noexcept { return rules[static_cast<std::size_t>(call)].made.load(); }
std::uint64_t failed() noexcept { return all_failed.load(); }

}  // namespace calls
}  // namespace weir::test

using weir::test::Call;
using weir::test::fails;

extern "C" {

int accept(int fd, sockaddr* address, socklen_t* size) {
  if (fails(Call::accept)) return -1;
  return weir::test::with_small_buffers(static_cast<int>(syscall(SYS_accept4, fd, address, size, 0)));
}
int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  if (fails(Call::accept)) return -1;
  return weir::test::with_small_buffers(static_cast<int>(syscall(SYS_accept4, fd, address, size, flags)));
}
int socket(int domain, int type, int protocol) noexcept {
  if (fails(Call::socket)) return -1;
  return weir::test::with_small_buffers(static_cast<int>(syscall(SYS_socket, domain, type, protocol)));
}
int connect(int fd, sockaddr const* address, socklen_t size) {
  return fails(Call::connect) ? -1 : static_cast<int>(syscall(SYS_connect, fd, address, size));
}
ssize_t recv(int fd, void* into, std::size_t size, int flags) {
  return fails(Call::receive) ? -1 : syscall(SYS_recvfrom, fd, into, size, flags, nullptr, nullptr);
}
ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return fails(Call::receive) ? -1 : syscall(SYS_recvmsg, fd, message, flags);
}
ssize_t send(int fd, void const* from, std::size_t size, int flags) {
  return fails(Call::send) ? -1 : syscall(SYS_sendto, fd, from, size, flags, nullptr, 0);
}
ssize_t sendmsg(int fd, msghdr const* message, int flags) {
  return fails(Call::send) ? -1 : syscall(SYS_sendmsg, fd, message, flags);
}
int epoll_ctl(int epoll, int what, int fd, epoll_event* event) noexcept {
  if (what == EPOLL_CTL_ADD && fails(Call::watch)) return -1;
  return static_cast<int>(syscall(SYS_epoll_ctl, epoll, what, fd, event));
}

int open(char const* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  if ((flags & O_ACCMODE) != O_RDONLY && fails(Call::open)) return -1;
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
ssize_t write(int fd, void const* from, std::size_t size) {
  if (size == 0 || !weir::test::is_file(fd)) return syscall(SYS_write, fd, from, size);
  if (fails(Call::write)) return -1;
  auto const taken = weir::test::taken_by_disk(size);
  if (taken > 0) return syscall(SYS_write, fd, from, taken);
  errno = ENOSPC;
  return -1;
}
ssize_t writev(int fd, iovec const* pieces, int count) {
  return weir::test::is_file(fd) && fails(Call::write) ? -1 : syscall(SYS_writev, fd, pieces, count);
}
int fsync(int fd) { return fails(Call::sync) ? -1 : static_cast<int>(syscall(SYS_fsync, fd)); }
int fdatasync(int fd) { return fails(Call::sync) ? -1 : static_cast<int>(syscall(SYS_fdatasync, fd)); }
int rename(char const* from, char const* to) noexcept {
  return fails(Call::rename) ? -1 : static_cast<int>(syscall(SYS_rename, from, to));
}
}
