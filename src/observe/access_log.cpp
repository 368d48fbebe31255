#include "weir/observe/access_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

#include "output.hpp"
#include "weir/base/assert.hpp"

namespace weir::observe {
namespace {

// The thread looks so often, and at once when a queue is half full.
constexpr std::chrono::milliseconds look_each{100};
constexpr std::size_t batch = std::size_t{64} * 1024;

using Texts = std::array<std::string_view Access::*, 8>;
constexpr Texts texts{&Access::client, &Access::method,  &Access::target, &Access::host,
                      &Access::site,   &Access::referer, &Access::agent,  &Access::request_id};

// What is told of a request beside its texts, as it lies in the queue.
struct Told {
  Access access;  // its texts are cleared
  std::array<std::uint16_t, texts.size()> sizes;
};
static_assert(std::is_trivially_copyable_v<Told>);

}  // namespace

AccessQueue::AccessQueue(std::size_t bytes) : ring_(bytes) { WEIR_ASSERT(bytes > 0 && (bytes & (bytes - 1)) == 0); }

void AccessQueue::put(std::size_t& at, void const* from, std::size_t size) noexcept {
  auto const begin = at & (ring_.size() - 1);
  auto const first = std::min(size, ring_.size() - begin);
  std::memcpy(ring_.data() + begin, from, first);
  std::memcpy(ring_.data(), static_cast<char const*>(from) + first, size - first);
  at += size;
}

void AccessQueue::get(std::size_t& at, void* to, std::size_t size) const noexcept {
  auto const begin = at & (ring_.size() - 1);
  auto const first = std::min(size, ring_.size() - begin);
  std::memcpy(to, ring_.data() + begin, first);
  std::memcpy(static_cast<char*>(to) + first, ring_.data(), size - first);
  at += size;
}

bool AccessQueue::push(Access const& access) noexcept {
  Told told{access, {}};
  std::size_t size = sizeof told;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto& text = told.access.*texts[i];
    told.sizes[i] = static_cast<std::uint16_t>(std::min(text.size(), Access::longest));
    size += told.sizes[i];
    text = {};
  }
  auto at = head_.load(std::memory_order_relaxed);
  if (ring_.size() - (at - tail_.load(std::memory_order_acquire)) < size) return false;
  put(at, &told, sizeof told);
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (told.sizes[i] > 0) put(at, (access.*texts[i]).data(), told.sizes[i]);
  head_.store(at, std::memory_order_release);
  return true;
}

bool AccessQueue::pop(Access& access, std::string& storage) {
  auto at = tail_.load(std::memory_order_relaxed);
  if (at == head_.load(std::memory_order_acquire)) return false;
  alignas(Told) std::array<std::byte, sizeof(Told)> bytes;
  get(at, bytes.data(), bytes.size());
  auto const& told = *reinterpret_cast<Told const*>(bytes.data());
  access = told.access;
  std::size_t all = 0;
  for (auto const size : told.sizes) all += size;
  storage.resize(all);
  get(at, storage.data(), all);
  std::string_view rest = storage;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    access.*texts[i] = rest.substr(0, told.sizes[i]);
    rest.remove_prefix(told.sizes[i]);
  }
  tail_.store(at, std::memory_order_release);
  return true;
}

bool AccessQueue::is_half_full() const noexcept {
  return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_relaxed) > ring_.size() / 2;
}

AccessLog::AccessLog(std::size_t workers) : queues_(workers), output_(std::make_unique<Output>()) {}

void AccessLog::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  output_->stop();
  wake_.notify_all();
  thread_.join();
}

AccessLog::~AccessLog() {
  stop();
  if (int const next = next_.exchange(-1); next >= 0) ::close(next);
  if (descriptor_ >= 0) ::close(descriptor_);
}

boost::system::result<int> AccessLog::open(std::string const& file) {
  int const descriptor = file == "stdout" ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : open_for_append(file.c_str());
  if (descriptor < 0) return boost::system::error_code(errno, boost::system::system_category());
  return descriptor;
}

void AccessLog::use(std::string file, int descriptor, LogFormat format) {
  file_ = std::move(file);
  off_.store(file_.empty());  // before `next_`, so that no descriptor is closed for the one before it
  if (file_.empty()) return;
  format_.store(format, std::memory_order_relaxed);
  if (int const unused = next_.exchange(descriptor); unused >= 0) ::close(unused);
  for (auto& queue : queues_)
    if (!queue) queue = std::make_unique<AccessQueue>(queue_bytes);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

boost::system::error_code AccessLog::reopen() {
  if (file_.empty()) return {};
  auto const opened = open(file_);
  if (!opened) return opened.error();
  if (int const unused = next_.exchange(*opened); unused >= 0) ::close(unused);
  return {};
}

void AccessLog::push(std::size_t worker, Access const& access) noexcept {
  auto& queue = *queues_[worker];
  if (!queue.push(access)) dropped_.fetch_add(1, std::memory_order_relaxed);
  if (queue.is_half_full()) wake_.notify_one();
}

void AccessLog::run() {
  for (;;) {
    bool const more = write_batch();
    std::unique_lock lock(mutex_);
    if (stopping_) break;
    if (!more) wake_.wait_for(lock, look_each);
  }
  while (write_batch()) {}
}

bool AccessLog::write_batch() noexcept {
  try {
    return write_waiting();
  } catch (std::bad_alloc const&) {  // what it had taken out of a queue is lost; the rest waits for better times
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
}

// A batch of each queue; whether there may be more.
bool AccessLog::write_waiting() {
  if (int const next = next_.exchange(-1); next >= 0) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = next;
    mid_line_ = false;
  }
  bool const off = off_.load();  // before the queues are emptied: what they have is all there was
  auto const format = format_.load(std::memory_order_relaxed);
  std::string lines, storage;
  Access access;
  bool more = false;
  for (auto const& queue : queues_) {
    lines.clear();
    while (lines.size() < batch && queue->pop(access, storage)) {
      append_access_line(lines, access, format);
      lines += '\n';
    }
    more = more || lines.size() >= batch;
    if (!lines.empty()) write(lines);
  }
  if (off && !more && descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  return more;
}

// What cannot be written is counted by its lines; a line that was cut gets its end before the next.
void AccessLog::write(std::string_view lines) {
  std::string const ended = mid_line_ ? '\n' + std::string(lines) : std::string();
  std::string_view rest = mid_line_ ? std::string_view(ended) : lines;
  while (!rest.empty()) {
    bool const ready = descriptor_ >= 0 && output_->is_ready(descriptor_);
    ssize_t const written = ready ? ::write(descriptor_, rest.data(), std::min(rest.size(), Output::safe_piece)) : -1;
    if (written < 0 && ready && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) {
      dropped_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(rest, '\n')), std::memory_order_relaxed);
      return;
    }
    mid_line_ = rest[static_cast<std::size_t>(written) - 1] != '\n';
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace weir::observe
