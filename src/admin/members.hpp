// The members of a JSON object that a call brings, taken one by one: what is of another type, or unknown, is a mistake.
// Threads: the admin thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "weir/admin/router.hpp"

namespace weir::admin {

class Members {
 public:
  // `object` outlives this.
  explicit Members(boost::json::object const& object) : object_(object) {}

  void read(std::string_view name, std::vector<std::string>& out);
  void read(std::string_view name, std::string& out);
  void read(std::string_view name, bool& out);
  // An object of strings.
  void read(std::string_view name, std::vector<std::pair<std::string, std::string>>& out);
  void mistake(std::string_view name, std::string_view wanted);
  // `known`: what an unknown member is told, "known are ...". All mistakes, in the order in which they were met.
  std::vector<std::string> finish(std::string_view known);

 private:
  boost::json::value const* take(std::string_view name);

  boost::json::object const& object_;
  std::size_t taken_ = 0;
  std::vector<std::string> mistakes_;
};

boost::json::array to_json(std::vector<std::string> const& texts);
// 400 with every mistake; `error` a word in kebab case.
Answer mistaken(std::string_view error, std::vector<std::string> const& mistakes);

}  // namespace weir::admin
