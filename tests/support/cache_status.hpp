// What `Cache-Status` (RFC 9211) and `Age` of a response say. Threads: any.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/message.hpp"

namespace weir::test {

// One cache's member: `Weir; fwd=uri-miss; stored; collapsed=?0` is name "Weir" and {fwd: "uri-miss", stored: "?1",
// collapsed: "?0"}. Strings lose their quotes.
struct CacheStatus {
  std::string name;
  std::map<std::string, std::string, std::less<>> parameters;

  bool hit() const { return says("hit"); }
  bool stored() const { return says("stored"); }
  bool collapsed() const { return says("collapsed"); }
  std::string fwd() const { return value("fwd"); }
  std::string detail() const { return value("detail"); }
  std::optional<long> ttl() const;

  bool has(std::string_view parameter) const { return parameters.contains(parameter); }
  std::string value(std::string_view parameter) const;  // empty if it is absent
  bool says(std::string_view parameter) const { return value(parameter) == "?1"; }
};

// Every member, the origin's side first.
std::vector<CacheStatus> parse_cache_status(std::string_view value);
// The last member, which is ours if we appended; no name if there is none.
CacheStatus cache_status(Response const& response);

// -1 when there is no `Age`, more than one, or one that is no number.
long age(Response const& response);

}  // namespace weir::test
