// Header fields as data: every line in the order it came, as views into somebody else's bytes. Nothing here owns memory
// except `FieldArena`. RFC 9110 section 5. Threads: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {

// The names that some rule of ours looks at; everything else is `other` and compared by text.
enum class FieldId : std::uint8_t {
  other,
  accept,
  accept_encoding,
  accept_language,
  accept_ranges,
  age,
  allow,
  authorization,
  cache_control,
  cache_group_invalidation,
  cache_groups,
  cache_status,
  cache_tag,
  cdn_cache_control,
  cdn_loop,
  connection,
  content_encoding,
  content_language,
  content_length,
  content_location,
  content_range,
  content_type,
  cookie,
  date,
  etag,
  expect,
  expires,
  forwarded,
  host,
  if_match,
  if_modified_since,
  if_none_match,
  if_range,
  if_unmodified_since,
  keep_alive,
  last_modified,
  location,
  max_forwards,
  origin,
  pragma,
  proxy_authenticate,
  proxy_authentication_info,
  proxy_authorization,
  proxy_connection,
  proxy_status,
  range,
  referer,
  retry_after,
  server,
  set_cookie,
  surrogate_control,
  surrogate_key,
  te,
  traceparent,
  tracestate,
  trailer,
  transfer_encoding,
  upgrade,
  user_agent,
  vary,
  via,
  warning,
  weir_cache_control,
  www_authenticate,
  x_forwarded_for,
  x_forwarded_host,
  x_forwarded_proto,
  x_request_id,
};

// Case-insensitive; constant time for names that are not ours.
FieldId field_id(std::string_view name) noexcept;
// The usual spelling ("Cache-Control"); empty for `other`.
std::string_view field_name(FieldId id) noexcept;

struct Field {
  FieldId id = FieldId::other;
  std::string_view name;   // as it came
  std::string_view value;  // without white space around it
};

// ASCII only, as field names and tokens are.
bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;
constexpr char to_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
std::string lower(std::string_view text);
std::string_view trim(std::string_view text) noexcept;  // SP and HTAB

// RFC 9110 5.6.2. Empty is not a token.
bool is_token(std::string_view text) noexcept;
inline constexpr std::array<bool, 256> token_chars = [] {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (char const c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();
constexpr bool is_token_char(char c) noexcept { return token_chars[static_cast<unsigned char>(c)]; }
// RFC 9110 5.5: HTAB, 0x20 to 0x7E, 0x80 to 0xFF.
bool is_field_value(std::string_view text) noexcept;
constexpr bool is_field_value_char(char c) noexcept {
  auto const byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7F);
}

// All lines of a head, in order. A view: valid as long as the array and the bytes behind it.
class Fields {
 public:
  Fields() = default;
  Fields(std::span<Field const> lines) noexcept : lines_(lines) {}     // NOLINT(google-explicit-constructor): it is a view
  Fields(std::vector<Field> const& lines) noexcept : lines_(lines) {}  // NOLINT(google-explicit-constructor)

  auto begin() const noexcept { return lines_.begin(); }
  auto end() const noexcept { return lines_.end(); }
  std::size_t size() const noexcept { return lines_.size(); }
  bool empty() const noexcept { return lines_.empty(); }

  bool has(FieldId id) const noexcept { return first(id).has_value(); }
  std::size_t count(FieldId id) const noexcept;
  // The first line's value; for fields that may stand once only.
  std::optional<std::string_view> first(FieldId id) const noexcept {
    for (Field const& line : lines_)
      if (line.id == id) return line.value;
    return std::nullopt;
  }
  std::optional<std::string_view> first(std::string_view name) const noexcept;
  // The only line's value; nothing if there are none or several.
  std::optional<std::string_view> only(FieldId id) const noexcept;
  // All lines joined with ", " (RFC 9110 5.3), appended to `out`; false if there is none. `name` any case.
  bool append_combined(std::string_view name, std::string& out) const;
  bool append_combined(FieldId id, std::string& out) const;
  // Whether the comma-separated list over all lines contains `token`, ignoring case; quoted strings are respected.
  bool list_contains(FieldId id, std::string_view token) const noexcept;

 private:
  std::span<Field const> lines_;
};

// Where the quoted-string that opens at `open` ends; npos if nothing closes it (RFC 9110 5.6.4).
std::size_t closing_quote(std::string_view text, std::size_t open) noexcept;

// Calls `visit(member)` for each non-empty, trimmed member of a comma-separated list; commas inside quoted strings do not
// split (RFC 9110 5.6.1). A quote that nothing closes is an ordinary byte: it hides no member behind it. `visit` returns
// false to stop.
template <class Visit>
void for_each_member(std::string_view list, Visit&& visit) {
  std::size_t start = 0;
  bool quotes = true;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size()) {
      if (list[i] == '"' && quotes) {
        std::size_t const close = closing_quote(list, i);
        quotes = close != std::string_view::npos;
        if (quotes) i = close;
        continue;
      }
      if (list[i] != ',') continue;
    }
    auto const member = trim(list.substr(start, i - start));
    start = i + 1;
    if (!member.empty() && !visit(member)) return;
  }
}

// An owned, editable head: lines whose bytes live in the arena. For heads that outlive the buffer they came in (fetches)
// and for edits. Not for the hit path.
class FieldArena {
 public:
  FieldArena() = default;
  FieldArena(FieldArena&&) = default;
  FieldArena& operator=(FieldArena&&) = default;
  FieldArena(FieldArena const&) = delete;
  FieldArena& operator=(FieldArena const&) = delete;

  // Both copied. What is removed keeps its bytes until the arena dies.
  void add(std::string_view name, std::string_view value);
  void add(FieldId id, std::string_view value);
  void remove(FieldId id) noexcept;
  void remove(std::string_view name) noexcept;
  void set(FieldId id, std::string_view value) {
    remove(id);
    add(id, value);
  }
  Fields fields() const noexcept { return Fields(lines_); }

 private:
  std::string_view keep(std::string_view text);
  std::deque<std::string> bytes_;
  std::vector<Field> lines_;
};

}  // namespace weir::http
