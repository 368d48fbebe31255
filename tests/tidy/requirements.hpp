// The requirements of tests/README.md and the tests that name them. Threads: any.
//
// A requirement is a line `- **KEY-1** sentence`. A line `- KEY-1: what is missing` under the heading `## Not built yet`
// says that no test can name it; under `## Built in part` that tests name some of it. Tests name an ID as it is, `KEY-1`.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/source.hpp"

namespace weir::tidy {

struct Requirements {
  std::set<std::string> all;
  std::set<std::string> not_built;
  std::set<std::string> in_part;
  Findings mistakes;  // an ID twice, or listed without a sentence of its own
};

Requirements read_requirements(SourceFile const& readme);
// The IDs in a text: capital letters of a known group, a dash, a number.
std::set<std::string> ids_in(std::string_view text, std::set<std::string> const& groups);
std::set<std::string> groups_of(std::set<std::string> const& ids);
// Whether this file's IDs count: the tests of Weir, not those of the support or of these rules.
bool names_requirements(SourceFile const& file);

// IDs that no test names and the README does not call unbuilt; IDs called unbuilt that a test names; unknown IDs.
Findings unproved(Requirements const& requirements, std::vector<SourceFile> const& files);

}  // namespace weir::tidy
