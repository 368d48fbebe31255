#include "weir/observe/json_text.hpp"

namespace weir::observe {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) noexcept {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

// Bytes of the well-formed sequence at `i` (Unicode table 3-7: no overlong forms, no surrogates); 0 if there is none.
std::size_t sequence_size(std::string_view text, std::size_t i) noexcept {
  auto const between = [&](std::size_t at, unsigned low, unsigned high) {
    return byte_at(text, at) >= low && byte_at(text, at) <= high;
  };
  unsigned const lead = byte_at(text, i);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return between(i + 1, 0x80, 0xBF) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    unsigned const low = lead == 0xE0 ? 0xA0 : 0x80;
    unsigned const high = lead == 0xED ? 0x9F : 0xBF;
    return between(i + 1, low, high) && between(i + 2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    unsigned const low = lead == 0xF0 ? 0x90 : 0x80;
    unsigned const high = lead == 0xF4 ? 0x8F : 0xBF;
    return between(i + 1, low, high) && between(i + 2, 0x80, 0xBF) && between(i + 3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

void append_control(std::string& out, unsigned char code) {
  static constexpr char hex[] = "0123456789abcdef";
  out += "\\u00";
  out += hex[code >> 4];
  out += hex[code & 0xF];
}

void append_ascii(std::string& out, char c) {
  auto const code = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (code < 0x20 || code == 0x7F) {
    append_control(out, code);
  } else {
    out += c;
  }
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    std::size_t const size = sequence_size(text, i);
    if (size == 0)
      out += "\xEF\xBF\xBD";
    else
      out += text.substr(i, size);
    i += size == 0 ? 1 : size;
  }
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    std::size_t const size = sequence_size(text, i);
    if (size == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (size == 1)
      append_ascii(out, text[i]);
    else if (size == 2 && byte_at(text, i) == 0xC2 && byte_at(text, i + 1) < 0xA0)  // U+0080 to U+009F steer terminals, too
      append_control(out, byte_at(text, i + 1));
    else
      out += text.substr(i, size);
    i += size;
  }
  out += '"';
}

}  // namespace weir::observe
