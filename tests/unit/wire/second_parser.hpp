// A second, strict reader of request heads, written apart from the first and as plainly as possible: what Weir accepts must
// mean the same to another recipient (REQ-1).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::wire {

struct SecondReading {
  std::string method, target, version;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string framing = "none";
  std::size_t size = 0;
};

namespace second {

inline std::vector<std::string> split(std::string const& text, std::string const& by) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(by, from)) != std::string::npos; from = at + by.size())
    parts.push_back(text.substr(from, at - from));
  parts.push_back(text.substr(from));
  return parts;
}

inline bool only(std::string const& text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string::npos;
}

inline constexpr std::string_view token_bytes =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

inline std::string lowered(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

inline std::string trimmed(std::string const& text) {
  std::size_t const from = text.find_first_not_of(" \t");
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

inline std::vector<std::string> values(SecondReading const& reading, std::string const& name) {
  std::vector<std::string> found;
  for (auto const& [key, value] : reading.fields) {
    if (lowered(key) == name) found.push_back(value);
  }
  return found;
}

inline bool read_framing(SecondReading& reading) {
  auto const lengths = values(reading, "content-length");
  auto const codings = values(reading, "transfer-encoding");
  if (lengths.size() + codings.size() > 1) return false;
  if (codings.size() == 1) {
    reading.framing = "chunked";
    return lowered(codings[0]) == "chunked" && reading.version == "HTTP/1.1";
  }
  if (lengths.size() == 1) {
    if (!only(lengths[0], "0123456789")) return false;
    std::size_t const digit = std::min(lengths[0].find_first_not_of('0'), lengths[0].size() - 1);
    reading.framing = "length " + lengths[0].substr(digit);
  }
  return true;
}

}  // namespace second

// Nothing for what is malformed or not complete.
inline std::optional<SecondReading> read_again(std::string bytes) {
  SecondReading reading;
  if (bytes.starts_with("\r\n")) {
    reading.size = 2;
    bytes.erase(0, 2);
  }
  std::size_t const end = bytes.find("\r\n\r\n");
  if (end == std::string::npos) return std::nullopt;
  reading.size += end + 4;
  auto const lines = second::split(bytes.substr(0, end), "\r\n");
  auto const words = second::split(lines[0], " ");
  if (words.size() != 3 || !second::only(words[0], second::token_bytes)) return std::nullopt;
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") return std::nullopt;
  if (words[1].empty()) return std::nullopt;
  for (char const c : words[1]) {
    if (c <= ' ' || c >= 0x7F || c == '#') return std::nullopt;
  }
  reading.method = words[0];
  reading.target = words[1];
  reading.version = words[2];
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::size_t const colon = lines[i].find(':');
    if (colon == std::string::npos || !second::only(lines[i].substr(0, colon), second::token_bytes)) return std::nullopt;
    auto const value = second::trimmed(lines[i].substr(colon + 1));
    for (char const c : value) {
      if (c == 0x7F || (static_cast<unsigned char>(c) < 0x20 && c != '\t')) return std::nullopt;
    }
    reading.fields.emplace_back(lines[i].substr(0, colon), value);
  }
  auto const hosts = second::values(reading, "host").size();
  if (hosts > 1 || (hosts == 0 && reading.version == "HTTP/1.1")) return std::nullopt;
  if (!second::read_framing(reading)) return std::nullopt;
  return reading;
}

}  // namespace weir::wire
