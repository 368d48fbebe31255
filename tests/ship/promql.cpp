#include "ship/promql.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace weir::ship {
namespace {

bool is_name_char(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool done() const noexcept { return text_.empty(); }
  void blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n\t,"), text_.size())); }
  bool take(std::string_view mark) {
    blanks();
    if (!text_.starts_with(mark)) return false;
    text_.remove_prefix(mark.size());
    return true;
  }
  std::string name() {
    blanks();
    std::size_t end = 0;
    while (end < text_.size() && is_name_char(text_[end])) ++end;
    return cut(end);
  }
  std::string quoted() {
    if (!take("\"")) return {};
    std::string out = cut(text_.find('"'));
    take("\"");
    return out;
  }
  void one() { text_.remove_prefix(std::min<std::size_t>(1, text_.size())); }

 private:
  std::string cut(std::size_t end) {
    std::string out(text_.substr(0, end));
    text_.remove_prefix(out.size());
    return out;
  }
  std::string_view text_;
};

std::vector<Matcher> read_matchers(Scanner& in) {
  std::vector<Matcher> out;
  if (!in.take("{")) return out;
  while (!in.done() && !in.take("}")) {
    Matcher matcher{in.name(), "=", {}};
    for (std::string_view op : {"=~", "!~", "!=", "="}) {
      if (!in.take(op)) continue;
      matcher.op = op;
      break;
    }
    matcher.value = in.quoted();
    if (matcher.label.empty()) in.one();
    out.push_back(std::move(matcher));
  }
  return out;
}

bool is_from_prometheus(std::string const& label) { return label == "instance" || label == "job"; }

// Values that a matcher names; none for a variable of the dashboard.
std::vector<std::string> named_values(Matcher const& matcher) {
  if (matcher.value.starts_with('$')) return {};
  if (matcher.op.back() != '~') return {matcher.value};
  std::vector<std::string> out;
  std::istringstream alternatives(matcher.value);
  for (std::string one; std::getline(alternatives, one, '|');) out.push_back(one);
  return out;
}

bool has_label(MetricsPage const& page, std::string const& name, std::string const& label) {
  auto const [begin, end] = page.equal_range(name);
  return std::any_of(begin, end, [&](auto const& series) { return series.second.contains(label); });
}

bool has_value(MetricsPage const& page, Selector const& selector, Matcher const& matcher, std::string const& value) {
  auto const [begin, end] = page.equal_range(selector.name);
  return std::any_of(begin, end, [&](auto const& series) {
    auto const found = series.second.find(matcher.label);
    return found != series.second.end() && found->second == value;
  });
}

}  // namespace

MetricsPage read_page(std::string_view text) {
  MetricsPage page;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    Scanner in(line);
    std::string name = in.name();
    Labels labels;
    for (auto& matcher : read_matchers(in)) labels[matcher.label] = matcher.value;
    page.emplace(std::move(name), std::move(labels));
  }
  return page;
}

Asked read_expression(std::string_view expression) {
  Asked asked;
  for (Scanner in(expression); !in.done();) {
    if (!in.quoted().empty()) continue;
    std::string name = in.name();
    if (name.starts_with("weir_") || name.starts_with("process_")) {
      asked.selectors.push_back({std::move(name), read_matchers(in)});
    } else if (name == "by" && in.take("(")) {
      while (!in.done() && !in.take(")")) asked.by.push_back(in.name());
    } else if (name.empty()) {
      in.one();
    }
  }
  return asked;
}

std::vector<std::string> missing(Asked const& asked, MetricsPage const& page) {
  std::vector<std::string> out;
  for (auto const& selector : asked.selectors) {
    if (!page.contains(selector.name)) out.push_back(selector.name);
    for (auto const& matcher : selector.matchers) {
      if (is_from_prometheus(matcher.label)) continue;
      if (!has_label(page, selector.name, matcher.label)) out.push_back(selector.name + " by " + matcher.label);
      for (auto const& value : named_values(matcher))
        if (!has_value(page, selector, matcher, value)) out.push_back(selector.name + " of " + matcher.label + " " + value);
    }
  }
  for (auto const& label : asked.by) {
    bool const known = is_from_prometheus(label) ||
                       std::any_of(asked.selectors.begin(), asked.selectors.end(),
                                   [&](Selector const& selector) { return has_label(page, selector.name, label); });
    if (!known) out.push_back("by (" + label + ")");
  }
  return out;
}

}  // namespace weir::ship
