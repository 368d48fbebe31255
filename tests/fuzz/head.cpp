// links: weir_cache
// A response and a 304, as text with a NUL between: what is built can be read back, holds no line end but its own and
// nothing that belongs to one connection, and is the same when it is freshened twice.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/cache/head.hpp"
#include "weir/cache/storability.hpp"

namespace {

using namespace weir;

std::string_view take(std::string_view& text, char end) {
  auto const at = text.find(end);
  auto const part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

std::vector<http::Field> fields_of(std::string_view text) {
  std::vector<http::Field> fields;
  while (!text.empty() && fields.size() < 100) {
    auto value = take(text, '\n');
    auto const name = take(value, ':');
    fields.push_back({http::field_id(name), name, http::trim(value)});
  }
  return fields;
}

std::vector<std::string> sorted_lines(std::string_view head) {
  std::vector<std::string> lines;
  for (auto const& field : cache::parse_head_fields(head))
    lines.push_back(std::string(field.name) + ": " + std::string(field.value));
  std::ranges::sort(lines);
  return lines;
}

void check(std::string_view head, cache::Facts const& facts) {
  WEIR_ASSERT(cache::parse_head_status(head) == 200);
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = head.find("\r\n", at)) != std::string_view::npos; at += 2) ++lines;
  auto const parsed = cache::parse_head_fields(head);
  WEIR_ASSERT(parsed.size() + 1 == lines);
  for (auto const& field : parsed) WEIR_ASSERT(http::is_token(field.name) && http::is_field_value(field.value));
  http::Fields const fields(parsed);
  WEIR_ASSERT(fields.count(http::FieldId::date) == 1 && fields.has(http::FieldId::via));
  for (auto const id : {http::FieldId::connection, http::FieldId::content_length, http::FieldId::transfer_encoding,
                        http::FieldId::age, http::FieldId::weir_cache_control}) {
    WEIR_ASSERT(!fields.has(id));
  }
  auto const slice = [&](cache::Slice s) { return head.substr(s.offset, s.size); };
  WEIR_ASSERT(slice(facts.etag) == fields.first(http::FieldId::etag).value_or(""));
  WEIR_ASSERT(facts.last_modified.size == 0 || slice(facts.last_modified) == fields.first(http::FieldId::last_modified));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace std::chrono_literals;
  std::string_view text(reinterpret_cast<char const*>(data), size);
  cache::parse_head_fields(text);
  cache::parse_head_status(text);

  base::Now const now{base::WallTime(784111777s), base::SteadyTime(1000s)};
  auto const stored_fields = fields_of(take(text, '\0'));
  auto const new_fields = fields_of(text);
  http::Response stored;
  stored.status = 200;
  stored.fields = stored_fields;
  http::Response not_modified;
  not_modified.status = 304;
  not_modified.fields = new_fields;

  auto s = cache::storability({}, stored, {.request = now, .response = now}, {}, {}, {}, 0.5);
  auto const head = cache::build_head(stored, {.without = &s.fields_not_stored}, now.wall, &s.facts);
  check(head, s.facts);
  auto t = cache::storability_freshened({}, head, s.facts, not_modified, {.request = now, .response = now}, {}, {}, {}, 0.5);
  WEIR_ASSERT(t.facts.lifetime >= 0s && t.facts.initial_age >= 0s);
  auto const once = cache::freshen_head(head, not_modified, {}, now.wall, &t.facts);
  check(once, t.facts);
  // A tag that the 304 added stays where it is, so the order may differ.
  WEIR_ASSERT(sorted_lines(cache::freshen_head(once, not_modified, {}, now.wall, nullptr)) == sorted_lines(once));
  return 0;
}
