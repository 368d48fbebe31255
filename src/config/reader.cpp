#include "reader.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace weir::config {
namespace {

constexpr std::size_t max_secret = 64 << 10;

// Levenshtein's distance; both are short.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t const replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

bool is_variable_name(std::string_view name) noexcept {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

Reader::Step::Step(Reader& reader, std::string_view key) : reader_(reader), size_(reader.path_.size()) {
  if (size_ > 0) reader.path_ += '.';
  reader.path_ += key;
}

Reader::Step::Step(Reader& reader, std::size_t index) : reader_(reader), size_(reader.path_.size()) {
  reader.path_ += "[" + std::to_string(index) + "]";
}

void Reader::warn(std::string what) {
  if (warnings_.size() < Mistakes::most) warnings_.push_back(path_.empty() ? std::move(what) : path_ + ": " + what);
}

std::string const* Reader::text_of(Item const& item, std::string_view expected) {
  if (!item.is_scalar()) {
    std::string_view const found = item.is_null() ? "nothing" : item.is_list() ? "a list" : "a group of keys";
    mistake(item, "expected " + std::string(expected) + ", not " + std::string(found));
    return nullptr;
  }
  bool const control = std::any_of(item.text.begin(), item.text.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!control) return &item.text;
  mistake(item, "control characters are not allowed");
  return nullptr;
}

std::string const* Reader::variable(std::string_view name) const noexcept {
  for (auto const& [key, value] : sources_.environment)
    if (key == name) return &value;
  return nullptr;
}

bool Reader::substitute(Item const& item, std::string& text) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t open = text.find("${"); open != std::string::npos; open = text.find("${", from)) {
    std::size_t const close = text.find('}', open);
    std::string_view const name =
        close == std::string::npos ? std::string_view() : std::string_view(text).substr(open + 2, close - open - 2);
    if (!is_variable_name(name)) {
      mistake(item, "`${` without a variable's name and `}` behind it");
      return false;
    }
    std::string const* const value = variable(name);
    if (!value) {
      mistake(item, "the environment has no variable " + ticked(name));
      return false;
    }
    out.append(text, from, open - from).append(*value);
    if (out.size() > max_secret) {
      mistake(item, "longer than 64 KiB once its variables are replaced");
      return false;
    }
    from = close + 1;
  }
  text = out.append(text, from);
  return true;
}

bool Reader::read_file(Item const& item, std::string const& file, std::uint64_t most, std::string& text) {
  // Only a regular file: a pipe or a device could block the start.
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    mistake(item, "no file " + ticked(file));
    return false;
  }
  std::ifstream in(file, std::ios::binary);
  text.assign(most + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  text.shrink_to_fit();
  bool const readable = in.is_open() && !in.bad();
  if (readable && text.size() <= most) return true;
  mistake(item, readable ? ticked(file) + " is longer than " + std::to_string(most >> 10) + " KiB"
                         : "cannot read " + ticked(file));
  return false;
}

bool Reader::read_secret(Item const& item, std::string const& file, std::string& secret) {
  std::string text;
  if (!read_file(item, file, max_secret + 1, text)) return false;
  bool const fits = text.size() <= max_secret;
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (!fits || text.empty() || text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    mistake(item, ticked(file) + " does not hold one line of at most 64 KiB");
    return false;
  }
  secret = std::move(text);
  return true;
}

std::string nearest(std::string_view word, std::vector<std::string> const& known) {
  word = word.substr(0, 64);
  std::string const* best = nullptr;
  std::size_t least = 0;
  for (std::string const& candidate : known) {
    std::size_t const d = distance(word, candidate);
    if (best && d >= least) continue;
    best = &candidate;
    least = d;
  }
  if (!best) return "none is known here";
  if (least <= std::max<std::size_t>(2, word.size() / 3)) return "did you mean " + ticked(*best) + "?";
  return "the nearest is " + ticked(*best);
}

}  // namespace weir::config
