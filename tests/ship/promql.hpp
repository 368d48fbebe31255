// Which series a PromQL expression asks for, and which a metrics page has. Reads as much of both as Weir's own need.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::ship {

using Labels = std::map<std::string, std::string>;
using MetricsPage = std::multimap<std::string, Labels>;  // by series' name
MetricsPage read_page(std::string_view text);

struct Matcher {
  std::string label, op, value;  // op: =, !=, =~, !~
};
struct Selector {
  std::string name;
  std::vector<Matcher> matchers;
};
struct Asked {
  std::vector<Selector> selectors;  // of names that begin with weir_ or process_
  std::vector<std::string> by;      // labels of `by (...)`
};
Asked read_expression(std::string_view expression);

// What the page lacks of it, a line each: a series, a label, a label's value, or one alternative of a `=~`. Labels that
// Prometheus itself sets (instance, job) are there.
std::vector<std::string> missing(Asked const& asked, MetricsPage const& page);

}  // namespace weir::ship
