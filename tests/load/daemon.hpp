// The shipped binary as a process of its own, with an operator's door. It ends with this value. Threads: one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "support/message.hpp"

namespace weir::load {

// What the process has, as /proc tells.
struct Usage {
  std::int64_t resident = 0, peak = 0;  // bytes; the peak since `forget_peak`
  std::int64_t descriptors = 0;
  double cpu_seconds = 0;
};

class Daemon {
 public:
  // In front of the origin on `origin_port`, on a free port. `settings`: YAML beside `version`, `listen`, `admin` and
  // `origins`.
  Daemon(std::uint16_t origin_port, std::string const& settings);
  ~Daemon();
  Daemon(Daemon const&) = delete;
  Daemon& operator=(Daemon const&) = delete;

  std::uint16_t port() const noexcept { return port_; }

  test::Response admin(std::string_view method, std::string_view target, std::string_view body = {}) const;
  std::map<std::string, double, std::less<>> metrics() const;
  double metric(std::string_view sample) const;  // by its exact name and labels; fails the test if there is none
  // Writes the file anew and reloads; the status of the call.
  int reload(std::string const& settings);
  Usage usage() const;
  void forget_peak() const;
  // No flight, no fetch, nobody in a queue.
  bool settles() const;
  std::string stats() const;

  // Drains and ends: it must do so with 0, and without an error in its log.
  void stop();

 private:
  void write(std::string const& settings) const;
  std::string log() const;

  std::filesystem::path folder_;
  std::uint16_t origin_port_, port_ = 0;
  pid_t pid_ = 0;
};

}  // namespace weir::load
