#include "tidy/source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>

namespace weir::tidy {

namespace {

constexpr std::array<std::string_view, 8> folders = {".ci", "bench", "config", "docker", "include", "src", "tests", "."};
constexpr std::array<std::string_view, 12> endings = {".cpp", ".hpp",  ".md",  ".txt", ".yaml", ".yml",
                                                      ".sh",  ".json", ".mjs", ".js",  ".html", ".service"};

bool is_text_of_ours(std::filesystem::path const& path, std::string const& name) {
  if (name.starts_with("tests/fuzz/corpus/") || name.find("node_modules/") != std::string::npos) return false;
  std::string const extension = path.extension().string();
  return extension.empty() || std::find(endings.begin(), endings.end(), extension) != endings.end();
}

// Whether the quote at `at` separates digits, as in 1'000.
bool separates_digits(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && (is_word_char(text[begin - 1]) || text[begin - 1] == '\'')) --begin;
  return begin < at && std::isdigit(static_cast<unsigned char>(text[begin])) != 0;
}

// The offset behind the literal or comment that begins at `at`; `at` itself if none does.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  auto const behind = [&](std::string_view mark, std::size_t from) {
    std::size_t const found = text.find(mark, from);
    return found == std::string_view::npos ? text.size() : found + mark.size();
  };
  std::string_view const rest = text.substr(at);
  if (rest.starts_with("//")) return std::min(text.size(), text.find('\n', at));
  if (rest.starts_with("/*")) return behind("*/", at + 2);
  if (rest.starts_with("R\"") && (at == 0 || !is_word_char(text[at - 1]))) {
    std::size_t const open = text.find('(', at);
    if (open == std::string_view::npos) return text.size();
    return behind(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
  }
  char const quote = rest.front();
  if (quote != '"' && (quote != '\'' || separates_digits(text, at))) return at;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
  return std::min(text.size(), end + 1);
}

}  // namespace

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The file name of an include stays: it is what the room rules read.
std::string blank_comments_and_literals(std::string_view text) {
  std::string code(text);
  for (std::size_t at = 0; at < text.size();) {
    bool const at_line_start = at == 0 || text[at - 1] == '\n';
    if (at_line_start && text.substr(at).starts_with("#include")) {
      at = std::min(text.size(), text.find('\n', at));
      continue;
    }
    std::size_t const end = end_of_literal(text, at);
    for (std::size_t i = at; i < end; ++i)
      if (code[i] != '\n') code[i] = ' ';
    at = std::max(end, at + 1);
  }
  return code;
}

std::size_t line_of(std::string_view text, std::size_t offset) {
  auto const end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  for (;;) {
    std::size_t const at = text.find(word, from);
    if (at == std::string_view::npos) return at;
    std::size_t const end = at + word.size();
    bool const begins = at == 0 || !is_word_char(word.front()) || !is_word_char(text[at - 1]);
    bool const ends = end == text.size() || !is_word_char(word.back()) || !is_word_char(text[end]);
    if (begins && ends) return at;
    from = at + 1;
  }
}

SourceFile make_source(std::string path, std::string text) {
  SourceFile file{std::move(path), std::move(text), {}};
  if (file.is_cpp()) file.code = blank_comments_and_literals(file.text);
  return file;
}

std::vector<SourceFile> read_tree(std::filesystem::path const& root) {
  std::vector<SourceFile> files;
  auto const add = [&](std::filesystem::directory_entry const& entry) {
    std::string name = entry.path().lexically_relative(root).generic_string();
    if (name == ".git") return;  // of a linked worktree, where it is a file
    if (!entry.is_regular_file() || !is_text_of_ours(entry.path(), name)) return;
    std::ifstream in(entry.path(), std::ios::binary);
    files.push_back(make_source(std::move(name), std::string(std::istreambuf_iterator<char>(in), {})));
  };
  for (std::string_view folder : folders) {
    if (folder == ".") {
      for (auto const& entry : std::filesystem::directory_iterator(root)) add(entry);
    } else if (std::filesystem::exists(root / folder)) {
      for (auto const& entry : std::filesystem::recursive_directory_iterator(root / folder)) add(entry);
    }
  }
  std::sort(files.begin(), files.end(), [](SourceFile const& a, SourceFile const& b) { return a.path < b.path; });
  return files;
}

std::string to_text(Findings const& findings) {
  std::string text;
  for (Finding const& finding : findings)
    text += finding.path + ":" + std::to_string(finding.line) + ": " + finding.advice + "\n";
  return text;
}

}  // namespace weir::tidy
