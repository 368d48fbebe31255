#include "weir/cache/request_error.hpp"

#include <algorithm>

namespace weir::cache {
namespace {

using http::FieldId;

bool is_about_its_request(int status) noexcept {
  switch (status) {
    case 401:
    case 403:
    case 406:
    case 407:
    case 408:
    case 411:
    case 412:
    case 413:
    case 415:
    case 416:
    case 417:
    case 421:
    case 425:
    case 426:
    case 428:
    case 429:
    case 431:
      return true;
    default:
      return false;
  }
}

bool is_printable(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

// RFC 9110 12.5.1 to 12.5.5 but for parameters: `a`, or `a/b`.
bool is_preference(std::string_view member) noexcept {
  member = http::trim(member.substr(0, member.find(';')));
  auto const slash = member.find('/');  // npos + 1 is 0
  return http::is_token(member.substr(0, slash)) && http::is_token(member.substr(slash + 1));
}

bool is_list_of_preferences(std::string_view list) noexcept {
  while (true) {
    auto const comma = list.find(',');
    auto const member = http::trim(list.substr(0, comma));
    if (!member.empty() && !is_preference(member)) return false;
    if (comma == list.npos) return true;
    list.remove_prefix(comma + 1);
  }
}

// RFC 3986 2: what stands in no URI unescaped.
bool is_like_a_uri(std::string_view text) noexcept { return text.find_first_of(" \"<>\\^`{|}") == text.npos; }

bool is_odd(http::Field const& line) noexcept {
  if (!is_printable(line.value)) return true;
  switch (line.id) {
    case FieldId::authorization:
    case FieldId::content_encoding:
    case FieldId::content_language:
    case FieldId::content_location:
    case FieldId::content_range:
    case FieldId::expect:
    case FieldId::max_forwards:
    case FieldId::te:
    case FieldId::trailer:
    case FieldId::transfer_encoding:
    case FieldId::upgrade:
      return true;
    case FieldId::content_length:
      return line.value != "0";
    case FieldId::content_type:  // many set it on all that they ask
      return line.value.find('/') == line.value.npos || !is_preference(line.value);
    case FieldId::accept:
    case FieldId::accept_encoding:
    case FieldId::accept_language:
      return !is_list_of_preferences(line.value);
    case FieldId::origin:
    case FieldId::referer:
      return !is_like_a_uri(line.value);
    default:
      return false;
  }
}

bool is_odd(http::Fields fields) noexcept {
  std::size_t bytes = 0;
  for (auto const& line : fields) {
    bytes += line.name.size() + line.value.size();
    if (is_odd(line)) return true;
  }
  return bytes > ordinary_field_bytes || fields.size() > ordinary_fields;
}

}  // namespace

bool is_request_error(int status, http::Fields fields) noexcept {
  return is_about_its_request(status) || (status >= 400 && is_odd(fields));
}

}  // namespace weir::cache
