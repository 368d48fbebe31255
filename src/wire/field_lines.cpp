#include "field_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

#include "weir/http/field_value.hpp"

namespace weir::wire {

namespace {

namespace beast_http = boost::beast::http;

bool has_bare_cr(std::string_view lines) noexcept {
  for (std::size_t at = lines.find('\r'); at != std::string_view::npos; at = lines.find('\r', at + 1)) {
    if (at + 1 == lines.size() || lines[at + 1] != '\n') return true;
  }
  return false;
}

Refusal read_length(http::Fields fields, http::Framing& framing) noexcept {
  auto const value = fields.only(http::FieldId::content_length);
  if (!value || value->find(',') != std::string_view::npos) return Refusal::content_length_repeated;
  // from_chars takes no sign and no white space for an unsigned type, and tells when the number does not fit.
  auto const [end, error] = std::from_chars(value->data(), value->data() + value->size(), framing.length);
  if (error != std::errc() || end != value->data() + value->size()) return Refusal::content_length;
  framing.kind = http::BodyKind::length;
  return Refusal::none;
}

// Nothing but one `chunked` is accepted. What is refused gets one of two words: a coding that we do not know, or a field
// that says nothing clear (no member, no token, `chunked` twice or with parameters, which it does not have).
Refusal read_codings(http::Fields fields) noexcept {
  auto const only = fields.only(http::FieldId::transfer_encoding);
  if (only && http::equal_ignoring_case(*only, "chunked")) return Refusal::none;
  bool unknown = false;
  bool malformed = false;
  for (auto const& line : fields) {
    if (line.id != http::FieldId::transfer_encoding) continue;
    http::for_each_member(line.value, [&](std::string_view member) {
      auto const name = http::trim(member.substr(0, member.find(';')));
      malformed = malformed || !http::is_token(name);
      unknown = unknown || !http::equal_ignoring_case(name, "chunked");
      return !malformed;
    });
  }
  return unknown && !malformed ? Refusal::transfer_coding : Refusal::transfer_encoding;
}

bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

// Digits alone, and so few that none is too many: Beast and `read_length` see the same number in them.
bool is_plain_length(std::string_view value) noexcept {
  return !value.empty() && value.size() <= 19 && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
}

// What Beast looks into while it reads, but for a plain length.
bool is_judged_by_beast(http::Field const& field) noexcept {
  switch (field.id) {
    case http::FieldId::content_length:
      return !is_plain_length(field.value);
    case http::FieldId::transfer_encoding:
    case http::FieldId::proxy_connection:
    case http::FieldId::upgrade:
      return true;
    case http::FieldId::connection:
      return !http::equal_ignoring_case(field.value, "keep-alive") && !http::equal_ignoring_case(field.value, "close");
    default:
      return false;
  }
}

}  // namespace

HeadEnd find_head_end(std::string_view head, std::size_t& scanned) noexcept {
  for (std::size_t at = scanned;;) {
    std::size_t const line_feed = head.find('\n', at);
    if (line_feed == std::string_view::npos) {
      scanned = head.size();
      return HeadEnd::need_more;
    }
    if (line_feed == 0 || head[line_feed - 1] != '\r') return HeadEnd::bare_cr_lf;
    if (line_feed >= 3 && head[line_feed - 2] == '\n') {
      scanned = line_feed + 1;
      return HeadEnd::found;
    }
    if (line_feed + 1 == head.size()) {
      scanned = line_feed;  // whether the next line is folded is seen by its first byte
      return HeadEnd::need_more;
    }
    if (char const next = head[line_feed + 1]; next == ' ' || next == '\t') return HeadEnd::obs_fold;
    at = line_feed + 1;
  }
}

std::size_t read_plain_fields(std::string_view text, std::span<http::Field> room, std::size_t& count) noexcept {
  char const* at = text.data();
  char const* const end = at + text.size();
  auto const ends_line = [&] { return end - at >= 2 && at[0] == '\r' && at[1] == '\n'; };
  bool has_length = false;
  for (count = 0; !ends_line(); ++count) {
    if (count == room.size()) return 0;
    char const* const name = at;
    while (at != end && http::is_token_char(*at)) ++at;
    if (at == name || at == end || *at != ':') return 0;
    std::string_view const name_text(name, static_cast<std::size_t>(at - name));
    do ++at;
    while (at != end && is_blank(*at));
    char const* const value = at;
    at = http::skip_field_value(at, end);
    if (!ends_line()) return 0;
    char const* value_end = at;
    while (value_end != value && is_blank(value_end[-1])) --value_end;
    auto& field = room[count];
    field = {http::field_id(name_text), name_text, {value, static_cast<std::size_t>(value_end - value)}};
    if (is_judged_by_beast(field)) return 0;
    if (field.id == http::FieldId::content_length && std::exchange(has_length, true)) return 0;
    at += 2;
  }
  return static_cast<std::size_t>(at - text.data()) + 2;
}

Refusal FieldLines::read(std::string_view lines) {
  static constexpr std::string_view neutral = "GET / HTTP/1.1\r\n";
  header_limit(std::numeric_limits<std::uint32_t>::max());  // the head's size was bounded when its end was looked for
  body_limit(boost::none);                                  // a declared length is judged by the caller
  Error error;
  put(boost::asio::const_buffer(neutral.data(), neutral.size()), error);
  std::size_t const used = put(boost::asio::const_buffer(lines.data(), lines.size()), error);
  if (error) return refusal_of(error, lines);
  return is_header_done() && used == lines.size() ? Refusal::none : Refusal::malformed;
}

void FieldLines::on_field_impl(beast_http::field, View name, View value, Error& error) {
  if (count_ == room_.size()) {
    error = beast_http::error::header_limit;
    return;
  }
  std::string_view const our_name(name.data(), name.size());
  room_[count_++] = {http::field_id(our_name), our_name, std::string_view(value.data(), value.size())};
}

// Beast looks at a framing field before it hands it over, so the field that it refuses is not among ours.
Refusal FieldLines::refusal_of(Error const& error, std::string_view lines) const noexcept {
  bool const has_length = fields().has(http::FieldId::content_length);
  bool const has_coding = fields().has(http::FieldId::transfer_encoding);
  if (error == beast_http::error::header_limit) return Refusal::too_many_fields;
  if (has_bare_cr(lines)) return Refusal::bare_cr_lf;
  if (error == beast_http::error::bad_field) return Refusal::field_name;
  if (error == beast_http::error::bad_value) return Refusal::field_value;
  if (error == beast_http::error::multiple_content_length) return Refusal::content_length_repeated;
  if (error == beast_http::error::bad_content_length) {
    return has_coding ? Refusal::length_and_coding : Refusal::content_length;
  }
  if (error == beast_http::error::bad_transfer_encoding) {
    return has_length ? Refusal::length_and_coding : Refusal::transfer_encoding;
  }
  return Refusal::malformed;
}

Refusal read_framing(http::Fields fields, int version, http::Framing& framing) noexcept {
  bool const has_length = fields.has(http::FieldId::content_length);
  bool const has_coding = fields.has(http::FieldId::transfer_encoding);
  if (has_length && has_coding) return Refusal::length_and_coding;
  if (has_length) return read_length(fields, framing);
  if (!has_coding) return Refusal::none;
  if (version < 11) return Refusal::chunked_in_1_0;
  if (auto const refusal = read_codings(fields); refusal != Refusal::none) return refusal;
  framing.kind = http::BodyKind::chunked;
  return Refusal::none;
}

bool persists(http::Fields fields, int version) noexcept {
  if (fields.list_contains(http::FieldId::connection, "close")) return false;
  return version >= 11 || fields.list_contains(http::FieldId::connection, "keep-alive");
}

}  // namespace weir::wire
