#include "overlay.hpp"

#include <algorithm>
#include <optional>

#include "document.hpp"
#include "units.hpp"

namespace weir::config {
namespace {

constexpr std::string_view prefix = "WEIR__";
using Steps = std::vector<std::string>;

// "sites[0].routes.1.path" to its steps. None: it does not make a path.
std::optional<Steps> steps_of(std::string_view path) {
  Steps steps(1);
  for (char c : path) {
    if (c == ']') continue;
    if (c == '.' || c == '[') {
      steps.emplace_back();
    } else {
      steps.back() += c;
    }
  }
  bool const good = steps.size() <= max_depth && std::none_of(steps.begin(), steps.end(), [](auto& s) { return s.empty(); });
  return good ? std::optional(steps) : std::nullopt;
}

// "COALESCE__FOLLOWER_MAX_WAIT" to "coalesce.follower_max_wait".
std::string path_of_variable(std::string_view name) {
  std::string path;
  for (std::size_t i = 0; i < name.size(); ++i) {
    bool const step = name.substr(i).starts_with("__");
    char const c = name[i];
    path += step ? '.' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (step) ++i;
  }
  return path;
}

// The item one step further, made if it is not there. An index replaces an element or appends one. Null: it cannot be.
Item* step_into(Item& item, std::string const& step, Place const& place) {
  auto const index = parse_number(step);
  if (item.is_null()) item = index == 0U ? Item::list() : Item::map();
  if (item.is_list()) {
    if (!index || *index > item.items.size()) return nullptr;
    if (*index == item.items.size()) item.items.emplace_back().place = place;
    return &item.items[*index];
  }
  if (!item.is_map()) return nullptr;
  if (Item* const found = item.find(step)) return found;
  item.keys.push_back({step, place});
  item.items.emplace_back().place = place;
  return &item.items.back();
}

void put(Item& root, Steps const& steps, Item value, std::string const& path, Mistakes& mistakes) {
  Item* at = &root;
  Place const place = value.place;
  for (std::string const& step : steps) {
    Item* const next = step_into(*at, step, place);
    if (!next)
      return mistakes.add(place, path,
                          ticked(step) + " cannot be set: what holds it is no group or list that has room for it");
    at = next;
  }
  *at = std::move(value);
}

// A list or map in flow style, else the text as it is.
std::optional<Item> value_of(std::string const& text, Place const& place, std::string const& path, Mistakes& mistakes) {
  if (!text.starts_with('[') && !text.starts_with('{')) {
    if (!check_text(text, place.source, Places::source_only, path, mistakes)) return std::nullopt;
    Item item = Item::scalar(text, Item::Form::word);
    item.place = place;
    return item;
  }
  Item item = parse_document(text, place.source, Places::source_only, path, mistakes);
  if (item.is_null()) return std::nullopt;
  return item;
}

void set(Item& root, std::string const& path, std::string const& text, std::string source, Mistakes& mistakes) {
  Place const place{std::make_shared<std::string const>(std::move(source)), 0, 0};
  auto const steps = steps_of(path);
  if (!steps)
    return mistakes.add(place, "", ticked(path) + " is not the path of a setting, as in coalesce.follower_max_wait");
  if (auto value = value_of(text, place, path, mistakes)) put(root, *steps, *std::move(value), path, mistakes);
}

// Origin "default" becomes the first, with this address and what else was said of it.
void set_origin(Item& root, std::string const& url, Mistakes& mistakes) {
  set(root, "origins.default.url", url, "--origin", mistakes);
  Item* const origins = root.find("origins");
  if (!origins || !origins->is_map()) return;
  auto const at =
      std::find_if(origins->keys.begin(), origins->keys.end(), [](MapKey const& key) { return key.text == "default"; });
  if (at == origins->keys.end()) return;
  auto const index = at - origins->keys.begin();
  std::rotate(origins->keys.begin(), at, at + 1);
  std::rotate(origins->items.begin(), origins->items.begin() + index, origins->items.begin() + index + 1);
  Item& origin = origins->items.front();
  for (std::size_t i = 0; i < origin.keys.size(); ++i) {
    if (origin.keys[i].text != "servers") continue;
    origin.keys.erase(origin.keys.begin() + static_cast<std::ptrdiff_t>(i));
    origin.items.erase(origin.items.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
}

}  // namespace

void lay_over(Sources const& sources, Item& root, Mistakes& mistakes) {
  auto variables = sources.environment;
  std::erase_if(variables, [](auto const& variable) { return !variable.first.starts_with(prefix); });
  std::sort(variables.begin(), variables.end());  // a group's own variable comes before those of its keys
  for (auto const& [name, value] : variables)
    set(root, path_of_variable(std::string_view(name).substr(prefix.size())), value, name, mistakes);
  for (auto const& [path, value] : sources.set) set(root, path, value, "--set", mistakes);
  if (!sources.origin.empty()) set_origin(root, sources.origin, mistakes);
  if (sources.listen.empty()) return;
  Item list = Item::list();
  list.place.source = std::make_shared<std::string const>("--listen");
  for (std::string const& address : sources.listen) {
    if (!check_text(address, list.place.source, Places::source_only, "listen", mistakes)) continue;
    list.items.push_back(Item::scalar(address));
    list.items.back().place = list.place;
  }
  put(root, {"listen"}, std::move(list), "listen", mistakes);
}

}  // namespace weir::config
