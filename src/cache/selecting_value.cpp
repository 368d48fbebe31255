#include "weir/cache/selecting_value.hpp"

#include <string>

#include "weir/base/thread_room.hpp"
#include "weir/cache/cookies.hpp"
#include "weir/http/accept.hpp"

namespace weir::cache {
namespace {

void append(std::string_view text, Bytes& out) { out.insert(out.end(), text.begin(), text.end()); }

void drop_trailing_space(std::size_t begin, Bytes& out) noexcept {
  while (out.size() > begin && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
}

// Where one line ends inside a quoted string the next goes on in it, as in the combined value (RFC 9110 5.3).
struct CommaTrimmer {
  Bytes& out;
  std::size_t begin;  // white space before this belongs to somebody else
  bool quoted = false;
  bool escaped = false;
  bool behind_comma = true;

  void add(char c) {
    if (quoted) {
      if (escaped)
        escaped = false;
      else if (c == '\\')
        escaped = true;
      else if (c == '"')
        quoted = false;
      out.push_back(c);
      begin = out.size();
      return;
    }
    if (behind_comma && (c == ' ' || c == '\t')) return;
    if (c == ',') drop_trailing_space(begin, out);
    quoted = c == '"';
    behind_comma = c == ',';
    out.push_back(c);
  }
};

bool append_combined_tightly(http::Fields request, http::FieldId id, std::string_view name, Bytes& out) {
  auto const start = out.size();
  CommaTrimmer trimmer{.out = out, .begin = start};
  bool found = false;
  for (auto const& field : request) {
    if (field.id != id || (id == http::FieldId::other && !http::equal_ignoring_case(field.name, name))) continue;
    if (found) {
      trimmer.add(',');
      trimmer.add(' ');
    }
    found = true;
    for (char const c : field.value) trimmer.add(c);
  }
  // A string that nothing closes ends where the field does, whose trailing space is none of its value.
  drop_trailing_space(trimmer.quoted ? start : trimmer.begin, out);
  return found;
}

// Cookies are one list, whatever lines they came in (RFC 6265 5.4).
bool append_cookies(http::Fields request, Bytes& out) {
  if (!request.has(http::FieldId::cookie)) return false;
  auto const begin = out.size();
  for_each_cookie(request, [&](Cookie const& cookie) {
    if (out.size() > begin) append("; ", out);
    append(cookie.text, out);
    return true;
  });
  return true;
}

bool append_languages(http::Fields request, KeyRules const& rules, Bytes& out) {
  auto const first = request.first(http::FieldId::accept_language);
  if (!first) return false;
  // Kept by the thread: a hit on a page that varies on the language allocates nothing once they have grown. At most one
  // request head's bytes each.
  auto& combined = base::thread_room().languages;
  auto& normalized = base::thread_room().normalized_languages;
  combined.clear();
  request.append_combined(http::FieldId::accept_language, combined);
  if (!rules.languages.empty()) {
    auto const language = http::choose_language(combined, rules.languages);
    append(language, out);
    return !language.empty();
  }
  normalized.clear();
  http::append_normalized_languages(combined, normalized);
  append(normalized, out);
  return true;
}

}  // namespace

bool append_selecting_value(http::Fields request, std::string_view name, KeyRules const& rules, Bytes& out) {
  auto const id = http::field_id(name);
  if (id == http::FieldId::accept_encoding) {
    append(http::choose_coding(request, rules.accept_encoding).coding, out);
    return true;
  }
  if (id == http::FieldId::accept_language) return append_languages(request, rules, out);
  if (id == http::FieldId::cookie) return append_cookies(request, out);
  return append_combined_tightly(request, id, name, out);
}

}  // namespace weir::cache
