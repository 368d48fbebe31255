// links: weir_cache
// Rules as text (flags, then names to drop and to keep), and a target: what stays of a query are its own segments, chosen
// and ordered as a plain reader would, a path keeps its meaning, and what was rewritten stays as it is (KEY-2, KEY-3).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parts/input.hpp"
#include "weir/base/assert.hpp"
#include "weir/cache/key.hpp"
#include "weir/http/target.hpp"

namespace {

using namespace weir;
using namespace weir::fuzz;

std::vector<cache::NamePattern> patterns_of(std::string_view text) {
  std::vector<cache::NamePattern> patterns;
  while (!text.empty() && patterns.size() < 8) {
    auto const word = take(text, ',');
    bool const prefix = word.ends_with('*');
    patterns.push_back({std::string(prefix ? word.substr(0, word.size() - 1) : word), prefix});
  }
  return patterns;
}

std::vector<std::string> split(std::string_view query) {
  std::vector<std::string> parts(1);
  for (char const c : query) {
    if (c == '&')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string name_of(std::string const& segment) { return segment.substr(0, segment.find('=')); }

bool is_named(std::vector<cache::NamePattern> const& patterns, std::string const& name) {
  for (auto const& pattern : patterns)
    if (pattern.prefix ? name.compare(0, pattern.text.size(), pattern.text) == 0 : name == pattern.text) return true;
  return false;
}

// KEY-3, slowly.
std::string expected_query(std::string_view query, cache::KeyRules const& rules) {
  std::vector<std::string> left;
  for (auto const& segment : split(query)) {
    auto const name = name_of(segment);
    if (is_named(rules.query_drop, name)) continue;
    if (rules.query_keep.empty() || is_named(rules.query_keep, name)) left.push_back(segment);
  }
  for (std::size_t i = 1; rules.query_sort && i < left.size(); ++i)
    for (std::size_t at = i; at > 0 && name_of(left[at]) < name_of(left[at - 1]); --at) std::swap(left[at], left[at - 1]);
  if (left.empty()) return "";
  std::string joined = "?" + left.front();
  for (std::size_t i = 1; i < left.size(); ++i) joined += "&" + left[i];
  return joined;
}

std::string unescaped(std::string_view path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      out += path[i];
      continue;
    }
    // What is reserved does not mean the same when it is escaped.
    auto const byte = static_cast<char>(std::stoi(std::string(path.substr(i + 1, 2)), nullptr, 16));
    bool const plain = std::string_view("-._~").find(byte) != std::string_view::npos || (byte >= '0' && byte <= '9') ||
                       (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
    if (!plain) out += '%';
    out += byte;
    i += 2;
  }
  return out;
}

http::Request request_of(std::string_view path, std::string_view query, bool has_query) {
  http::Request request;
  request.method = "GET";
  request.method_id = http::Method::get;
  request.path = path;
  request.query = query;
  request.has_query = has_query;
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto text = text_of(data, size);
  auto const flags = take_byte(text);
  cache::KeyRules rules;
  rules.normalize_path = bit(flags, 0);
  rules.query_sort = bit(flags, 1);
  if (bit(flags, 2)) rules.query_drop = cache::tracking_parameters();
  for (auto const& pattern : patterns_of(take(text, '\n'))) rules.query_drop.push_back(pattern);
  rules.query_keep = patterns_of(take(text, '\n'));
  auto const target = http::parse_target(text);
  if (!target || target->form != http::TargetForm::origin) return 0;

  std::string storage, again_storage;
  auto const once = cache::rewrite_target(request_of(target->path, target->query, target->has_query), rules, storage);
  bool const edits = !rules.query_drop.empty() || !rules.query_keep.empty() || rules.query_sort;
  auto const query = once.has_query ? "?" + std::string(once.query) : std::string(once.query);
  auto const came = target->has_query ? "?" + std::string(target->query) : std::string();
  WEIR_ASSERT(query == (edits && !target->query.empty() ? expected_query(target->query, rules) : came));
  WEIR_ASSERT(unescaped(once.path) == unescaped(target->path));
  if (!rules.normalize_path) WEIR_ASSERT(once.path == target->path);

  auto const again = cache::rewrite_target(request_of(once.path, once.query, once.has_query), rules, again_storage);
  WEIR_ASSERT(again.path == once.path && again.query == once.query && again.has_query == once.has_query);
  auto const whole = std::string(once.path) + query;
  auto const parsed = http::parse_target(whole);
  WEIR_ASSERT(parsed && parsed->path == once.path && parsed->query == once.query && parsed->has_query == once.has_query);
  return 0;
}
