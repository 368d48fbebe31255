#include "tidy/rooms.hpp"

#include <sstream>

namespace weir::tidy {

namespace {

constexpr std::string_view cmake_path = "CMakeLists.txt";

// The floors of the house: an arrow goes to a lower floor.
std::map<std::string, int> const& floors() {
  static std::map<std::string, int> const levels = {
      {"base", 0},    {"http", 1},   {"cache", 2}, {"wire", 2},   {"shield", 3}, {"store", 3},  {"config", 4},
      {"observe", 4}, {"origin", 5}, {"proxy", 6}, {"server", 7}, {"admin", 7},  {"daemon", 8},
  };
  return levels;
}

void add_seen(std::string const& room, Arrows const& arrows, std::set<std::string>& seen) {
  auto const found = arrows.find(room);
  if (!seen.insert(room).second || found == arrows.end()) return;
  for (std::string const& below : found->second) add_seen(below, arrows, seen);
}

// Asio and Beast are for rooms with sockets, Beast's HTTP for the one that reads and writes heads.
std::string wrong_library(std::string const& room, std::string_view header) {
  bool const pure = room == "base" || room == "http" || room == "cache" || room == "shield";
  if (pure && header.starts_with("boost/asio")) return "this room decides and never waits: no Asio here";
  if (room != "wire" && header.starts_with("boost/beast")) return "only wire/ includes Beast: ask it for what is missing";
  return {};
}

}  // namespace

Arrows read_arrows(std::string_view cmake) {
  Arrows arrows;
  constexpr std::string_view call = "weir_room(";
  for (std::size_t at = cmake.find(call); at != std::string_view::npos; at = cmake.find(call, at + 1)) {
    if (at > 0 && cmake[at - 1] != '\n') continue;  // the function's own definition
    std::size_t const begin = at + call.size();
    std::istringstream words(std::string(cmake.substr(begin, cmake.find(')', begin) - begin)));
    std::string room, word;
    words >> room;
    auto& below = arrows[room];
    while (words >> word)
      if (word.starts_with("weir_") && word != "weir_asio") below.insert(word.substr(5));
  }
  return arrows;
}

Findings arrows_that_do_not_go_down(Arrows const& arrows) {
  Findings findings;
  auto const complain = [&](std::string advice) { findings.push_back({std::string(cmake_path), 0, std::move(advice)}); };
  for (auto const& [room, below] : arrows) {
    if (!floors().contains(room)) {
      complain("the picture of the house has no room " + room);
      continue;
    }
    for (std::string const& other : below) {
      if (!floors().contains(other)) {
        complain("the picture of the house has no room " + other);
      } else if (floors().at(other) >= floors().at(room)) {
        complain(room + " must not see " + other + ": arrows go down only");
      }
    }
  }
  return findings;
}

std::string room_of(SourceFile const& file) {
  for (std::string_view const folder : {"include/weir/", "src/"}) {
    if (!file.in(folder)) continue;
    std::size_t const end = file.path.find('/', folder.size());
    return end == std::string::npos ? std::string() : file.path.substr(folder.size(), end - folder.size());
  }
  return {};
}

Findings wrong_includes(SourceFile const& file, Arrows const& arrows) {
  std::string const room = room_of(file);
  if (room.empty() || !file.is_cpp()) return {};
  std::set<std::string> seen;
  add_seen(room, arrows, seen);
  Findings findings;
  constexpr std::string_view include = "#include ";
  for (std::size_t at = file.code.find(include); at != std::string::npos; at = file.code.find(include, at + 1)) {
    std::size_t const begin = at + include.size() + 1;
    std::size_t const end = file.code.find_first_of("\">\n", begin);
    std::string const header = file.code.substr(begin, end - begin);
    std::string advice = wrong_library(room, header);
    if (header.starts_with("weir/")) {
      std::string const other = header.substr(5, header.find('/', 5) - 5);
      if (!seen.contains(other)) advice = room + " does not see " + other + ": give it a value, or move what you need down";
    }
    if (!advice.empty()) findings.push_back({file.path, line_of(file.code, at), header + ": " + advice});
  }
  return findings;
}

}  // namespace weir::tidy
