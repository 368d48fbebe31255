#include "weir/http/field.hpp"

#include <algorithm>
#include <array>

#include "weir/base/assert.hpp"
#include "weir/http/field_value.hpp"

namespace weir::http {
namespace {

// By FieldId, in the enum's order.
constexpr std::string_view names[] = {
    "",
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Accept-Ranges",
    "Age",
    "Allow",
    "Authorization",
    "Cache-Control",
    "Cache-Group-Invalidation",
    "Cache-Groups",
    "Cache-Status",
    "Cache-Tag",
    "CDN-Cache-Control",
    "CDN-Loop",
    "Connection",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-Range",
    "Content-Type",
    "Cookie",
    "Date",
    "ETag",
    "Expect",
    "Expires",
    "Forwarded",
    "Host",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Keep-Alive",
    "Last-Modified",
    "Location",
    "Max-Forwards",
    "Origin",
    "Pragma",
    "Proxy-Authenticate",
    "Proxy-Authentication-Info",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Proxy-Status",
    "Range",
    "Referer",
    "Retry-After",
    "Server",
    "Set-Cookie",
    "Surrogate-Control",
    "Surrogate-Key",
    "TE",
    "traceparent",
    "tracestate",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "User-Agent",
    "Vary",
    "Via",
    "Warning",
    "Weir-Cache-Control",
    "WWW-Authenticate",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Request-Id",
};
constexpr std::size_t name_count = std::size(names);
static_assert(name_count == static_cast<std::size_t>(FieldId::x_request_id) + 1, "a name for each FieldId");

constexpr bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

// A perfect hash over length, first, middle and last byte, whose multiplier the compiler searches: one probe, one compare.
constexpr std::size_t slot_bits = 10;
constexpr std::size_t longest_name = 25;

constexpr std::size_t slot_of(std::string_view name, std::uint32_t multiplier) noexcept {
  auto const byte = [name](std::size_t at) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(to_lower(name[at])));
  };
  std::uint32_t const digest =
      static_cast<std::uint32_t>(name.size()) | byte(0) << 8 | byte(name.size() / 2) << 16 | byte(name.size() - 1) << 24;
  return (digest * multiplier) >> (32 - slot_bits);
}

struct Index {
  std::uint32_t multiplier = 0;  // 0: none was found
  std::array<std::uint8_t, std::size_t{1} << slot_bits> slots{};
};

consteval Index make_index() {
  std::uint32_t multiplier = 0x9E3779B1U;
  for (int attempt = 0; attempt < 500; ++attempt, multiplier = (multiplier * 1664525U + 1013904223U) | 1U) {
    Index index{.multiplier = multiplier};
    bool clash = false;
    for (std::size_t id = 1; id < name_count && !clash; ++id) {
      auto& slot = index.slots[slot_of(names[id], multiplier)];
      clash = slot != 0;
      slot = static_cast<std::uint8_t>(id);
    }
    if (!clash) return index;
  }
  return {};
}

constexpr Index field_index = make_index();
static_assert(field_index.multiplier != 0, "no multiplier separates the names: change the sampled bytes or slot_bits");
static_assert(std::all_of(std::begin(names), std::end(names),
                          [](std::string_view name) { return name.size() <= longest_name; }));

bool is_named(Field const& line, FieldId id, std::string_view name) noexcept {
  return line.id == id && (id != FieldId::other || same_ignoring_case(line.name, name));
}

}  // namespace

FieldId field_id(std::string_view name) noexcept {
  if (name.empty() || name.size() > longest_name) return FieldId::other;
  std::size_t const id = field_index.slots[slot_of(name, field_index.multiplier)];
  // As a rule it is spelled as usual, and comparing bytes costs a tenth.
  bool const ours = names[id] == name || same_ignoring_case(names[id], name);
  return ours ? static_cast<FieldId>(id) : FieldId::other;
}

std::string_view field_name(FieldId id) noexcept { return names[static_cast<std::size_t>(id)]; }

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept { return same_ignoring_case(a, b); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

std::string_view trim(std::string_view text) noexcept {
  auto const is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_token_char(c); });
}

bool is_field_value(std::string_view text) noexcept {
  return skip_field_value(text.data(), text.data() + text.size()) == text.data() + text.size();
}

std::size_t closing_quote(std::string_view text, std::size_t open) noexcept {
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i;
    if (text[i] == '\\') ++i;
  }
  return std::string_view::npos;
}

std::size_t Fields::count(FieldId id) const noexcept {
  return static_cast<std::size_t>(std::count_if(begin(), end(), [id](Field const& line) { return line.id == id; }));
}

std::optional<std::string_view> Fields::first(std::string_view name) const noexcept {
  FieldId const id = field_id(name);
  for (Field const& line : lines_) {
    if (is_named(line, id, name)) return line.value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Fields::only(FieldId id) const noexcept { return count(id) == 1 ? first(id) : std::nullopt; }

bool Fields::append_combined(std::string_view name, std::string& out) const {
  FieldId const id = field_id(name);
  bool found = false;
  for (Field const& line : lines_) {
    if (!is_named(line, id, name)) continue;
    if (found) out += ", ";
    out += line.value;
    found = true;
  }
  return found;
}

bool Fields::append_combined(FieldId id, std::string& out) const { return append_combined(field_name(id), out); }

bool Fields::list_contains(FieldId id, std::string_view token) const noexcept {
  if (!has(id)) return false;
  bool found = false;
  for (Field const& line : lines_) {
    if (line.id != id) continue;
    for_each_member(line.value, [&](std::string_view member) {
      found = same_ignoring_case(member, token);
      return !found;
    });
    if (found) return true;
  }
  return false;
}

// Many texts in one string, which is never filled beyond its room, so that none of them moves: a string for each was a fifth
// of a miss's calls of malloc.
std::string_view FieldArena::keep(std::string_view text) {
  static constexpr std::size_t usual_bytes = 1000;  // of a request's fields all, as a rule
  if (bytes_.empty() || bytes_.back().capacity() - bytes_.back().size() < text.size()) {
    bytes_.emplace_back().reserve(std::max(text.size(), usual_bytes));
    if (lines_.empty()) lines_.reserve(16);
  }
  auto& block = bytes_.back();
  block += text;
  return std::string_view(block).substr(block.size() - text.size());
}

void FieldArena::add(std::string_view name, std::string_view value) {
  lines_.push_back({field_id(name), keep(name), keep(trim(value))});
}

void FieldArena::add(FieldId id, std::string_view value) {
  WEIR_ASSERT(id != FieldId::other);
  lines_.push_back({id, field_name(id), keep(trim(value))});
}

void FieldArena::remove(FieldId id) noexcept {
  WEIR_ASSERT(id != FieldId::other);
  std::erase_if(lines_, [id](Field const& line) { return line.id == id; });
}

void FieldArena::remove(std::string_view name) noexcept {
  FieldId const id = field_id(name);
  std::erase_if(lines_, [id, name](Field const& line) { return is_named(line, id, name); });
}

}  // namespace weir::http
