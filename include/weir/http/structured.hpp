// Structured fields (RFC 9651): what Weir reads (Dictionaries, Lists of strings and tokens) and writes. Threads: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weir::http {

struct SfToken {
  std::string text;
};
struct SfBytes {
  std::string bytes;
};
struct SfDate {
  std::int64_t seconds = 0;
};
struct SfDisplay {
  std::string text;
};
using SfBare = std::variant<std::int64_t, double, std::string, SfToken, SfBytes, bool, SfDate, SfDisplay>;
using SfParameters = std::vector<std::pair<std::string, SfBare>>;
struct SfItem {
  SfBare value;
  SfParameters parameters;
};
struct SfMember {
  bool is_inner_list = false;
  SfItem item;
  std::vector<SfItem> inner;
  SfParameters parameters;
};
using SfList = std::vector<SfMember>;
using SfDictionary = std::vector<std::pair<std::string, SfMember>>;  // later keys replace earlier ones in place

// Strict: nothing if any byte does not fit the grammar, or there are more than 1,024 members, 256 items in an inner list or
// 256 parameters. `text` is the combined field value.
std::optional<SfList> parse_sf_list(std::string_view text);
std::optional<SfDictionary> parse_sf_dictionary(std::string_view text);
std::optional<SfItem> parse_sf_item(std::string_view text);

}  // namespace weir::http
