#include "support/message.hpp"

#include <algorithm>
#include <charconv>
#include <ostream>
#include <utility>

namespace weir::test {

namespace {

constexpr std::size_t longest_line = 64 * 1024;  // of a chunk header or trailer; more is a mistake of the peer

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  auto const allowed = [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || marks.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class Number>
bool parse_number(std::string_view text, int base, Number& out) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

// Splits `text` at CR LF, each line ending so; the lines hold neither CR nor LF nor NUL.
bool split_lines(std::string_view text, std::vector<std::string_view>& lines) {
  while (!text.empty()) {
    std::size_t const end = text.find("\r\n");
    if (end == std::string_view::npos) return false;
    std::string_view const line = text.substr(0, end);
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return false;
    lines.push_back(line);
    text.remove_prefix(end + 2);
  }
  return true;
}

bool parse_fields(std::vector<std::string_view> const& lines, std::size_t from, Fields& fields, std::string& problem) {
  for (std::size_t i = from; i < lines.size(); ++i) {
    std::size_t const colon = lines[i].find(':');
    if (colon == std::string_view::npos || !is_token(lines[i].substr(0, colon))) {
      problem = "bad field line: " + std::string(lines[i]);
      return false;
    }
    fields.push_back({std::string(lines[i].substr(0, colon)), std::string(trim(lines[i].substr(colon + 1)))});
  }
  return true;
}

// Takes a head with its blank line from `buffer` into `message` and `start`; false while it is not there.
bool cut_head(std::string& buffer, Message& message, std::string& start, std::string& problem) {
  std::size_t const end = buffer.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  message.head = buffer.substr(0, end + 4);
  buffer.erase(0, end + 4);
  std::vector<std::string_view> lines;
  if (!split_lines(std::string_view(message.head).substr(0, end + 2), lines)) {
    problem = "bare CR, LF or NUL in the head";
  } else {
    start = lines.front();
    parse_fields(lines, 1, message.fields, problem);
  }
  return true;
}

bool parse_status_line(std::string const& line, Response& response) {
  if (line.size() < 13 || (!line.starts_with("HTTP/1.1 ") && !line.starts_with("HTTP/1.0 ")) || line[12] != ' ')
    return false;
  response.version = line.substr(0, 8);
  response.reason = line.substr(13);
  return parse_number(std::string_view(line).substr(9, 3), 10, response.status) && response.status >= 100;
}

bool parse_request_line(std::string const& line, Request& request) {
  std::size_t const first = line.find(' ');
  std::size_t const last = line.rfind(' ');
  if (first == std::string::npos || first == last) return false;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, last - first - 1);
  request.version = line.substr(last + 1);
  return is_token(request.method) && !request.target.empty() && request.target.find(' ') == std::string::npos &&
         (request.version == "HTTP/1.1" || request.version == "HTTP/1.0");
}

// How the fields frame the body; `otherwise` when they say nothing.
BodyReader framing_of(Message const& message, BodyReader::Framing otherwise, std::string& problem) {
  bool const coded = message.has("Transfer-Encoding");
  std::size_t const lengths = message.count("Content-Length");
  if (coded && lengths > 0) problem = "both Transfer-Encoding and Content-Length";
  if (coded && message.value("Transfer-Encoding") != "chunked") problem = "a transfer coding other than one chunked";
  if (coded && message.version == "HTTP/1.0") problem = "a transfer coding in HTTP/1.0";
  if (coded) return {BodyReader::Framing::chunked, 0};
  if (lengths == 0) return {otherwise, 0};
  std::uint64_t length = 0;
  if (lengths > 1 || !parse_number(message.value("Content-Length"), 10, length)) problem = "bad Content-Length";
  return {BodyReader::Framing::length, length};
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::string write_fields(Fields const& fields) {
  std::string text;
  for (Field const& field : fields) text += field.name + ": " + field.value + "\r\n";
  return text;
}

std::string Message::value(std::string_view name) const {
  std::string joined;
  bool first = true;
  for (Field const& field : fields) {
    if (!same_name(field.name, name)) continue;
    if (!std::exchange(first, false)) joined += ", ";
    joined += field.value;
  }
  return joined;
}

std::size_t Message::count(std::string_view name) const {
  auto const named = [&](Field const& field) { return same_name(field.name, name); };
  return static_cast<std::size_t>(std::count_if(fields.begin(), fields.end(), named));
}

bool BodyReader::take(std::string& buffer, Message& message, std::string& problem) {
  switch (framing_) {
    case Framing::none:
      return true;
    case Framing::length:
      return take_length(buffer, message.body);
    case Framing::chunked:
      return take_chunks(buffer, message, problem);
    case Framing::until_close:
      break;
  }
  message.body += buffer;
  buffer.clear();
  return false;
}

bool BodyReader::take_length(std::string& buffer, std::string& body) {
  std::size_t const size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, buffer.size()));
  body.append(buffer, 0, size);
  buffer.erase(0, size);
  left_ -= size;
  return left_ == 0;
}

bool BodyReader::take_chunks(std::string& buffer, Message& message, std::string& problem) {
  auto const broken = [&](char const* what) {
    problem = what;
    return true;
  };
  for (;;) {
    if (chunk_ == Chunk::data) {
      if (!take_length(buffer, message.body)) return false;
      chunk_ = Chunk::data_end;
    }
    std::size_t const end = buffer.find("\r\n");
    if (end == std::string::npos) return buffer.size() > longest_line && broken("an endless chunk line");
    std::string const line = buffer.substr(0, end);
    buffer.erase(0, end + 2);
    if (line.find_first_of("\r\n") != std::string::npos) return broken("a bare CR or LF in a chunk line");
    if (chunk_ == Chunk::data_end) {
      if (!line.empty()) return broken("chunk data longer than its size");
      chunk_ = Chunk::size;
    } else if (chunk_ == Chunk::size) {
      if (!parse_number(trim(std::string_view(line).substr(0, line.find(';'))), 16, left_)) return broken("bad chunk size");
      chunk_ = left_ == 0 ? Chunk::trailers : Chunk::data;
    } else if (line.empty()) {
      return true;
    } else if (!parse_fields({line}, 0, message.trailers, problem)) {
      return true;
    }
  }
}

bool ResponseReader::take(std::string& buffer) {
  std::size_t const before = buffer.size();
  std::string const had = buffer;
  bool const done = take_some(buffer);
  response_.raw.append(had, 0, before - buffer.size());
  return done;
}

bool ResponseReader::take_some(std::string& buffer) {
  while (!has_head_)
    if (!take_head(buffer)) return !response_.problem.empty();
  whole_ = body_.take(buffer, response_, response_.problem);
  return whole_;
}

// One head, interim or final; false when there is none or it is malformed.
bool ResponseReader::take_head(std::string& buffer) {
  Response next;
  std::string start;
  if (!cut_head(buffer, next, start, response_.problem)) return false;
  if (response_.problem.empty() && !parse_status_line(start, next)) response_.problem = "bad status line: " + start;
  if (!response_.problem.empty()) return false;
  if (next.status < 200 && next.status != 101) {
    next.end = End::whole;
    next.complete = true;
    response_.interim.push_back(std::move(next));
    return true;
  }
  next.interim = std::move(response_.interim);
  next.raw = std::move(response_.raw);
  response_ = std::move(next);
  has_head_ = true;
  BodyReader const framed = framing_of(response_, BodyReader::Framing::until_close, response_.problem);
  int const status = response_.status;
  bool const bodiless = head_only_ || status < 200 || status == 204 || status == 304;
  body_ = bodiless ? BodyReader() : framed;
  if ((status < 200 || status == 204) && framed.framing() != BodyReader::Framing::until_close)
    response_.problem = "framing fields in a response that has no body";
  return response_.problem.empty();
}

Response ResponseReader::so_far(End end) const {
  Response response = response_;
  bool const ended_by_close = has_head_ && end == End::finished && body_.framing() == BodyReader::Framing::until_close;
  response.complete = response.problem.empty() && (whole_ || ended_by_close);
  response.end = response.complete ? End::whole : response.problem.empty() ? end : End::malformed;
  return response;
}

bool RequestReader::take_head(std::string& buffer) {
  std::string start;
  if (!cut_head(buffer, request_, start, problem_)) return false;
  if (problem_.empty() && !parse_request_line(start, request_)) problem_ = "bad request line: " + start;
  if (problem_.empty()) body_ = framing_of(request_, BodyReader::Framing::none, problem_);
  return true;
}

bool RequestReader::take_body(std::string& buffer) {
  bool const ended = body_.take(buffer, request_, problem_);
  request_.complete = ended && problem_.empty();
  return ended;
}

std::ostream& operator<<(std::ostream& out, End end) {
  switch (end) {
    case End::silence:
      return out << "silence";
    case End::whole:
      return out << "whole";
    case End::finished:
      return out << "finished";
    case End::reset:
      return out << "reset";
    case End::malformed:
      return out << "malformed";
  }
  return out;
}

std::ostream& operator<<(std::ostream& out, Field const& field) { return out << field.name << ": " << field.value; }

std::ostream& operator<<(std::ostream& out, Response const& response) {
  out << (response.head.empty() ? "(no head)\n" : response.head) << "(" << response.body.size()
      << " body bytes, end: " << response.end;
  if (!response.problem.empty()) out << ", " << response.problem;
  return out << ")";
}

std::ostream& operator<<(std::ostream& out, Request const& request) {
  return out << request.head << "(" << request.body.size() << " body bytes)";
}

}  // namespace weir::test
