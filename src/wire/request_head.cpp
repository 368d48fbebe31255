#include <algorithm>
#include <array>
#include <optional>

#include "field_lines.hpp"
#include "weir/base/assert.hpp"
#include "weir/http/target.hpp"
#include "weir/wire/head.hpp"

namespace weir::wire {

namespace {

struct Verdict {
  std::string_view label;
  int status;
};

// In the order of Refusal.
constexpr std::array<Verdict, refusal_count + 1> verdicts{{
    {"malformed", 400},
    {"method", 400},
    {"target", 400},
    {"target_too_long", 414},
    {"version", 505},
    {"host_missing", 400},
    {"host_repeated", 400},
    {"host", 400},
    {"field_name", 400},
    {"field_value", 400},
    {"fields_too_large", 431},
    {"too_many_fields", 431},
    {"obs_fold", 400},
    {"bare_cr_lf", 400},
    {"content_length", 400},
    {"content_length_repeated", 400},
    {"length_and_coding", 400},
    {"transfer_coding", 501},
    {"transfer_encoding", 400},
    {"chunked_in_1_0", 400},
    {"body_too_large", 413},
    {"none", 200},
}};
static_assert(static_cast<std::size_t>(Refusal::none) == refusal_count);

// How much of a method is looked at before its line is complete: enough to know other protocols by their first bytes.
constexpr std::size_t early_method_bytes = 64;

RequestHead refused(Refusal refusal, std::size_t& scanned) {
  scanned = 0;
  RequestHead head;
  head.step = HeadStep::refused;
  head.refusal = refusal;
  return head;
}

RequestHead unfinished(std::string_view bytes, HeadLimits const& limits, std::size_t& scanned) {
  if (bytes.size() >= limits.head_bytes) return refused(Refusal::fields_too_large, scanned);
  return {};
}

// What can be said of a request line whose end may still be missing. `line` goes up to the line feed, if there is one.
Refusal judge_beginning(std::string_view line, HeadLimits const& limits) noexcept {
  std::size_t const method_end = line.find(' ');
  for (char const c : line.substr(0, std::min(method_end, early_method_bytes))) {
    if (c == '\r') break;  // the end of the line, or a bare one: the next byte tells
    if (!http::is_token_char(c)) return Refusal::method;
  }
  if (method_end == std::string_view::npos) return Refusal::none;
  auto const rest = line.substr(method_end + 1);
  return std::min(rest.find(' '), rest.size()) > limits.target ? Refusal::target_too_long : Refusal::none;
}

Refusal read_version(std::string_view text, int& version) noexcept {
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is_digit(text[5]) || text[6] != '.' || !is_digit(text[7])) {
    return Refusal::malformed;
  }
  if (text[5] != '1' || text[7] > '1') return Refusal::version;
  version = text[7] == '1' ? 11 : 10;
  return Refusal::none;
}

// RFC 9112 3.2: the authority form is CONNECT's and CONNECT has no other; the asterisk is for OPTIONS.
bool form_fits(http::TargetForm form, http::Method method) noexcept {
  if (method == http::Method::connect) return form == http::TargetForm::authority;
  if (form == http::TargetForm::asterisk) return method == http::Method::options;
  return form != http::TargetForm::authority;
}

// `line` goes up to the line feed.
Refusal read_request_line(std::string_view line, http::Request& request, http::Target& target) noexcept {
  if (line.empty() || line.find('\r') != line.size() - 1) return Refusal::bare_cr_lf;
  line.remove_suffix(1);
  std::size_t const method_end = line.find(' ');
  request.method = line.substr(0, method_end);
  request.method_id = http::method_of(request.method);
  if (request.method_id == http::Method::other && !http::is_token(request.method)) return Refusal::method;
  if (method_end == std::string_view::npos) return Refusal::malformed;

  auto const rest = line.substr(method_end + 1);
  std::size_t const target_end = rest.find(' ');
  request.target = rest.substr(0, target_end);
  auto const parsed = http::parse_target(request.target);
  if (!parsed) return Refusal::target;
  if (target_end == std::string_view::npos) return Refusal::version;  // HTTP/0.9
  if (auto const refusal = read_version(rest.substr(target_end + 1), request.version); refusal != Refusal::none)
    return refusal;
  if (!form_fits(parsed->form, request.method_id)) return Refusal::target;
  target = *parsed;
  return Refusal::none;
}

// RFC 9112 3.2.4: OPTIONS of a URI with neither path nor query; the "/" of that path is the parser's own.
bool asks_whole_server(http::Target const& target, http::Request const& request) noexcept {
  return request.method_id == http::Method::options && target.form == http::TargetForm::absolute && !target.has_query &&
         target.path == "/" && !request.target.ends_with('/');
}

// RFC 9112 3.2 and 3.2.2: Host is there once, in HTTP/1.1 always, even where the target's own authority replaces it.
Refusal apply_target(http::Target const& target, std::string_view listener_scheme, http::Request& request) noexcept {
  if (request.fields.count(http::FieldId::host) > 1) return Refusal::host_repeated;
  auto const host = request.fields.first(http::FieldId::host);
  if (!host && request.version >= 11) return Refusal::host_missing;
  if (host && !http::is_host(*host)) return Refusal::host;

  request.scheme = listener_scheme;  // and not the target's: `https` without TLS is a claim (RFC 9110 7.4)
  request.authority = host.value_or(std::string_view());
  request.path = asks_whole_server(target, request) ? "*" : target.path.empty() ? "/" : target.path;
  request.query = target.query;
  request.has_query = target.has_query;
  if (!target.authority.empty()) request.authority = target.authority;
  return Refusal::none;
}

Refusal apply_fields(HeadLimits const& limits, http::Request& request) noexcept {
  if (auto const refusal = read_framing(request.fields, request.version, request.framing); refusal != Refusal::none)
    return refusal;
  if (request.framing.kind == http::BodyKind::length && request.framing.length > limits.body) return Refusal::body_too_large;
  request.keep_alive = persists(request.fields, request.version);
  // RFC 9110 10.1.1: an HTTP/1.0 client does not know the interim answer, so its expectation is ignored.
  request.expects_continue = request.version >= 11 && request.fields.list_contains(http::FieldId::expect, "100-continue");
  return Refusal::none;
}

}  // namespace

std::string_view label(Refusal refusal) noexcept { return verdicts[static_cast<std::size_t>(refusal)].label; }
int status_of(Refusal refusal) noexcept { return verdicts[static_cast<std::size_t>(refusal)].status; }

// Faults are found in the order of their bytes, so that the verdict does not depend on how the head was cut on its way.
RequestHead read_request_head(std::string_view bytes, std::string_view scheme, HeadLimits const& limits, HeadRoom& room,
                              std::size_t& scanned) {
  auto const window = bytes.substr(0, limits.head_bytes);
  std::size_t const begin = window.starts_with("\r\n") ? 2 : 0;
  std::size_t const line_feed = window.find('\n', begin);
  auto const line = window.substr(begin, line_feed - begin);
  bool const first_look = scanned == 0;

  RequestHead head;
  http::Target target;
  auto const room_for_fields = std::span(room.fields).first(std::min(limits.field_count, max_field_count));
  auto refusal = Refusal::none;
  std::size_t plain = 0;
  if (first_look) {
    if (line_feed == std::string_view::npos) {
      refusal = judge_beginning(line, limits);
      return refusal != Refusal::none ? refused(refusal, scanned) : unfinished(bytes, limits, scanned);
    }
    refusal = read_request_line(line, head.request, target);
    if (refusal != Refusal::none || head.request.target.size() > limits.target) {
      auto const earlier = judge_beginning(line, limits);
      return refused(earlier != Refusal::none ? earlier : refusal, scanned);
    }
    std::size_t count = 0;
    plain = read_plain_fields(window.substr(line_feed + 1), room_for_fields, count);
    head.request.fields = http::Fields(room_for_fields.first(count));
    head.size = line_feed + 1 + plain;
    scanned = line_feed;
  }
  if (plain == 0) {
    switch (find_head_end(window, scanned)) {
      case HeadEnd::need_more:
        return unfinished(bytes, limits, scanned);
      case HeadEnd::bare_cr_lf:
        return refused(Refusal::bare_cr_lf, scanned);
      case HeadEnd::obs_fold:
        return refused(Refusal::obs_fold, scanned);
      case HeadEnd::found:
        break;
    }
    // A head that came in pieces had its first line judged when that was complete; the views are made now.
    if (!first_look) WEIR_ASSERT(read_request_line(line, head.request, target) == Refusal::none);
    head.size = scanned;
    FieldLines lines(room_for_fields);
    refusal = lines.read(window.substr(line_feed + 1, head.size - line_feed - 1));
    head.request.fields = lines.fields();
  }
  if (refusal == Refusal::none) refusal = apply_target(target, scheme, head.request);
  if (refusal == Refusal::none) refusal = apply_fields(limits, head.request);
  if (refusal != Refusal::none) return refused(refusal, scanned);
  scanned = 0;
  head.step = HeadStep::ready;
  return head;
}

}  // namespace weir::wire
