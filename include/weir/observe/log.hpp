// The log (OBS-4): state changes and warnings, never a line a request. A line is an event word and fields. Lines wait in a
// bounded queue for one thread that writes them; when the queue is full the oldest is lost and counted, so nobody who logs
// ever waits for a file. Owner: the process has one log; `start_log` before the first other thread, `stop_log` after the
// last. Threads: any; before the start and after the stop every call does nothing.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <boost/system/error_code.hpp>

#include "weir/base/clock.hpp"

namespace weir::observe {

enum class LogLevel : std::uint8_t { debug, info, warning, error, off };
std::optional<LogLevel> parse_log_level(std::string_view word) noexcept;

enum class LogFormat : std::uint8_t { text, json };

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  std::string file;          // empty: standard error
  std::size_t queue = 4096;  // lines that may wait, at least 1
};

// Fails only if the file cannot be opened for appending.
boost::system::error_code start_log(LogOptions const& options);
// Writes what waits, for at most a second or two if nobody reads it, then ends the thread.
void stop_log() noexcept;
// USR1: opens the file by its name again; lines already queued may go to either. On an error the old file stays in use.
boost::system::error_code reopen_log();
void set_log_level(LogLevel level) noexcept;
// Lines lost since the start: overrun in the queue, or not written.
std::uint64_t log_dropped() noexcept;

struct LogField {
  using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  LogField(std::string_view n, std::string_view v) noexcept : name(n), value(v) {}
  LogField(std::string_view n, double v) noexcept : name(n), value(v) {}
  template <std::same_as<bool> T>  // a plain bool parameter would take literals, too
  LogField(std::string_view n, T v) noexcept : name(n), value(v) {}
  template <std::signed_integral T>
  LogField(std::string_view n, T v) noexcept : name(n), value(static_cast<std::int64_t>(v)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) LogField(std::string_view n, T v)
  noexcept : name(n), value(static_cast<std::uint64_t>(v)) {}

  std::string_view name;  // a literal in snake case; not time, level or event
  Value value;
};
using LogFields = std::initializer_list<LogField>;

// `event`: a literal in kebab case. Copies what it needs; a line for which there is no memory is counted as lost.
void log(LogLevel level, std::string_view event, LogFields fields = {}) noexcept;
inline void log_debug(std::string_view event, LogFields fields = {}) noexcept { log(LogLevel::debug, event, fields); }
inline void log_info(std::string_view event, LogFields fields = {}) noexcept { log(LogLevel::info, event, fields); }
inline void log_warning(std::string_view event, LogFields fields = {}) noexcept { log(LogLevel::warning, event, fields); }
inline void log_error(std::string_view event, LogFields fields = {}) noexcept { log(LogLevel::error, event, fields); }

// True for the first caller only.
class Once {
 public:
  bool operator()() noexcept {
    return !done_.load(std::memory_order_relaxed) && !done_.exchange(true, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> done_{false};
};

// At most one turn in each `period`. A turn says how many were refused since the last, for the line's `skipped` field.
class EverySoOften {
 public:
  explicit EverySoOften(base::Duration period) noexcept : period_(period) {}
  std::optional<std::uint64_t> operator()(base::SteadyTime now) noexcept;

 private:
  base::Duration const period_;
  std::atomic<base::SteadyTime> next_{base::SteadyTime::min()};
  std::atomic<std::uint64_t> skipped_{0};
};

}  // namespace weir::observe
