// The head of a stored or passed-on response: what of it is kept, and how a 304 or the answer to a HEAD freshens it
// (RFC 9111 3.1, 3.2, 4.3.4, 4.3.5; STO-3, SRV-2, SRV-4). Threads: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/cache/facts.hpp"
#include "weir/http/message.hpp"

namespace weir::cache {

// The head as stored and sent (status line and field lines, no blank line): without hop-by-hop fields, those named in
// Connection, proxy authentication fields, Age, Content-Length, Transfer-Encoding, Weir-Cache-Control, surrogate tags
// (Surrogate-Key, Cache-Tag, Cache-Groups) unless `expose_tags`, and `without`. One valid Date: that of receipt if there is
// none. Adds "Via: <version> weir". Framing fields are not in it: whoever sends it adds them. `facts`, if given, gets the
// slices of ETag and Last-Modified.
struct HeadOptions {
  std::vector<std::string> const* without = nullptr;  // names in any case
  bool for_store = true;                              // false: Age stays (a response that is passed on, not stored)
  bool expose_tags = false;
};
std::string build_head(http::Response const& response, HeadOptions const& options, base::WallTime received, Facts* facts);

// The stored head updated by a 304's fields (never framing, coding or a digest of the body, and never a stored ETag), Date
// and the rest replaced. `stored_head` as `build_head` made it.
std::string freshen_head(std::string_view stored_head, http::Response const& not_modified, HeadOptions const& options,
                         base::WallTime received, Facts* facts);
// The fields behind `freshen_head` before any is left out: views into both arguments.
std::vector<http::Field> freshened_fields(std::string_view stored_head, http::Fields not_modified);
// SRV-2: whether this 304 is about the stored response: it has the stored one's opaque tag; or no tag, and no date but the
// stored one. A difference in weakness alone is none: origins that compress weaken the tag of the 200 only. A strong tag
// where none is stored, or without a tag another date, is another representation's (RFC 9111 4.3.4).
bool not_modified_matches(std::string_view stored_etag, std::string_view stored_last_modified,
                          http::Response const& not_modified) noexcept;

// SRV-4: whether the answer to a HEAD is about a stored 200: the validators that it has are the stored ones, and so is its
// Content-Length (RFC 9111 4.3.5).
bool head_is_about(std::string_view stored_etag, std::string_view stored_last_modified, std::uint64_t stored_size,
                   http::Response const& head) noexcept;

// The status line's number and the field lines of a head made by `build_head`, as views into it. Lines that are none are
// left out; 0 where there is no number.
int parse_head_status(std::string_view head) noexcept;
std::vector<http::Field> parse_head_fields(std::string_view head);

}  // namespace weir::cache
