#include "support/resp.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>

namespace weir::test {

namespace {

using Is = ValueExtent::Is;

// One scalar, or the head of an aggregate.
struct Token {
  Is is = Is::malformed;
  std::size_t size = 0;      // bytes of it, line ends included
  std::size_t elements = 0;  // values that follow and belong to it
  std::optional<std::string_view> text{};
};

std::optional<std::int64_t> number_in(std::string_view digits) {
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  return value;
}

Token blob(std::string_view bytes, std::size_t head, std::size_t length) {
  if (bytes.size() - head < length + 2) return {.is = Is::partial};
  if (bytes.substr(head + length, 2) != "\r\n") return {};
  return {.is = Is::whole, .size = head + length + 2, .text = bytes.substr(head, length)};
}

Token first_token(std::string_view bytes) {
  constexpr std::string_view scalar_kinds = "+-:_#,(", blob_kinds = "$=!", aggregate_kinds = "*~>%|";
  if (bytes.empty()) return {.is = Is::partial};
  char const kind = bytes.front();
  bool const is_scalar = scalar_kinds.find(kind) != std::string_view::npos;
  bool const is_blob = blob_kinds.find(kind) != std::string_view::npos;
  if (!is_scalar && !is_blob && aggregate_kinds.find(kind) == std::string_view::npos) return {};
  std::size_t const line_end = bytes.find("\r\n");
  if (line_end == std::string_view::npos) return {.is = Is::partial};
  std::size_t const head = line_end + 2;
  std::string_view const line = bytes.substr(1, line_end - 1);
  if (kind == '_') return {.is = Is::whole, .size = head, .text = "(nil)"};
  if (is_scalar) return {.is = Is::whole, .size = head, .text = kind == '-' ? bytes.substr(0, line_end) : line};
  std::optional<std::int64_t> const length = number_in(line);
  if (!length || *length < -1) return {};
  if (*length == -1) return {.is = Is::whole, .size = head, .text = "(nil)"};
  auto const count = static_cast<std::size_t>(*length);
  if (is_blob) return blob(bytes, head, count);
  bool const in_pairs = kind == '%' || kind == '|';
  // An attribute stands before the value that it describes.
  return {.is = Is::whole, .size = head, .elements = count * (in_pairs ? 2 : 1) + (kind == '|' ? 1 : 0)};
}

}  // namespace

std::string write_command(std::vector<std::string> const& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (std::string const& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return bytes;
}

std::string small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

ValueExtent first_value(std::string_view bytes) {
  std::size_t at = 0;
  for (std::size_t missing = 1; missing > 0; --missing) {
    Token const token = first_token(bytes.substr(at));
    if (token.is != Is::whole) return {token.is, 0};
    at += token.size;
    missing += token.elements;
  }
  return {Is::whole, at};
}

std::vector<std::string> scalars(std::string_view value, std::size_t most) {
  std::vector<std::string> found;
  while (!value.empty() && found.size() < most) {
    Token const token = first_token(value);
    if (token.is != Is::whole) break;
    if (token.text) found.emplace_back(*token.text);
    value.remove_prefix(token.size);
  }
  return found;
}

std::string reply_text(std::string_view value) {
  std::string text;
  for (std::string const& scalar : scalars(value)) text += (text.empty() ? "" : "\n") + scalar;
  return text;
}

}  // namespace weir::test
