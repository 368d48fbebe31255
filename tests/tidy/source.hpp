// The source tree as text. Threads: any.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tidy {

struct SourceFile {
  std::string path;  // from the root of the tree, with `/`
  std::string text;
  std::string code;  // `text` of a C++ file with blanks for comments and the insides of literals, line for line

  bool in(std::string_view folder) const { return path.starts_with(folder); }
  bool is_header() const { return path.ends_with(".hpp"); }
  bool is_cpp() const { return is_header() || path.ends_with(".cpp"); }
};

struct Finding {
  std::string path;
  std::size_t line = 0;  // from 1; 0: the whole file
  std::string advice;
};
using Findings = std::vector<Finding>;

SourceFile make_source(std::string path, std::string text);

// Every file that people write, build folders and fuzz seeds left out.
std::vector<SourceFile> read_tree(std::filesystem::path const& root);

std::string blank_comments_and_literals(std::string_view text);
std::size_t line_of(std::string_view text, std::size_t offset);
bool is_word_char(char c);

// The first whole word `word` (which may hold `::` and end with `(`) from `from` on; npos if there is none.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0);

// One line each, as `path:line: advice`.
std::string to_text(Findings const& findings);

}  // namespace weir::tidy
