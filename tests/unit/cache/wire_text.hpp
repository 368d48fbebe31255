// Messages for the tables of this room, written as on the wire with '\n' for line ends.
#pragma once

#include <charconv>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/http/date.hpp"
#include "weir/http/message.hpp"
#include "weir/http/target.hpp"

namespace weir::cache::test {

using namespace std::chrono_literals;

// Sun, 06 Nov 1994 08:49:37 GMT, and one hour and more on the steady clock, so that there is room before it.
inline constexpr base::Now noon{base::WallTime(784111777s), base::SteadyTime(100'000s)};

inline base::Now after(base::Duration by, base::Now from = noon) { return {from.wall + by, from.steady + by}; }

inline std::string date_text(base::WallTime time) {
  std::string text(http::date_size, '\0');
  http::write_date(time, text.data());
  return text;
}

// "$-30" in a message stands for the date 30 s before noon.
inline std::string with_dates(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text[0] != '$') {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    std::int64_t offset = 0;
    bool const plus = text.size() > 1 && text[1] == '+';
    char const* const begin = text.data() + (plus ? 2 : 1);
    auto const result = std::from_chars(begin, text.data() + text.size(), offset);
    text.remove_prefix(static_cast<std::size_t>(result.ptr - text.data()));
    out += date_text(noon.wall + std::chrono::seconds(offset));
  }
  return out;
}

// Keeps the text; the fields are views into it, so it does not move.
class Message {
 public:
  explicit Message(std::string_view text) : text_(with_dates(text)) {
    std::string_view rest = text_;
    first_ = next_line(rest);
    while (!rest.empty()) {
      auto const line = next_line(rest);
      auto const colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      auto const name = line.substr(0, colon);
      lines_.push_back({http::field_id(name), name, http::trim(line.substr(colon + 1))});
    }
  }
  Message(Message const&) = delete;
  Message& operator=(Message const&) = delete;

  std::string_view first_line() const { return first_; }
  http::Fields fields() const { return lines_; }

 private:
  static std::string_view next_line(std::string_view& rest) {
    auto const end = rest.find('\n');
    auto const line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return line;
  }

  std::string text_;
  std::string_view first_;
  std::vector<http::Field> lines_;
};

// "GET /path?query" (scheme http, authority from Host) or "GET https://host/path", then field lines.
class WireRequest : public Message {
 public:
  explicit WireRequest(std::string_view text) : Message(text) {
    auto const space = first_line().find(' ');
    request.method = first_line().substr(0, space);
    request.method_id = http::method_of(request.method);
    request.target = first_line().substr(space + 1);
    auto const target = http::parse_target(request.target);
    request.scheme = "http";
    request.authority = fields().first(http::FieldId::host).value_or("");
    if (target) {
      if (target->form == http::TargetForm::absolute) {
        request.scheme = target->scheme;
        request.authority = target->authority;
      }
      request.path = target->path;
      request.query = target->query;
      request.has_query = target->has_query;
    }
    request.fields = fields();
  }

  http::Request request;
};

// "200 OK", then field lines.
class WireResponse : public Message {
 public:
  explicit WireResponse(std::string_view text) : Message(text) {
    std::from_chars(first_line().data(), first_line().data() + first_line().size(), response.status);
    auto const space = first_line().find(' ');
    if (space != std::string_view::npos) response.reason = first_line().substr(space + 1);
    response.fields = fields();
    if (auto const length = fields().only(http::FieldId::content_length)) {
      response.framing.kind = http::BodyKind::length;
      std::from_chars(length->data(), length->data() + length->size(), response.framing.length);
    }
  }

  http::Response response;
};

// A row's name as part of its test's: letters and digits, words joined by '_', the row's number in front.
inline constexpr auto row_name = [](auto const& row) {
  std::string out = std::to_string(row.index);
  bool between = true;
  for (char const c : std::string_view(row.param.name)) {
    bool const word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (word && between) out += '_';
    if (word) out += c;
    between = !word;
  }
  return out;
};

inline double to_seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace weir::cache::test
