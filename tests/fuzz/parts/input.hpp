// An input taken apart, the same way in every target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/http/field.hpp"

namespace weir::fuzz {

inline std::string_view text_of(std::uint8_t const* data, std::size_t size) {
  return {reinterpret_cast<char const*>(data), size};
}

// What stands before `end`, which goes too; all of it where there is no `end`.
inline std::string_view take(std::string_view& text, char end) {
  auto const at = text.find(end);
  auto const part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

// The next byte; 0 where there is none.
inline std::uint8_t take_byte(std::string_view& text) {
  if (text.empty()) return 0;
  auto const byte = static_cast<std::uint8_t>(text.front());
  text.remove_prefix(1);
  return byte;
}

inline bool bit(std::uint8_t byte, int n) { return (byte >> n & 1) != 0; }

// Lines "name:value", of which those stay that a head may hold.
inline std::vector<http::Field> fields_of(std::string_view text) {
  std::vector<http::Field> fields;
  while (!text.empty() && fields.size() < 100) {
    auto value = take(text, '\n');
    auto const name = take(value, ':');
    if (http::is_token(name) && http::is_field_value(value))
      fields.push_back({http::field_id(name), name, http::trim(value)});
  }
  return fields;
}

}  // namespace weir::fuzz
