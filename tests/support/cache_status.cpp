#include "support/cache_status.hpp"

#include <charconv>

namespace weir::test {

namespace {

std::optional<long> to_number(std::string_view text) {
  long number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string trim(std::string_view text) {
  std::size_t const first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// Splits at `separator` outside of quoted strings.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size())
      part += text[i++];
    else if (text[i] == '"')
      quoted = !quoted;
    if (!quoted && text[i] == separator) {
      parts.push_back(trim(part));
      part.clear();
    } else {
      part += text[i];
    }
  }
  parts.push_back(trim(part));
  return parts;
}

std::string unquote(std::string const& text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
  std::string plain;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    plain += text[i];
  }
  return plain;
}

}  // namespace

std::optional<long> CacheStatus::ttl() const { return to_number(value("ttl")); }

std::string CacheStatus::value(std::string_view parameter) const {
  auto const found = parameters.find(parameter);
  return found == parameters.end() ? std::string() : found->second;
}

std::vector<CacheStatus> parse_cache_status(std::string_view value) {
  std::vector<CacheStatus> members;
  if (trim(value).empty()) return members;
  for (std::string const& member : split(value, ',')) {
    CacheStatus status;
    for (std::string const& part : split(member, ';')) {
      if (status.name.empty()) {
        status.name = unquote(part);
        continue;
      }
      std::size_t const equals = part.find('=');
      std::string const given = equals == std::string::npos ? "?1" : unquote(part.substr(equals + 1));
      status.parameters[part.substr(0, equals)] = given;
    }
    members.push_back(std::move(status));
  }
  return members;
}

CacheStatus cache_status(Response const& response) {
  std::vector<CacheStatus> const members = parse_cache_status(response.value("Cache-Status"));
  return members.empty() ? CacheStatus{} : members.back();
}

long age(Response const& response) {
  if (response.count("Age") != 1) return -1;
  return to_number(response.value("Age")).value_or(-1);
}

}  // namespace weir::test
