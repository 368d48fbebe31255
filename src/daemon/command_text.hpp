// Answers of the admin listener for people. For command.cpp. Threads: pure.
#pragma once

#include <ostream>

#include <boost/json/value.hpp>

namespace weir::daemon {

// All may throw boost::system::system_error where the answer is not what a Weir of this version says.
void print_purge(boost::json::value const& answer, std::ostream& out);
void print_stats(boost::json::value const& answer, std::ostream& out);
void print_explanation(boost::json::value const& answer, std::ostream& out);
void print_mode(boost::json::value const& answer, std::ostream& out);
void print_reload(boost::json::value const& answer, std::ostream& out);
void print_drain(boost::json::value const& answer, std::ostream& out);
// {"error", "detail", "mistakes"}: a line each.
void print_problem(boost::json::value const& answer, std::ostream& out);

}  // namespace weir::daemon
