// A second, strict reader of whole messages, written apart from Weir's own and as plainly as possible: request heads as in
// the unit tests, and here response heads and the chunked coding (RFC 9112 4, 6, 7.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../../unit/wire/second_parser.hpp"

namespace weir::fuzz {

struct SecondBody {
  std::string payload;
  std::size_t size = 0;  // in the stream
};

// Chunks, trailer and all; nothing for what is malformed or not complete.
inline std::optional<SecondBody> read_chunks(std::string_view bytes) {
  SecondBody body;
  auto const line = [&]() -> std::optional<std::string_view> {
    auto const end = bytes.find("\r\n", body.size);
    if (end == std::string_view::npos) return std::nullopt;
    auto const text = bytes.substr(body.size, end - body.size);
    body.size = end + 2;
    return text;
  };
  for (;;) {
    auto const text = line();
    if (!text) return std::nullopt;
    std::size_t length = 0, digits = 0;
    for (; digits < text->size(); ++digits) {
      auto const at = std::string_view("0123456789abcdef").find(static_cast<char>((*text)[digits] | 0x20));
      bool const is_digit = (*text)[digits] >= '0' && ((*text)[digits] <= '9' || (*text)[digits] >= 'A');
      if (!is_digit || at == std::string_view::npos) break;
      if (length >> 60U != 0) return std::nullopt;
      length = length * 16 + at;
    }
    if (digits == 0) return std::nullopt;
    auto const extension = wire::second::trimmed(std::string(text->substr(digits)));
    if (!extension.empty() && extension.front() != ';') return std::nullopt;
    if (extension.find_first_of("\r\n") != std::string::npos) return std::nullopt;
    if (length == 0) break;
    if (bytes.size() - body.size < length || bytes.substr(body.size + length, 2) != "\r\n") return std::nullopt;
    body.payload += bytes.substr(body.size, length);
    body.size += length + 2;
  }
  for (auto text = line(); text; text = line()) {
    if (text->empty()) return body;
    auto const colon = text->find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    if (!wire::second::only(std::string(text->substr(0, colon)), wire::second::token_bytes)) return std::nullopt;
    if (text->find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return std::nullopt;
  }
  return std::nullopt;
}

// The body that `framing` ("none", "length N", "chunked", "until close") says; nothing if it is not all there.
inline std::optional<SecondBody> read_body(std::string const& framing, std::string_view bytes) {
  if (framing == "none") return SecondBody{};
  if (framing == "chunked") return read_chunks(bytes);
  if (framing == "until close") return SecondBody{std::string(bytes), bytes.size()};
  auto const digits = framing.substr(framing.find(' ') + 1);
  if (digits.size() > 18 || std::stoull(digits) > bytes.size()) return std::nullopt;
  auto const length = static_cast<std::size_t>(std::stoull(digits));
  return SecondBody{std::string(bytes.substr(0, length)), length};
}

struct SecondResponse {
  int status = 0;
  std::string reason;
  wire::SecondReading rest;  // `method` and `target` mean nothing
};

// Of an answer to HEAD, or to anything else; nothing for what is malformed or not complete.
inline std::optional<SecondResponse> read_response_again(std::string_view bytes, bool to_head) {
  auto const end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  auto const lines = wire::second::split(std::string(bytes.substr(0, end)), "\r\n");
  auto const& first = lines[0];
  SecondResponse response;
  auto& rest = response.rest;
  rest.size = end + 4;
  rest.version = first.substr(0, 8);
  if (first.size() < 12 || (rest.version != "HTTP/1.1" && rest.version != "HTTP/1.0") || first[8] != ' ')
    return std::nullopt;
  auto const digits = first.substr(9, 3);
  if (!wire::second::only(digits, "0123456789") || digits[0] == '0') return std::nullopt;
  response.status = std::stoi(digits);
  if (first.size() > 12 && first[12] != ' ') return std::nullopt;
  if (first.size() > 13) response.reason = first.substr(13);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto const colon = lines[i].find(':');
    if (colon == std::string::npos || !wire::second::only(lines[i].substr(0, colon), wire::second::token_bytes))
      return std::nullopt;
    auto const value = wire::second::trimmed(lines[i].substr(colon + 1));
    if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) return std::nullopt;
    rest.fields.emplace_back(lines[i].substr(0, colon), value);
  }
  if (!wire::second::read_framing(rest)) return std::nullopt;
  if (rest.framing == "none") rest.framing = "until close";
  if (to_head || response.status < 200 || response.status == 204 || response.status == 304) rest.framing = "none";
  return response;
}

}  // namespace weir::fuzz
