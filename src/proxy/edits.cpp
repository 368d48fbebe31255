#include "weir/proxy/edits.hpp"

#include <algorithm>

#include "weir/wire/write.hpp"

namespace weir::proxy {
namespace {

bool goes(config::HeaderEdits const& edits, std::string_view name) noexcept {
  return is_set_by(edits, name) || std::any_of(edits.remove.begin(), edits.remove.end(), [&](std::string const& removed) {
           return http::equal_ignoring_case(name, removed);
         });
}

}  // namespace

bool is_set_by(config::HeaderEdits const& edits, std::string_view name) noexcept {
  return std::any_of(edits.set.begin(), edits.set.end(),
                     [&](auto const& set) { return http::equal_ignoring_case(name, set.first); });
}

void edit_fields(http::Fields fields, config::HeaderEdits const& edits, std::vector<http::Field>& out) {
  out.clear();
  for (auto const& field : fields)
    if (!goes(edits, field.name)) out.push_back(field);
  for (auto const& [name, value] : edits.set) out.push_back({http::field_id(name), name, value});
}

void edit_head(std::string& head, config::HeaderEdits const& edits) {
  if (!has_edits(edits)) return;
  auto line = head.find("\r\n") + 2;
  auto kept = line;  // lines before this stay
  while (line < head.size()) {
    auto const end = head.find("\r\n", line) + 2;
    auto const name = std::string_view(head).substr(line, head.find(':', line) - line);
    if (!goes(edits, name)) {
      std::copy(head.begin() + static_cast<std::ptrdiff_t>(line), head.begin() + static_cast<std::ptrdiff_t>(end),
                head.begin() + static_cast<std::ptrdiff_t>(kept));
      kept += end - line;
    }
    line = end;
  }
  head.resize(kept);
  for (auto const& [name, value] : edits.set) wire::append_field(head, name, value);
}

}  // namespace weir::proxy
