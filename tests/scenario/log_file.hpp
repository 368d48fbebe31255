// Weir's log in a file of its own, for scenarios that read it.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "weir/observe/log.hpp"

namespace weir::test {

// A log in a file, while it lives.
class Log {
 public:
  Log() : file_(std::filesystem::temp_directory_path() / ("weir-log-" + std::to_string(::getpid()) + ".log")) {
    EXPECT_FALSE(observe::start_log({.file = file_.string()}));
  }
  ~Log() {
    observe::stop_log();
    std::filesystem::remove(file_);
  }
  std::string text() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t count(std::string const& word) const {
    auto const all = text();
    std::size_t count = 0;
    for (auto at = all.find(word); at != std::string::npos; at = all.find(word, at + 1)) ++count;
    return count;
  }

 private:
  std::filesystem::path file_;
};

}  // namespace weir::test
