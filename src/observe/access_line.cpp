// How a line of the access log is written.
#include <algorithm>
#include <charconv>
#include <ctime>
#include <utility>

#include "weir/observe/access_log.hpp"
#include "weir/observe/json_text.hpp"

namespace weir::observe {
namespace {

void append_number(std::string& out, std::int64_t number) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append_padded(std::string& out, std::int64_t number, std::size_t width) {
  auto const begin = out.size();
  append_number(out, number);
  if (out.size() - begin < width) out.insert(begin, width - (out.size() - begin), '0');
}

// Seconds with microseconds.
void append_seconds(std::string& out, base::Duration d) {
  auto const us = std::max<std::int64_t>(std::chrono::duration_cast<std::chrono::microseconds>(d).count(), 0);
  append_number(out, us / 1'000'000);
  out += '.';
  append_padded(out, us % 1'000'000, 6);
}

std::tm utc(base::WallTime when) {
  auto const seconds =
      static_cast<std::time_t>(std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count());
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

// Inside quotes: what would end them, break the line or move a terminal's cursor is written as \xHH, as nginx does.
void append_escaped(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
      out += c;
      continue;
    }
    out += "\\x";
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += " \"";
  append_escaped(out, text.empty() ? std::string_view("-") : text);
  out += '"';
}

void append_combined(std::string& out, Access const& access) {
  static constexpr std::array<char const*, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  auto const when = utc(access.came);
  append_escaped(out, access.client.empty() ? std::string_view("-") : access.client);
  out += " - - [";
  append_padded(out, when.tm_mday, 2);
  out.append("/").append(months[static_cast<std::size_t>(when.tm_mon)]).append("/");
  append_padded(out, when.tm_year + 1900, 4);
  for (int const part : {when.tm_hour, when.tm_min, when.tm_sec}) {
    out += ':';
    append_padded(out, part, 2);
  }
  out += " +0000] \"";
  if (access.version == 0) {
    out += '-';
  } else {
    append_escaped(out, access.method);
    out += ' ';
    append_escaped(out, access.target);
    out += access.version == 10 ? " HTTP/1.0" : " HTTP/1.1";
  }
  out += "\" ";
  append_number(out, access.status);
  out += ' ';
  append_number(out, static_cast<std::int64_t>(access.body_bytes));
  append_quoted(out, access.referer);
  append_quoted(out, access.agent);
  append_quoted(out, access.host);
  out.append(" ").append(label(access.outcome));
  append_quoted(out, access.version == 0 ? std::string_view() : StatusText(access.cache_status).view());
  out += ' ';
  append_seconds(out, access.until_answer);
  out += ' ';
  append_seconds(out, access.until_end);
}

void append_json(std::string& out, Access const& access) {
  auto const when = utc(access.came);
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(access.came.time_since_epoch()).count() % 1000;
  out += "{\"time\":\"";
  append_padded(out, when.tm_year + 1900, 4);
  for (auto const& [mark, part] : {std::pair('-', when.tm_mon + 1), std::pair('-', when.tm_mday),
                                   std::pair('T', when.tm_hour), std::pair(':', when.tm_min), std::pair(':', when.tm_sec)}) {
    out += mark;
    append_padded(out, part, 2);
  }
  out += '.';
  append_padded(out, ms, 3);
  out += "Z\"";
  auto const text = [&](char const* name, std::string_view value) {
    out.append(",\"").append(name).append("\":");
    append_json_string(out, value);
  };
  auto const number = [&](char const* name, std::int64_t value) {
    out.append(",\"").append(name).append("\":");
    append_number(out, value);
  };
  text("client", access.client);
  if (access.version != 0) {
    text("method", access.method);
    text("host", access.host);
    text("target", access.target);
    text("version", access.version == 10 ? "1.0" : "1.1");
  }
  number("status", access.status);
  number("body_bytes", static_cast<std::int64_t>(access.body_bytes));
  if (!access.site.empty()) text("site", access.site);
  text("outcome", label(access.outcome));
  if (access.version != 0) text("cache_status", StatusText(access.cache_status).view());
  out += access.outcome == Outcome::collapsed ? ",\"collapsed\":true" : ",\"collapsed\":false";
  out += access.whole ? ",\"whole\":true" : ",\"whole\":false";
  out += ",\"seconds_to_answer\":";
  append_seconds(out, access.until_answer);
  out += ",\"seconds\":";
  append_seconds(out, access.until_end);
  if (!access.referer.empty()) text("referer", access.referer);
  if (!access.agent.empty()) text("user_agent", access.agent);
  if (!access.request_id.empty()) text("request_id", access.request_id);
  out += '}';
}

}  // namespace

void append_access_line(std::string& out, Access const& access, LogFormat format) {
  if (format == LogFormat::json)
    append_json(out, access);
  else
    append_combined(out, access);
}

}  // namespace weir::observe
