#include "weir/http/etag.hpp"

#include <algorithm>

#include "weir/http/field.hpp"

namespace weir::http {
namespace {

// The tag without W/. What is not well formed stands for itself.
std::string_view opaque_of(std::string_view tag) noexcept {
  return tag.starts_with("W/") && is_strong_etag(tag.substr(2)) ? tag.substr(2) : tag;
}

// Where the member that begins at `start` ends: at a comma outside its quotes. In a tag a backslash escapes nothing.
std::size_t member_end(std::string_view list, std::size_t start) noexcept {
  std::size_t from = start;
  std::size_t const open = list.substr(start).starts_with("W/") ? start + 2 : start;
  if (open < list.size() && list[open] == '"') {
    std::size_t const close = list.find('"', open + 1);
    if (close != std::string_view::npos) from = close;
  }
  return std::min(list.find(',', from), list.size());
}

bool any_match(std::string_view list, std::string_view tag, bool (*match)(std::string_view, std::string_view)) noexcept {
  list = trim(list);
  if (list == "*") return true;
  std::size_t start = 0;
  while (start < list.size()) {
    if (list[start] == ' ' || list[start] == '\t' || list[start] == ',') {
      ++start;
      continue;
    }
    std::size_t const end = member_end(list, start);
    if (match(trim(list.substr(start, end - start)), tag)) return true;
    start = end;
  }
  return false;
}

}  // namespace

bool is_strong_etag(std::string_view tag) noexcept {
  if (tag.size() < 2 || tag.front() != '"' || tag.back() != '"') return false;
  auto const opaque = tag.substr(1, tag.size() - 2);
  return std::all_of(opaque.begin(), opaque.end(), [](char c) {
    auto const byte = static_cast<unsigned char>(c);
    return byte >= 0x21 && byte != '"' && byte != 0x7F;
  });
}

bool weak_match(std::string_view a, std::string_view b) noexcept { return !a.empty() && opaque_of(a) == opaque_of(b); }

bool strong_match(std::string_view a, std::string_view b) noexcept { return is_strong_etag(a) && a == b; }

bool any_weak_match(std::string_view list, std::string_view tag) noexcept { return any_match(list, tag, weak_match); }

bool any_strong_match(std::string_view list, std::string_view tag) noexcept { return any_match(list, tag, strong_match); }

}  // namespace weir::http
