// The operator's pages, made from the loader's own description, so that they cannot say anything else: config/weir.yaml and
// config/README.md are these texts (the test `Reference` compares them, and writes them when WEIR_WRITE_REFERENCE is set).
// Threads: any.
#pragma once

#include <string>
#include <vector>

namespace weir::config {

// Every key with its default and a line on what it does; loads to the defaults with one origin "app".
std::string reference_yaml();
// Every setting as tables, and what they have to do with security.
std::string reference_markdown();
// The path of every key: "coalesce.hold", "origins.*.url", "sites[].routes[].path". Groups that a site, a route or an origin
// inherits are named there ("sites[].coalesce"), their keys only at the top.
std::vector<std::string> every_key();

// Settings that weaken a default, and what that gives away; the end of the second page.
struct Weakening {
  std::vector<std::string> keys;
  std::string with, gives_away;
};
std::vector<Weakening> const& weakenings();
std::string security_markdown();

}  // namespace weir::config
