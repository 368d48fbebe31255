// The store's protocol on the wire (RESP 2 and 3): commands, where each value ends, what stands in it. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

// A command as clients send it: an array of bulk strings.
std::string write_command(std::vector<std::string> const& words);

// Names of commands know no case; this is the one by which they are counted.
std::string small_letters(std::string_view text);

// The first value of `bytes`: `size` counts once it is `whole`. Streamed strings and aggregates are `malformed` here.
struct ValueExtent {
  enum class Is { malformed, partial, whole };
  Is is = Is::malformed;
  std::size_t size = 0;
};
ValueExtent first_value(std::string_view bytes);

// The scalars of a whole value, in order, however deep they stand: strings and numbers by their text, errors with the `-`
// before them, nulls as `(nil)`. At most `most` of them.
std::vector<std::string> scalars(std::string_view value, std::size_t most = static_cast<std::size_t>(-1));

// A reply as a person reads it: its scalars, a line each.
std::string reply_text(std::string_view value);

}  // namespace weir::test
