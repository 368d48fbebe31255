// The access log (OBS-4): a line for each request, when asked for. A worker copies what is to be told into a queue of its
// own, without a lock, a wait or an allocation; one thread makes lines of it and writes them. What finds its queue full is
// lost and counted: no request waits for a file. Owner: the daemon; outlives the workers. Threads: `queue(i)` is its
// worker's; `use`, `reopen` and the destructor from one at a time, the counts from any.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include "weir/base/clock.hpp"
#include "weir/observe/log.hpp"
#include "weir/observe/metrics.hpp"
#include "weir/observe/status_fields.hpp"

namespace weir::observe {

struct Access {
  base::WallTime came{};
  base::Duration until_answer{}, until_end{};  // from the request's head to the first and the last byte of its answer
  std::uint64_t body_bytes = 0;                // that were sent
  int status = 0;                              // 499: the client left before there was one
  int version = 11;                            // 10, 11; 0: the request could not be read
  Outcome outcome = Outcome::error;
  CacheStatus cache_status;  // `detail` is a literal
  bool whole = true;         // the answer was sent to its end
  // Of these at most `longest` bytes are told.
  static constexpr std::size_t longest = 2048;
  std::string_view client, method, target, host, site, referer, agent, request_id;
};

// One line without its end. `text` is the combined format with the host, the outcome, the Cache-Status and both times in
// seconds behind it. Whatever a client sent, it cannot begin a line or end a quoted part.
void append_access_line(std::string& out, Access const& access, LogFormat format);

// One worker's. One thread pushes, another pops.
class AccessQueue {
 public:
  explicit AccessQueue(std::size_t bytes);
  // False: no room.
  bool push(Access const& access) noexcept;
  bool pop(Access& access, std::string& storage);
  bool is_half_full() const noexcept;

 private:
  void put(std::size_t& at, void const* from, std::size_t size) noexcept;
  void get(std::size_t& at, void* to, std::size_t size) const noexcept;

  alignas(64) std::atomic<std::size_t> head_{0};
  std::vector<char> ring_;  // a power of two
  alignas(64) std::atomic<std::size_t> tail_{0};
};

class Output;

class AccessLog {
 public:
  static constexpr std::size_t queue_bytes = std::size_t{1} << 20;  // of each worker, once it is on
  explicit AccessLog(std::size_t workers);
  ~AccessLog();          // stops
  void stop() noexcept;  // writes what waits, of what nobody reads no more than fits; after the workers were joined

  // Opens a file for appending, or `stdout`.
  static boost::system::result<int> open(std::string const& file);
  // From now on to `descriptor`, which was opened for `file`; an empty file: off, and closed when what waits is
  // written. Workers are to `push` only while it is on.
  void use(std::string file, int descriptor, LogFormat format);
  // USR1: the file by its name again. On an error the old one stays in use.
  boost::system::error_code reopen();

  // On the worker's own thread.
  void push(std::size_t worker, Access const& access) noexcept;
  // Lines lost: found no room, or could not be written.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  void run();
  bool write_waiting();
  bool write_batch() noexcept;
  void write(std::string_view lines);

  std::vector<std::unique_ptr<AccessQueue>> queues_;  // made by the first `use`
  std::unique_ptr<Output> output_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<int> next_{-1};
  std::atomic<bool> off_{false};
  std::atomic<LogFormat> format_{LogFormat::text};
  std::string file_;
  int descriptor_ = -1;    // the thread's
  bool mid_line_ = false;  // the same
  std::mutex mutex_;       // guards `stopping_`
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace weir::observe
