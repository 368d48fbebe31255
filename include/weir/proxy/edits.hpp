// HDR-1: a route's edits of header fields. Requests are edited before their key is built, so that what an operator sets or
// removes is what is keyed and forwarded; answers of origin and store as they are sent, so that the store keeps what the
// origin said. Weir's own answers are not edited. Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "weir/config/settings.hpp"
#include "weir/http/field.hpp"

namespace weir::proxy {

inline bool has_edits(config::HeaderEdits const& edits) noexcept { return !edits.set.empty() || !edits.remove.empty(); }
bool is_set_by(config::HeaderEdits const& edits, std::string_view name) noexcept;

// `fields` without what is removed or set, then what is set: views into `fields` and `edits`. Replaces `out`.
void edit_fields(http::Fields fields, config::HeaderEdits const& edits, std::vector<http::Field>& out);
// The same for a head as text: status line and field lines, each with CRLF, no blank line; in place.
void edit_head(std::string& head, config::HeaderEdits const& edits);

}  // namespace weir::proxy
