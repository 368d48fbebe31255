// replay_seeds NAME FOLDER: runs every file there through the fuzz target of that name, whatever the compiler, so that what
// was found once stays found. Also the empty input, and each seed cut short.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#define TARGET(name) extern "C" int replay_##name(std::uint8_t const* data, std::size_t size);
#include "targets.inc"
#undef TARGET

namespace {

struct Target {
  std::string_view name;
  int (*run)(std::uint8_t const*, std::size_t);
};

constexpr Target targets[] = {
#define TARGET(name) {#name, replay_##name},
#include "targets.inc"
#undef TARGET
};

// In an allocation of its own size, so that a read beyond it is seen by ASan.
void run(Target const& target, std::string_view bytes) {
  std::vector<std::uint8_t> const input(bytes.begin(), bytes.end());
  target.run(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  auto const* const target = std::ranges::find(targets, std::string_view(argc == 3 ? argv[1] : ""), &Target::name);
  if (target == std::end(targets)) {
    std::fprintf(stderr, "usage: replay_seeds NAME FOLDER\n");
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (auto const& file : std::filesystem::directory_iterator(argv[2])) files.push_back(file.path());
  std::ranges::sort(files);
  run(*target, {});
  for (auto const& file : files) {
    std::fprintf(stderr, "%s\n", file.filename().c_str());
    std::ifstream in(file, std::ios::binary);
    std::string const seed{std::istreambuf_iterator<char>(in), {}};
    run(*target, seed);
    run(*target, std::string_view(seed).substr(0, seed.size() / 2));
  }
  std::printf("%zu seeds\n", files.size());
  return files.empty() ? 1 : 0;
}
