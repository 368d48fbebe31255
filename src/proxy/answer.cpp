#include "weir/proxy/answer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "weir/base/assert.hpp"
#include "weir/http/date.hpp"
#include "weir/wire/write.hpp"

namespace weir::proxy {
namespace {

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  auto const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

class TailText {
 public:
  TailText& add(std::string_view text) noexcept {
    WEIR_ASSERT(size_ + text.size() <= bytes_.size());
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
    return *this;
  }
  TailText& add(std::uint64_t number) noexcept {
    auto const end = std::to_chars(bytes_.data() + size_, bytes_.data() + bytes_.size(), number);
    WEIR_ASSERT(end.ec == std::errc());
    size_ = static_cast<std::size_t>(end.ptr - bytes_.data());
    return *this;
  }
  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  // Framing, Age and Connection take at most 120 bytes, a Cache-Status as many as StatusText holds.
  std::array<char, observe::StatusText::max_size + 160> bytes_;
  std::size_t size_ = 0;
};

// Of the representation, and so not of a 304 (RFC 9110 15.4.5). Content-Location stays.
bool belongs_to_body(std::string_view line) noexcept {
  static constexpr std::string_view prefix = "content-";
  static constexpr std::string_view kept = "content-location:";
  auto const starts = [&](std::string_view with) {
    return line.size() >= with.size() && http::equal_ignoring_case(line.substr(0, with.size()), with);
  };
  return starts(prefix) && !starts(kept);
}

}  // namespace

// Composed in one place of fixed size and appended once: a hit's own bytes are made here.
void append_tail(std::string& out, AnswerTail const& tail) {
  observe::StatusText const status(tail.cache_status);
  TailText text;
  switch (tail.framing) {
    case BodyFraming::length:
      text.add("Content-Length: ").add(tail.length).add("\r\n");
      break;
    case BodyFraming::chunked:
      text.add("Transfer-Encoding: chunked\r\n");
      break;
    case BodyFraming::none:
    case BodyFraming::until_close:
      break;
  }
  if (tail.age) {
    auto const seconds = std::max<std::int64_t>(0, base::whole_seconds(*tail.age));
    text.add("Age: ").add(static_cast<std::uint64_t>(seconds)).add("\r\n");
  }
  text.add("Cache-Status: ").add(status.view());
  if (tail.close)
    text.add("\r\nConnection: close\r\n\r\n");
  else if (tail.say_keep_alive)
    text.add("\r\nConnection: keep-alive\r\n\r\n");
  else
    text.add("\r\n\r\n");
  out += text.view();
}

int status_of(cache::Cut cut) noexcept {
  switch (cut) {
    case cache::Cut::not_modified:
      return 304;
    case cache::Cut::precondition_failed:
      return 412;
    case cache::Cut::unsatisfiable:
      return 416;
    case cache::Cut::partial:
      return 206;
    case cache::Cut::whole:
      break;
  }
  return 200;
}

namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) noexcept {
  return std::any_of(names.begin(), names.end(), [&](auto one) { return http::equal_ignoring_case(name, one); });
}

// What a stored head says that an answer which is cut from it may not say.
bool is_cut_away(std::string_view line, int status) noexcept {
  auto const name = line.substr(0, line.find(':'));
  // RFC 9530 2: of the bytes of this very message, which are not the whole.
  if (status == 206) return is_one_of(name, {"content-md5", "content-digest"});
  if (belongs_to_body(line)) return true;
  // A refusal is one client's: a cache before us must not take it for the page.
  constexpr std::string_view control = "cache-control";
  bool const controls =
      name.size() >= control.size() && http::equal_ignoring_case(name.substr(name.size() - control.size()), control);
  return status != 304 && (controls || is_one_of(name, {"expires", "pragma"}));
}

}  // namespace

void append_cut_head(std::string& out, std::string_view head, cache::Selection const& selection, std::uint64_t size) {
  int const status = status_of(selection.cut);
  wire::append_status_line(out, status, http::reason_phrase(status));
  auto rest = head.substr(head.find("\r\n") + 2);
  while (!rest.empty()) {
    auto const line = rest.substr(0, rest.find("\r\n") + 2);
    rest.remove_prefix(line.size());
    if (is_cut_away(line, status)) continue;
    out += line;
  }
  if (status == 412 || status == 416) wire::append_field(out, "Cache-Control", "no-store");
  if (status != 206 && status != 416) return;
  out += "Content-Range: bytes ";
  if (status == 206) {
    append_number(out, selection.range.first);
    out += '-';
    append_number(out, selection.range.last);
  } else {
    out += '*';
  }
  out += '/';
  append_number(out, size);
  out += "\r\n";
}

config::ErrorPage const* error_page(config::Settings const& settings, int status) noexcept {
  auto const found = settings.errors.find(status);
  return found != settings.errors.end() ? &found->second : nullptr;
}

void append_own_answer(std::string& out, OwnAnswer const& answer, base::WallTime now) {
  auto const reason = http::reason_phrase(answer.status);
  wire::append_status_line(out, answer.status, reason);
  char date[http::date_size];
  http::write_date(now, date);
  wire::append_field(out, "Date", {date, sizeof date});
  if (!answer.location.empty()) wire::append_field(out, "Location", answer.location);
  if (!answer.allow.empty()) wire::append_field(out, "Allow", answer.allow);
  if (answer.retry_after > 0) wire::append_field(out, "Retry-After", std::uint64_t{answer.retry_after});
  if (answer.cache_status) wire::append_field(out, "Cache-Status", observe::StatusText(*answer.cache_status).view());
  if (!answer.proxy_error.empty())
    wire::append_field(out, "Proxy-Status",
                       observe::StatusText(observe::ProxyStatus{answer.proxy_error, answer.received_status}).view());
  wire::append_field(out, "Cache-Control", "no-store");
  wire::append_field(out, "Content-Type", answer.page != nullptr ? answer.page->type : "text/plain; charset=utf-8");
  std::string short_text = std::to_string(answer.status);
  if (!reason.empty()) short_text.append(" ").append(reason);
  short_text += '\n';
  std::string_view const text = answer.page != nullptr ? answer.page->body : short_text;
  wire::append_field(out, "Content-Length", std::uint64_t{text.size()});
  if (answer.close) wire::append_field(out, "Connection", "close");
  out += "\r\n";
  if (!answer.head_only) out += text;
}

}  // namespace weir::proxy
