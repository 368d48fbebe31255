// The house rules that concern one file at a time. Each gives findings with advice. Threads: any.
#pragma once

#include "tidy/source.hpp"

namespace weir::tidy {

// Words that code does not use, each in its part of the tree: `detached`, sleeping, reading a clock.
Findings banned_words(SourceFile const& file);
// Text that no file holds: left-over marks, places on somebody's machine, package hosts.
Findings banned_text(SourceFile const& file);
// g++ 12.2 destroys twice what a lambda captures that is written inside a `co_await` expression.
Findings capturing_lambda_in_co_await(SourceFile const& file);
// No catch without a statement: handled, counted or logged.
Findings silent_catch(SourceFile const& file);
// A file holds one subject, in at most `longest_file` lines.
Findings too_long(SourceFile const& file);
inline constexpr std::size_t longest_file = 500;
// A public header opens with what it decides and its thread rule.
Findings header_without_comment(SourceFile const& file);

}  // namespace weir::tidy
