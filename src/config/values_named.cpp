// The kinds of values that are lists or maps of names: networks, patterns, field lines, error pages.
#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "units.hpp"
#include "values.hpp"

namespace weir::config {
namespace {

std::string text_of(cache::NamePattern const& pattern) { return pattern.prefix ? pattern.text + "*" : pattern.text; }

bool same(cache::NamePattern const& a, cache::NamePattern const& b) { return a.prefix == b.prefix && a.text == b.text; }

// Of an error page, which stays in memory.
constexpr std::uint64_t longest_page = 256 << 10;

std::string type_of(std::string_view file) {
  static constexpr std::array<std::array<std::string_view, 2>, 5> known{{{".html", "text/html; charset=utf-8"},
                                                                         {".htm", "text/html; charset=utf-8"},
                                                                         {".json", "application/json"},
                                                                         {".xml", "application/xml"},
                                                                         {".svg", "image/svg+xml"}}};
  for (auto const& [ending, type] : known)
    if (file.ends_with(ending)) return std::string(type);
  return "text/plain; charset=utf-8";
}

// Null unless the item is a map, or nothing, which is an empty one.
bool is_map_or_null(Reader& reader, Item const& item, std::string const& takes) {
  if (item.is_map() || item.is_null()) return true;
  reader.mistake(item, "expected " + takes);
  return false;
}

}  // namespace

void NetworkText::read(Reader& reader, Item const& item, Network& value) const {
  std::string const* const text = reader.text_of(item, "an IP address or network");
  if (!text) return;
  auto const network = parse_network(*text);
  if (!network)
    return reader.mistake(
        item, ticked(*text) + " is not an IP address, nor a network such as 10.0.0.0/8 (bits behind the prefix are 0)");
  value = *network;
}

Item NetworkText::write(Network const& value) const { return Item::scalar(format_network(value)); }

Description NetworkText::describe() const { return {Description::Shape::value, "network", {{"type", "string"}}, "", {}}; }

void Names::read(Reader& reader, Item const& item, std::vector<cache::NamePattern>& value) const {
  std::vector<Item> one;
  std::vector<Item> const* const all = elements(reader, item, takes, one);
  if (!all) return;
  value.clear();
  for (std::size_t i = 0; i < all->size(); ++i) {
    Reader::Step const step(reader, i);
    std::string const* const text = reader.text_of((*all)[i], "a name");
    if (!text) continue;
    if (preset_names && *text == preset) {
      value.insert(value.end(), preset_names().begin(), preset_names().end());
      continue;
    }
    bool const prefix = text->ends_with('*');
    std::string name = text->substr(0, text->size() - (prefix ? 1 : 0));
    if (name.find('*') != std::string::npos) {
      reader.mistake((*all)[i], ticked(*text) + ": a `*` stands at the end alone");
    } else if (std::string const wrong = prefix && name.empty() ? "" : check(name); !wrong.empty()) {
      reader.mistake((*all)[i], ticked(*text) + ": " + wrong);
    } else {
      value.push_back({std::move(name), prefix});
    }
  }
}

Item Names::write(std::vector<cache::NamePattern> const& value) const {
  Item list = Item::list();
  for (auto at = value.begin(); at != value.end();) {
    if (preset_names) {
      auto const& names = preset_names();
      bool const all_there = static_cast<std::size_t>(value.end() - at) >= names.size() && !names.empty() &&
                             std::equal(names.begin(), names.end(), at, same);
      if (all_there) {
        list.items.push_back(Item::scalar(preset, Item::Form::word));
        at += static_cast<std::ptrdiff_t>(names.size());
        continue;
      }
    }
    list.items.push_back(Item::scalar(text_of(*at++)));
  }
  return list;
}

Description Names::describe() const {
  return {Description::Shape::value, takes, {{"type", "array"}, {"items", {{"type", "string"}}}}, "", {}};
}

void FieldLines::read(Reader& reader, Item const& item, std::vector<std::pair<std::string, std::string>>& value) const {
  if (!is_map_or_null(reader, item, "field names with their values, as in {X-Frame-Options: DENY}")) return;
  value.clear();
  for (std::size_t i = 0; i < item.items.size(); ++i) {
    Reader::Step const step(reader, item.keys[i].text);
    std::string name = item.keys[i].text;
    if (std::string const wrong = check_edited_field_name(name); !wrong.empty()) {
      reader.mistake(item.keys[i].place, wrong);
      continue;
    }
    std::string const* const text = reader.text_of(item.items[i], "a field's value");
    if (!text) continue;
    std::string field_value = *text;
    if (std::string const wrong = check_field_value(field_value); !wrong.empty()) {
      reader.mistake(item.items[i], wrong);
      continue;
    }
    value.emplace_back(std::move(name), std::move(field_value));
  }
}

Item FieldLines::write(std::vector<std::pair<std::string, std::string>> const& value) const {
  Item map = Item::map();
  for (auto const& [name, text] : value) map.add(name, Item::scalar(text));
  return map;
}

Description FieldLines::describe() const {
  boost::json::object schema{{"type", {"object", "null"}},
                             {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
  return {Description::Shape::value, "map of field names to values", std::move(schema), "", {}};
}

void FileMode::read(Reader& reader, Item const& item, std::uint32_t& value) const {
  std::string const* const text = reader.text_of(item, "the mode of a file");
  if (!text) return;
  bool const octal = text->size() >= 3 && text->size() <= 4 && text->find_first_not_of("01234567") == std::string::npos;
  auto const mode = octal ? std::stoul(*text, nullptr, 8) : 0;
  if (!octal || mode > 0777) return reader.mistake(item, ticked(*text) + " is not a file's mode, as in \"0660\"");
  value = static_cast<std::uint32_t>(mode);
}

Item FileMode::write(std::uint32_t value) const {
  std::string text = "0";
  for (int const shift : {6, 3, 0}) text += static_cast<char>('0' + (value >> shift & 7U));
  return Item::scalar(text);
}

Description FileMode::describe() const {
  return {Description::Shape::value, "mode in octal", {{"type", {"string", "number"}}}, "", {}};
}

void ErrorPages::read(Reader& reader, Item const& item, std::map<int, ErrorPage>& value) const {
  if (!is_map_or_null(reader, item, "statuses with their files, as in {503: /etc/weir/503.html}")) return;
  value.clear();
  for (std::size_t i = 0; i < item.items.size(); ++i) {
    Reader::Step const step(reader, item.keys[i].text);
    auto const status = parse_number(item.keys[i].text);
    if (!status || *status < 400 || *status > 599) {
      reader.mistake(item.keys[i].place, ticked(item.keys[i].text) + " is not a status from 400 to 599");
      continue;
    }
    ErrorPage page;
    Text{.takes = "a file"}.read(reader, item.items[i], page.file);
    if (page.file.empty() || !reader.read_file(item.items[i], page.file, longest_page, page.body)) continue;
    page.type = type_of(page.file);
    value.emplace(static_cast<int>(*status), std::move(page));
  }
}

Item ErrorPages::write(std::map<int, ErrorPage> const& value) const {
  Item map = Item::map();
  for (auto const& [status, page] : value) map.add(std::to_string(status), Item::scalar(page.file));
  return map;
}

Description ErrorPages::describe() const {
  boost::json::object schema{{"type", {"object", "null"}},
                             {"propertyNames", {{"pattern", "^[45][0-9][0-9]$"}}},
                             {"additionalProperties", {{"type", "string"}}}};
  return {Description::Shape::value, "map of statuses to files", std::move(schema), "", {}};
}

}  // namespace weir::config
