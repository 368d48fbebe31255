#include "members.hpp"

#include <boost/json/serialize.hpp>

#include "weir/observe/json_text.hpp"

namespace weir::admin {

namespace bj = boost::json;

void Members::read(std::string_view name, std::vector<std::string>& out) {
  auto const* const value = take(name);
  if (value == nullptr) return;
  auto const* const list = value->if_array();
  if (list == nullptr) return mistake(name, "a list of strings");
  for (auto const& item : *list) {
    if (!item.is_string() || item.get_string().empty()) return mistake(name, "a list of strings");
    out.emplace_back(item.get_string());
  }
}

void Members::read(std::string_view name, std::string& out) {
  auto const* const value = take(name);
  if (value == nullptr) return;
  if (!value->is_string()) return mistake(name, "a string");
  out = value->get_string();
}

void Members::read(std::string_view name, bool& out) {
  auto const* const value = take(name);
  if (value == nullptr) return;
  if (!value->is_bool()) return mistake(name, "true or false");
  out = value->get_bool();
}

void Members::read(std::string_view name, std::vector<std::pair<std::string, std::string>>& out) {
  auto const* const value = take(name);
  if (value == nullptr) return;
  auto const* const object = value->if_object();
  if (object == nullptr) return mistake(name, "an object of strings");
  for (auto const& member : *object) {
    if (!member.value().is_string()) return mistake(name, "an object of strings");
    out.emplace_back(member.key(), member.value().get_string());
  }
}

void Members::mistake(std::string_view name, std::string_view wanted) {
  mistakes_.push_back("`" + std::string(name) + "` is not " + std::string(wanted));
}

std::vector<std::string> Members::finish(std::string_view known) {
  if (taken_ != object_.size()) mistakes_.push_back("known are " + std::string(known));
  return std::move(mistakes_);
}

bj::value const* Members::take(std::string_view name) {
  auto const* const value = object_.if_contains(name);
  taken_ += value != nullptr;
  return value;
}

bj::array to_json(std::vector<std::string> const& texts) {
  bj::array array;
  for (auto const& text : texts) array.emplace_back(observe::valid_utf8(text));
  return array;
}

Answer mistaken(std::string_view error, std::vector<std::string> const& mistakes) {
  bj::object const body{{"error", error}, {"mistakes", to_json(mistakes)}};
  return json(400, bj::serialize(body) + "\n");
}

}  // namespace weir::admin
