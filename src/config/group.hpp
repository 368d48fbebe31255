// A group of keys and the members that they set: the one description from which loading, dumping, the schema and the
// README are made. Inheritance is by copy: a group is read over a value that already holds what it inherits, and is written
// as the difference from it. Threads: built once, then constant.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "values.hpp"

namespace weir::config {

template <class T>
struct Key {
  std::string name{}, help{};
  bool inherits = false;  // in an element of a list or map: written only where it differs from what it inherits
  bool late = false;      // read after the others: its elements inherit from them
  bool required = false;
  bool planned = false;  // read and checked, but nothing acts on it yet; the pages say so
  std::function<void(Reader&, Item const&, T&)> read{};
  // None: there is nothing to write, or nothing that differs from `basis` (null: write it in full).
  std::function<std::optional<Item>(T const&, T const* basis)> write{};
  std::function<Description()> describe{};
};

template <class T>
class Group {
 public:
  // `initial`: a value that stands in the pages as the default, or as an example where keys are required.
  explicit Group(std::string name, T initial = {}) : name_(std::move(name)), initial_(std::move(initial)) {}

  T const& initial() const noexcept { return initial_; }

  // A value: `access` is a pointer to a member, or a function from T& to a reference.
  template <class Access, class Value>
  Key<T>& add(std::string name, Access access, Value value, std::string help) {
    Key<T> key{.name = std::move(name), .help = std::move(help)};
    key.read = [=](Reader& reader, Item const& item, T& owner) { value.read(reader, item, std::invoke(access, owner)); };
    key.write = [=](T const& owner, T const* basis) -> std::optional<Item> {
      Item item = value.write(std::invoke(access, owner));
      if (basis && item == value.write(std::invoke(access, *basis))) return std::nullopt;
      return item;
    };
    key.describe = [=] { return value.describe(); };
    return insert(std::move(key));
  }

  // A group inside this one.
  template <class Access, class U>
  Key<T>& add_group(std::string name, Access access, Group<U> const& group, std::string help) {
    Key<T> key{.name = std::move(name), .help = std::move(help)};
    key.read = [=, &group](Reader& reader, Item const& item, T& owner) {
      group.read(reader, item, std::invoke(access, owner));
    };
    key.write = [=, &group](T const& owner, T const* basis) -> std::optional<Item> {
      Item item = group.write(std::invoke(access, owner), basis ? &std::invoke(access, *basis) : nullptr);
      if (basis && item.is_map() && item.keys.empty()) return std::nullopt;
      return item;
    };
    key.describe = [&group] { return group.describe(); };
    return insert(std::move(key));
  }

  // A group that is there or `off`.
  template <class U>
  Key<T>& add_optional(std::string name, std::optional<U> T::*member, Group<U> const& group, std::string help) {
    Key<T> key{.name = std::move(name), .help = std::move(help)};
    key.read = [=, &group](Reader& reader, Item const& item, T& owner) {
      owner.*member = std::nullopt;
      if (item.is_null() || item.says("off") || item.is_word("false")) return;
      group.read(reader, item, (owner.*member).emplace());
    };
    key.write = [=, &group](T const& owner, T const*) -> std::optional<Item> {
      return owner.*member ? group.write(*(owner.*member), nullptr) : Item::scalar("off", Item::Form::word);
    };
    key.describe = [&group] {
      Description description = group.describe();
      description.schema = {{"enum", {"off", false}}};
      return description;
    };
    return insert(std::move(key));
  }

  // A list of groups; `make` gives an element what it inherits.
  template <class U>
  Key<T>& add_groups(std::string name, std::vector<U> T::*member, Group<U> const& group, U (*make)(T const&),
                     std::string help) {
    Key<T> key{.name = std::move(name), .help = std::move(help)};
    key.late = true;
    key.read = [=, &group](Reader& reader, Item const& item, T& owner) {
      std::vector<Item> one;
      std::vector<Item> const* const all = elements(reader, item, "list", one);
      if (!all) return;
      (owner.*member).clear();
      for (std::size_t i = 0; i < all->size(); ++i) {
        Reader::Step const step(reader, i);
        group.read(reader, (*all)[i], (owner.*member).emplace_back(make(owner)));
      }
    };
    key.write = [=, &group](T const& owner, T const*) -> std::optional<Item> {
      U const basis = make(owner);
      Item list = Item::list();
      for (U const& element : owner.*member) list.items.push_back(group.write_element(element, basis));
      return list;
    };
    key.describe = [&group] { return group.describe(Description::Shape::groups); };
    return insert(std::move(key));
  }

  // The same by name.
  template <class U>
  Key<T>& add_named_groups(std::string name, std::map<std::string, U> T::*member, Group<U> const& group,
                           U (*make)(T const&, std::string const& name), Check check_name, std::string help) {
    Key<T> key{.name = std::move(name), .help = std::move(help)};
    key.late = true;
    key.read = [=, &group](Reader& reader, Item const& item, T& owner) {
      if (!item.is_map()) return item.is_null() ? void() : reader.mistake(item, "expected names, each with a group of keys");
      for (std::size_t i = 0; i < item.items.size(); ++i) {
        Reader::Step const step(reader, item.keys[i].text);
        std::string own_name = item.keys[i].text;
        if (std::string const wrong = check_name(own_name); !wrong.empty()) reader.mistake(item.keys[i].place, wrong);
        auto const [at, added] = (owner.*member).insert_or_assign(own_name, make(owner, own_name));
        group.read(reader, item.items[i], at->second);
      }
    };
    key.write = [=, &group](T const& owner, T const*) -> std::optional<Item> {
      Item map = Item::map();
      for (auto const& [own_name, element] : owner.*member)
        map.add(own_name, group.write_element(element, make(owner, own_name)));
      return map;
    };
    key.describe = [&group] { return group.describe(Description::Shape::named_groups); };
    return insert(std::move(key));
  }

  // The keys of another group as this one's own.
  template <class Access, class U>
  void adopt(Access access, Group<U> const& group, bool inherits = true) {
    for (Key<U> const& theirs : group.keys()) {
      Key<T> key{.name = theirs.name, .help = theirs.help, .inherits = inherits, .planned = theirs.planned};
      key.read = [=](Reader& reader, Item const& item, T& owner) { theirs.read(reader, item, std::invoke(access, owner)); };
      key.write = [=](T const& owner, T const* basis) {
        return theirs.write(std::invoke(access, owner), basis ? &std::invoke(access, *basis) : nullptr);
      };
      key.describe = theirs.describe;
      insert(std::move(key));
    }
  }

  // What may stand in place of the group (a scalar such as `off`), and its schema. False: it is not that.
  void stands_for(std::function<bool(Reader&, Item const&, T&)> read, boost::json::object schema) {
    read_short_ = std::move(read);
    short_schema_ = std::move(schema);
  }
  // Writes a value that the short form says whole.
  void write_short(std::function<std::optional<Item>(T const&)> write) { write_short_ = std::move(write); }
  // `off` and `on` for a group with a switch.
  void add_switch(bool T::*member) {
    add("enabled", member, Boolean{}, "`false` switches it off, as does `off` in place of the group");
    stands_for(
        [=](Reader& reader, Item const& item, T& owner) {
          if (!item.is_scalar()) return false;
          Boolean{}.read(reader, item, owner.*member);
          return true;
        },
        {{"enum", {true, false, "on", "off"}}});
  }
  // Looks at the whole once its keys are read.
  void check(std::function<void(Reader&, Item const&, T&)> check) { check_ = std::move(check); }

  void read(Reader& reader, Item const& item, T& value) const {
    if (read_short_ && read_short_(reader, item, value)) return;
    if (!item.is_map() && !item.is_null()) return reader.mistake(item, "expected a group of keys");
    for (MapKey const& key : item.keys) {
      Reader::Step const step(reader, key.text);
      if (!find(key.text)) reader.mistake(key.place, "unknown key; " + nearest(key.text, key_names()));
    }
    for (bool const late : {false, true})
      for (Key<T> const& key : keys_)
        if (key.late == late) read_key(reader, item, key, value);
    if (check_) check_(reader, item, value);
  }

  // Every key, or those that differ from `basis`.
  Item write(T const& value, T const* basis) const {
    if (write_short_)
      if (std::optional<Item> item = write_short_(value)) return *std::move(item);
    Item map = Item::map();
    for (Key<T> const& key : keys_)
      if (std::optional<Item> item = key.write(value, basis)) map.add(key.name, *std::move(item));
    return map;
  }
  // Its own keys in full, the inherited ones where they differ.
  Item write_element(T const& value, T const& basis) const {
    if (write_short_)
      if (std::optional<Item> item = write_short_(value)) return *std::move(item);
    Item map = Item::map();
    for (Key<T> const& key : keys_)
      if (std::optional<Item> item = key.write(value, key.inherits ? &basis : nullptr)) map.add(key.name, *std::move(item));
    return map;
  }

  Description describe(Description::Shape shape = Description::Shape::group) const {
    Description out{shape, "group", short_schema_, name_, {}};
    for (Key<T> const& key : keys_) {
      std::string help = key.planned ? key.help + " (not built yet)" : key.help;
      out.keys.push_back(
          {key.name, std::move(help), key.write(initial_, nullptr), key.inherits, key.required, key.describe()});
    }
    return out;
  }

  std::vector<Key<T>> const& keys() const noexcept { return keys_; }

 private:
  Key<T>& insert(Key<T> key) { return keys_.emplace_back(std::move(key)); }

  Key<T> const* find(std::string const& name) const noexcept {
    for (Key<T> const& key : keys_)
      if (key.name == name) return &key;
    return nullptr;
  }

  std::vector<std::string> key_names() const {
    std::vector<std::string> out;
    for (Key<T> const& key : keys_) out.push_back(key.name);
    return out;
  }

  void read_key(Reader& reader, Item const& item, Key<T> const& key, T& value) const {
    Reader::Step const step(reader, key.name);
    if (Item const* const given = item.find(key.name)) {
      auto const before = key.planned ? key.write(value, nullptr) : std::nullopt;
      key.read(reader, *given, value);
      if (key.planned && before != key.write(value, nullptr)) reader.warn("is not built yet and has no effect");
    } else if (key.required) {
      reader.mistake(item, "is required");
    }
  }

  std::string name_;
  T initial_;
  std::vector<Key<T>> keys_;
  std::function<bool(Reader&, Item const&, T&)> read_short_;
  std::function<std::optional<Item>(T const&)> write_short_;
  boost::json::object short_schema_;
  std::function<void(Reader&, Item const&, T&)> check_;
};

}  // namespace weir::config
