#include "weir/observe/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include "output.hpp"
#include "weir/base/assert.hpp"
#include "weir/observe/json_text.hpp"

namespace weir::observe {
namespace {

boost::system::error_code last_error() noexcept { return {errno, boost::system::system_category()}; }

// Whole lines to a descriptor. Runs on the log's thread, but for `use_next` and `lost`.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  DescriptorSink(int descriptor, bool owned) noexcept : descriptor_(descriptor), owned_(owned) {}
  ~DescriptorSink() override {
    close_owned(next_.exchange(-1));
    if (owned_) close_owned(descriptor_);
  }

  // Takes `descriptor` before the next line or flush.
  void use_next(int descriptor) noexcept { close_owned(next_.exchange(descriptor)); }
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  void stop() noexcept { output_.stop(); }
  void count_lost() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

 protected:
  void sink_it_(spdlog::details::log_msg const& message) override {
    take_next();
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // A line that was cut gets its end before the next.
    if ((mid_line_ && !write_all("\n")) || !write_all({line.data(), line.size()})) count_lost();
  }
  void flush_() override { take_next(); }

 private:
  static void close_owned(int descriptor) noexcept {
    if (descriptor >= 0) ::close(descriptor);
  }

  void take_next() noexcept {
    int const next = next_.exchange(-1);
    if (next < 0) return;
    if (owned_) close_owned(descriptor_);
    descriptor_ = next;
    owned_ = true;
    mid_line_ = false;
  }

  bool write_all(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
      if (!output_.is_ready(descriptor_)) return false;
      ssize_t const written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), Output::safe_piece));
      if (written > 0) {
        mid_line_ = bytes[static_cast<std::size_t>(written) - 1] != '\n';
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (written == 0 || (errno != EINTR && errno != EAGAIN)) {
        return false;
      }
    }
    return true;
  }

  Output output_;
  int descriptor_;
  bool owned_;
  bool mid_line_ = false;
  std::atomic<int> next_{-1};
  std::atomic<std::uint64_t> lost_{0};
};

spdlog::level::level_enum spdlog_level(LogLevel level) noexcept {
  static constexpr std::array levels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err,
                                     spdlog::level::off};
  return levels[static_cast<std::size_t>(level)];
}

struct Log {
  LogFormat format;
  std::string file;
  std::shared_ptr<DescriptorSink> sink;
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> logger;
};

std::atomic<Log*> running{nullptr};

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 32> digits;
  auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end.ptr);
}

// A word needs no quotes in a text line: a reader that splits at blanks and at the first '=' gets it back.
bool is_word(std::string_view text) noexcept {
  for (char const c : text) {
    if (c <= ' ' || c > '~' || c == '"' || c == '=' || c == '\\') return false;
  }
  return !text.empty();
}

struct AppendValue {
  std::string& out;
  LogFormat format;

  void operator()(std::string_view text) const {
    if (format == LogFormat::text && is_word(text))
      out += text;
    else
      append_json_string(out, text);
  }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(double value) const {
    if (std::isfinite(value))
      append_number(out, value);
    else
      out += "null";
  }
  void operator()(std::int64_t value) const { append_number(out, value); }
  void operator()(std::uint64_t value) const { append_number(out, value); }
};

// The pattern puts time and level before it.
std::string message_of(LogFormat format, std::string_view event, LogFields fields) {
  std::string out;
  AppendValue const append{out, format};
  if (format == LogFormat::json) out += "\"event\":";
  append(event);
  for (auto const& field : fields) {
    if (format == LogFormat::json) {
      out += ',';
      append_json_string(out, field.name);
      out += ':';
    } else {
      out += ' ';
      out += field.name;
      out += '=';
    }
    std::visit(append, field.value);
  }
  return out;
}

std::unique_ptr<spdlog::formatter> formatter_for(LogFormat format) {
  char const* const pattern =
      format == LogFormat::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc, "\n");
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view word) noexcept {
  if (word == "debug") return LogLevel::debug;
  if (word == "info") return LogLevel::info;
  if (word == "warning") return LogLevel::warning;
  if (word == "error") return LogLevel::error;
  if (word == "off") return LogLevel::off;
  return std::nullopt;
}

boost::system::error_code start_log(LogOptions const& options) {
  WEIR_ASSERT(running.load() == nullptr);
  WEIR_ASSERT(options.queue > 0);
  bool const to_file = !options.file.empty();
  int const descriptor = to_file ? open_for_append(options.file.c_str()) : STDERR_FILENO;
  if (descriptor < 0) return last_error();
  auto log = std::make_unique<Log>();
  log->format = options.format;
  log->file = options.file;
  log->sink = std::make_shared<DescriptorSink>(descriptor, to_file);
  log->sink->set_formatter(formatter_for(options.format));
  log->pool = std::make_shared<spdlog::details::thread_pool>(options.queue, 1);
  log->logger =
      std::make_shared<spdlog::async_logger>("weir", log->sink, log->pool, spdlog::async_overflow_policy::overrun_oldest);
  log->logger->set_level(spdlog_level(options.level));
  // spdlog's own handler prints to standard error; a line that failed is counted like any other lost one.
  log->logger->set_error_handler([sink = log->sink](std::string const&) { sink->count_lost(); });
  running.store(log.release());
  return {};
}

void stop_log() noexcept {
  std::unique_ptr<Log> const log(running.exchange(nullptr));
  if (!log) return;
  log->sink->stop();
  log->pool.reset();  // joins its thread behind the last line
}

boost::system::error_code reopen_log() {
  Log* const log = running.load();
  if (log == nullptr || log->file.empty()) return {};
  int const descriptor = open_for_append(log->file.c_str());
  if (descriptor < 0) return last_error();
  log->sink->use_next(descriptor);
  log->logger->flush();  // so that a quiet log lets go of the old file too
  return {};
}

void set_log_level(LogLevel level) noexcept {
  if (Log* const log = running.load()) log->logger->set_level(spdlog_level(level));
}

std::uint64_t log_dropped() noexcept {
  Log* const log = running.load();
  return log == nullptr ? 0 : log->pool->overrun_counter() + log->sink->lost();
}

void log(LogLevel level, std::string_view event, LogFields fields) noexcept {
  Log* const log = running.load(std::memory_order_acquire);
  if (log == nullptr || level == LogLevel::off || !log->logger->should_log(spdlog_level(level))) return;
  try {
    std::string const message = message_of(log->format, event, fields);
    log->logger->log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (std::exception const&) { log->sink->count_lost(); }
}

std::optional<std::uint64_t> EverySoOften::operator()(base::SteadyTime now) noexcept {
  auto next = next_.load(std::memory_order_relaxed);
  if (now < next || !next_.compare_exchange_strong(next, now + period_, std::memory_order_relaxed)) {
    skipped_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  return skipped_.exchange(0, std::memory_order_relaxed);
}

}  // namespace weir::observe
