// KEY-2 and KEY-3: path and query as they are keyed and forwarded.
#include <algorithm>
#include <optional>
#include <vector>

#include "weir/cache/key.hpp"

namespace weir::cache {
namespace {

std::optional<unsigned> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

bool is_unreserved(unsigned char c) noexcept {  // RFC 3986 2.3
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

// RFC 3986 6.2.2.1 and .2. What is no escape stays as it is; slashes and dot segments are left alone.
void append_normalized_path(std::string_view path, std::string& out) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    auto const high = path[i] == '%' && i + 2 < path.size() ? hex_digit(path[i + 1]) : std::nullopt;
    auto const low = high ? hex_digit(path[i + 2]) : std::nullopt;
    if (!low) {
      out += path[i];
      continue;
    }
    auto const byte = static_cast<unsigned char>(*high << 4U | *low);
    if (is_unreserved(byte)) {
      out += static_cast<char>(byte);
    } else {
      static constexpr char digits[] = "0123456789ABCDEF";
      out += '%';
      out += digits[*high];
      out += digits[*low];
    }
    i += 2;
  }
}

std::string_view name_of(std::string_view segment) noexcept { return segment.substr(0, segment.find('=')); }

bool stays(std::string_view segment, KeyRules const& rules) noexcept {
  auto const matches = [name = name_of(segment)](NamePattern const& pattern) { return pattern.matches(name); };
  if (std::ranges::any_of(rules.query_drop, matches)) return false;
  return rules.query_keep.empty() || std::ranges::any_of(rules.query_keep, matches);
}

// The segments that stay, in the order in which they are forwarded; nothing if the query is right as it came. Segments of
// one name keep their order among themselves, which most applications read.
std::optional<std::vector<std::string_view>> rewritten_segments(std::string_view query, KeyRules const& rules) {
  bool const edits = !rules.query_drop.empty() || !rules.query_keep.empty() || rules.query_sort;
  if (!edits || query.empty()) return std::nullopt;
  std::vector<std::string_view> segments;
  bool changed = false;
  for (std::size_t begin = 0; begin <= query.size();) {
    auto const end = std::min(query.find('&', begin), query.size());
    auto const segment = query.substr(begin, end - begin);
    if (stays(segment, rules))
      segments.push_back(segment);
    else
      changed = true;
    begin = end + 1;
  }
  if (rules.query_sort && !std::ranges::is_sorted(segments, {}, name_of)) {
    std::ranges::stable_sort(segments, {}, name_of);
    changed = true;
  }
  if (!changed) return std::nullopt;
  return segments;
}

}  // namespace

std::string_view normalized_path(std::string_view path, std::string& storage) {
  if (path.find('%') == std::string_view::npos) return path;
  storage.clear();
  append_normalized_path(path, storage);
  return storage;
}

ForwardTarget rewrite_target(http::Request const& request, KeyRules const& rules, std::string& storage) {
  ForwardTarget target{.path = request.path, .query = request.query, .has_query = request.has_query};
  bool const normalize = rules.normalize_path && request.path.find('%') != std::string_view::npos;
  auto const segments = request.has_query ? rewritten_segments(request.query, rules) : std::nullopt;
  if (!normalize && !segments) return target;

  storage.clear();
  if (normalize) append_normalized_path(request.path, storage);
  auto const path_size = storage.size();
  if (segments) {
    bool first = true;
    for (auto const segment : *segments) {
      if (!first) storage += '&';
      first = false;
      storage += segment;
    }
  }
  std::string_view const stored = storage;
  if (normalize) target.path = stored.substr(0, path_size);
  if (segments) {
    target.query = stored.substr(path_size);
    target.has_query = !segments->empty();  // a query of which nothing is left is no query
  }
  return target;
}

std::vector<NamePattern> const& tracking_parameters() {
  static std::vector<NamePattern> const names{
      {"utm_", true},    {"gclid", false},      {"gclsrc", false},  {"dclid", false},   {"gbraid", false},
      {"wbraid", false}, {"gad_source", false}, {"fbclid", false},  {"msclkid", false}, {"twclid", false},
      {"ttclid", false}, {"yclid", false},      {"igshid", false},  {"srsltid", false}, {"li_fat_id", false},
      {"mc_cid", false}, {"mc_eid", false},     {"mkt_tok", false}, {"_hsenc", false},  {"_hsmi", false},
      {"_ga", false},    {"_gl", false},        {"vero_id", false}, {"epik", false},
  };
  return names;
}

}  // namespace weir::cache
