#include "tidy/requirements.hpp"

#include <cctype>
#include <sstream>

namespace weir::tidy {

namespace {

constexpr std::string_view readme_path = "tests/README.md";

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// The ID at the beginning of `text`; empty if there is none.
std::string id_at(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && std::isupper(static_cast<unsigned char>(text[end])) != 0) ++end;
  if (end == 0 || end + 1 >= text.size() || text[end] != '-' || !is_digit(text[end + 1])) return {};
  for (++end; end < text.size() && is_digit(text[end]);) ++end;
  return std::string(text.substr(0, end));
}

std::set<std::string> named_by_tests(std::vector<SourceFile> const& files, std::set<std::string> const& groups) {
  std::set<std::string> named;
  for (SourceFile const& file : files)
    if (names_requirements(file)) named.merge(ids_in(file.text, groups));
  return named;
}

}  // namespace

Requirements read_requirements(SourceFile const& readme) {
  Requirements result;
  std::istringstream lines(readme.text);
  std::string section;
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    auto const add = [&](std::set<std::string>& ids, std::string const& id) {
      if (!ids.insert(id).second) result.mistakes.push_back({readme.path, number, id + " stands here twice"});
    };
    if (line.starts_with("#")) section = line.substr(line.find_first_not_of("# "));
    if (line.starts_with("- **")) {
      std::string const id = id_at(std::string_view(line).substr(4));
      if (!id.empty()) add(result.all, id);
    } else if (line.starts_with("- ")) {
      std::string const id = id_at(std::string_view(line).substr(2));
      if (id.empty()) continue;
      if (section == "Not built yet") add(result.not_built, id);
      if (section == "Built in part") add(result.in_part, id);
      if (line.size() < id.size() + 5) result.mistakes.push_back({readme.path, number, id + ": say what is missing"});
    }
  }
  for (auto const* listed : {&result.not_built, &result.in_part})
    for (std::string const& id : *listed)
      if (!result.all.contains(id)) result.mistakes.push_back({readme.path, 0, id + " has no sentence of its own"});
  return result;
}

std::set<std::string> groups_of(std::set<std::string> const& ids) {
  std::set<std::string> groups;
  for (std::string const& id : ids) groups.insert(id.substr(0, id.find('-')));
  return groups;
}

std::set<std::string> ids_in(std::string_view text, std::set<std::string> const& groups) {
  std::set<std::string> ids;
  for (std::size_t dash = text.find('-'); dash != std::string_view::npos; dash = text.find('-', dash + 1)) {
    std::size_t begin = dash;
    while (begin > 0 && is_word_char(text[begin - 1])) --begin;
    if (begin > 0 && text[begin - 1] == '-') continue;  // part of a longer word, such as UTF-8-1
    std::string id = id_at(text.substr(begin));
    if (!id.empty() && begin + id.size() > dash && groups.contains(id.substr(0, id.find('-')))) ids.insert(std::move(id));
  }
  return ids;
}

bool names_requirements(SourceFile const& file) {
  return file.in("tests/") && !file.in("tests/tidy/") && !file.in("tests/support/") && !file.path.ends_with(".md");
}

Findings unproved(Requirements const& requirements, std::vector<SourceFile> const& files) {
  Findings findings;
  auto const complain = [&](std::string advice) { findings.push_back({std::string(readme_path), 0, std::move(advice)}); };
  std::set<std::string> const named = named_by_tests(files, groups_of(requirements.all));
  for (std::string const& id : requirements.all) {
    bool const unbuilt = requirements.not_built.contains(id);
    if (!named.contains(id) && !unbuilt) complain(id + " is named by no test: write one, or list it under 'Not built yet'");
    if (named.contains(id) && unbuilt) complain(id + " is listed under 'Not built yet', but a test names it");
    if (!named.contains(id) && requirements.in_part.contains(id))
      complain(id + " is listed under 'Built in part', but no test names it");
  }
  for (std::string const& id : named)
    if (!requirements.all.contains(id)) complain(id + " is named by a test, but is no requirement");
  return findings;
}

}  // namespace weir::tidy
