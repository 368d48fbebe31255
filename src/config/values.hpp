// Kinds of values: each reads an Item into a member, writes it back, and describes itself. `write` and `read` are inverse:
// what is written reads back as the same value. A mistake leaves the member as it was. Threads: pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "checks.hpp"
#include "item.hpp"
#include "reader.hpp"
#include "weir/cache/rules.hpp"

namespace weir::config {

struct KeyDescription;

// What the README, the schema and weir.yaml say of a value.
struct Description {
  enum class Shape : unsigned char { value, group, groups, named_groups };
  Shape shape = Shape::value;
  std::string takes;                 // "duration", "list of names"
  boost::json::object schema;        // of a value, or of what may stand in place of a group (empty: nothing)
  std::string group;                 // its name in the schema; "" for a value
  std::vector<KeyDescription> keys;  // of the group, or of each of the groups
};

struct KeyDescription {
  std::string name, help;
  std::optional<Item> initial;  // none: not written by default
  bool inherits = false;        // what is not given comes from the enclosing site or the top level
  bool required = false;
  Description value;
};

// true, false, on, off; nothing else.
struct Boolean {
  void read(Reader& reader, Item const& item, bool& value) const;
  Item write(bool value) const { return Item::scalar(value ? "true" : "false", Item::Form::boolean); }
  Description describe() const;
};

// A whole number. `zero`: the word that stands for 0 ("off", "auto"); then 0 itself is not a number to write. An optional
// member is `auto` where it is not set.
struct Count {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  std::string zero;
  bool percent = false;    // `75%` is 75
  bool automatic = false;  // of an optional member

  template <class N>
  void read(Reader& reader, Item const& item, N& value) const {
    if (auto const number = parse(reader, item)) value = static_cast<N>(*number);
  }
  template <class N>
  void read(Reader& reader, Item const& item, std::optional<N>& value) const {
    if (item.says("auto"))
      value.reset();
    else if (auto const number = parse(reader, item))
      value = static_cast<N>(*number);
  }
  Item write(std::uint64_t value) const;
  template <class N>
  Item write(std::optional<N> const& value) const {
    return value ? write(*value) : Item::scalar("auto", Item::Form::word);
  }
  Description describe() const;
  std::optional<std::uint64_t> parse(Reader& reader, Item const& item) const;
  std::string or_words() const;  // ", or `off`"
};

inline Count percent(std::uint64_t least, std::uint64_t most, std::string zero = "") {
  return {least, most, std::move(zero), true, false};
}

// Bytes with a binary unit. `zero` as above.
struct Size {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  std::string zero;

  void read(Reader& reader, Item const& item, std::uint64_t& value) const;
  Item write(std::uint64_t value) const;
  Description describe() const;
};

// A duration with its unit. `off` is 0 where 0 is allowed, and "not set" where the member is optional.
struct Span {
  Duration least{};
  Duration most = std::chrono::hours(24 * 3650);

  void read(Reader& reader, Item const& item, Duration& value) const;
  void read(Reader& reader, Item const& item, std::optional<Duration>& value) const;
  Item write(Duration value) const;
  Item write(std::optional<Duration> const& value) const;
  Description describe() const;
  std::optional<Duration> parse(Reader& reader, Item const& item) const;
};

// Text. `empty`: the word that stands for the empty text ("off", "auto"); without it the text must not be empty, unless
// the check lets it pass. `substituted`: ${NAME} is replaced.
struct Text {
  Check check = check_any;
  std::string takes = "text";
  std::string empty{};
  bool substituted = false;

  void read(Reader& reader, Item const& item, std::string& value) const;
  Item write(std::string const& value) const;
  Description describe() const;
};

// Shown as "***". A literal one in a file is worth a warning.
struct Secret {
  void read(Reader& reader, Item const& item, std::string& value) const;
  Item write(std::string const& value) const;
  Description describe() const;
};

// One of a few words, as its index. A choice that knows `off` or `on` knows `false` or `true` as the same.
std::optional<std::size_t> choose(Reader& reader, Item const& item, std::vector<std::string> const& words);
Description describe_choice(std::vector<std::string> const& words);

template <class E>
struct Choice {
  std::vector<std::pair<std::string, E>> words;

  void read(Reader& reader, Item const& item, E& value) const {
    if (auto const chosen = choose(reader, item, names())) value = words[*chosen].second;
  }
  Item write(E const& value) const {
    for (auto const& [name, meaning] : words)
      if (meaning == value) return Item::scalar(name, Item::Form::word);
    return Item::scalar(words.front().first, Item::Form::word);
  }
  Description describe() const { return describe_choice(names()); }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (auto const& word : words) out.push_back(word.first);
    return out;
  }
};

// The elements of a list; a single scalar from a flag or a variable is a list of one. Null after a mistake.
std::vector<Item> const* elements(Reader& reader, Item const& item, std::string const& takes, std::vector<Item>& one);

template <class Element>
struct ListOf {
  Element element;
  std::string takes;
  bool may_be_empty = true;

  template <class V>
  void read(Reader& reader, Item const& item, std::vector<V>& value) const {
    std::vector<Item> one;
    std::vector<Item> const* const all = elements(reader, item, takes, one);
    if (!all) return;
    if (all->empty() && !may_be_empty) return reader.mistake(item, "an empty list");
    value.clear();
    for (std::size_t i = 0; i < all->size(); ++i) {
      Reader::Step const step(reader, i);
      V read_value{};
      element.read(reader, (*all)[i], read_value);
      value.push_back(std::move(read_value));
    }
  }
  template <class V>
  Item write(std::vector<V> const& value) const {
    Item list = Item::list();
    for (V const& v : value) list.items.push_back(element.write(v));
    return list;
  }
  Description describe() const {
    boost::json::object schema{{"type", "array"}, {"items", element.describe().schema}};
    if (!may_be_empty) schema["minItems"] = 1;
    return {Description::Shape::value, takes, std::move(schema), "", {}};
  }
};

struct NetworkText {
  void read(Reader& reader, Item const& item, Network& value) const;
  Item write(Network const& value) const;
  Description describe() const;
};

// A list of names, exact or with a trailing `*`, in which the word `preset` stands for all names of a preset.
struct Names {
  Check check = check_any;
  std::string takes;
  std::string preset;
  std::vector<cache::NamePattern> const& (*preset_names)() = nullptr;

  void read(Reader& reader, Item const& item, std::vector<cache::NamePattern>& value) const;
  Item write(std::vector<cache::NamePattern> const& value) const;
  Description describe() const;
};

// {Name: value} with field names.
struct FieldLines {
  void read(Reader& reader, Item const& item, std::vector<std::pair<std::string, std::string>>& value) const;
  Item write(std::vector<std::pair<std::string, std::string>> const& value) const;
  Description describe() const;
};

// The rights on a file, in octal: "0660".
struct FileMode {
  void read(Reader& reader, Item const& item, std::uint32_t& value) const;
  Item write(std::uint32_t value) const;
  Description describe() const;
};

// {status: file} with 400 to 599; reads the files.
struct ErrorPages {
  void read(Reader& reader, Item const& item, std::map<int, ErrorPage>& value) const;
  Item write(std::map<int, ErrorPage> const& value) const;
  Description describe() const;
};

}  // namespace weir::config
