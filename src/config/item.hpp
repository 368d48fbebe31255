// A configuration before it means anything: a tree of scalars, lists and maps, each with its place. The document, the
// environment and the flags are all brought into this form; the dump is written from it. Threads: plain data.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/config/load.hpp"

namespace weir::config {

// Line and column count from 1; 0 where the source is a flag or a variable, which `source` then names.
struct Place {
  std::shared_ptr<std::string const> source;
  int line = 0, column = 0;
};

struct MapKey {
  std::string text;
  Place place;
};

struct Item {
  enum class Kind : unsigned char { null, scalar, list, map };
  // How a scalar was written, or is to be written: quoted text, or a bare word, number or boolean.
  enum class Form : unsigned char { text, word, number, boolean };

  Kind kind = Kind::null;
  Form form = Form::text;
  std::string text;
  std::vector<Item> items;   // of a list, or the values of a map
  std::vector<MapKey> keys;  // of a map, keys[i] to items[i]
  Place place;

  static Item scalar(std::string text, Form form = Form::text);
  static Item list() { return of_kind(Kind::list); }
  static Item map() { return of_kind(Kind::map); }
  void add(std::string key, Item value);
  Item const* find(std::string_view key) const noexcept;
  Item* find(std::string_view key) noexcept;
  bool is_scalar() const noexcept { return kind == Kind::scalar; }
  bool is_list() const noexcept { return kind == Kind::list; }
  bool is_map() const noexcept { return kind == Kind::map; }
  bool is_null() const noexcept { return kind == Kind::null; }
  // A bare word, as `off` and numbers must be.
  bool is_word(std::string_view word) const noexcept { return is_scalar() && form != Form::text && text == word; }
  // In quotes or without, as JSON knows no bare words.
  bool says(std::string_view word) const noexcept { return is_scalar() && text == word; }

 private:
  static Item of_kind(Kind kind) {
    Item item;
    item.kind = kind;
    return item;
  }
};

// Equal as values; places do not count.
bool operator==(Item const& a, Item const& b) noexcept;

// All that is wrong, at most `most` of it: a hostile file does not fill the memory with sentences.
class Mistakes {
 public:
  static constexpr std::size_t most = 1000;
  void add(Place const& place, std::string path, std::string what);
  bool empty() const noexcept { return found_.empty(); }
  // In the order of the file, flags and variables behind it.
  std::vector<Mistake> take();

 private:
  std::vector<Mistake> found_;
  bool more_ = false;
};

// For sentences: "`text`", shortened.
std::string ticked(std::string_view text);

// Block style YAML (keys of the outermost map at column 1), JSON, and one line of flow style YAML.
std::string to_yaml(Item const& item);
std::string to_json(Item const& item);
std::string to_flow(Item const& item);
std::string key_to_yaml(std::string_view key);

}  // namespace weir::config
