// What the tests of this room share: loading a text, and its mistakes as lines.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "weir/config/load.hpp"

namespace weir::config::test {

inline constexpr char minimal[] = "version: 1\norigins: {app: {url: \"http://127.0.0.1:9000\"}}\n";

inline Sources file(std::string yaml) {
  return {.file = "weir.yaml", .yaml = std::move(yaml), .environment = {}, .set = {}, .origin = {}, .listen = {}};
}
// The minimal file with more keys behind it; they start in line 3.
inline Sources more(std::string const& yaml) { return file(minimal + yaml); }

inline std::vector<std::string> mistakes_of(Loaded const& loaded) {
  std::vector<std::string> out;
  for (Mistake const& mistake : loaded.mistakes) out.push_back(mistake.text());
  return out;
}
inline std::string all_of(Loaded const& loaded) {
  std::string out;
  for (std::string const& text : mistakes_of(loaded)) out += text + "\n";
  return out;
}

class TemporaryFile {
 public:
  TemporaryFile(std::string const& ending, std::string_view text)
      : name_(std::filesystem::temp_directory_path() / ("weir-config-" + std::to_string(::getpid()) + ending)) {
    std::ofstream(name_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(name_); }
  TemporaryFile(TemporaryFile const&) = delete;
  TemporaryFile& operator=(TemporaryFile const&) = delete;
  std::string const& name() const noexcept { return name_; }

 private:
  std::string name_;
};

inline std::filesystem::path config_folder() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path() / "config";
}
inline std::string content(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace weir::config::test
