#include "weir/config/reference.hpp"

#include <algorithm>

#include "description.hpp"

namespace weir::config {
namespace {

using Shape = Description::Shape;

constexpr char yaml_head[] =
    R"(# Weir: every setting with its default and what it does. What is commented out is not set by default.
# Groups marked * may also stand in a site and in a route, where they override these key by key.
# Shorter to start with: minimal.yaml. The same as tables: README.md. Both are made from the loader's own description.

)";

constexpr char markdown_head[] =
    R"(# Every setting

`weir.yaml` holds every key with its default, `minimal.yaml` the shortest useful file. `weir -t -c FILE` names every mistake
in a file with its line, `weir -T` shows what is in effect. What is trusted, and what settings give away: [Security](#security).

Later wins: defaults, the file, variables of the environment, `--set path=value` in order, `--origin` and `--listen`.

- A variable is named `WEIR__`, then the path in capitals with `__` between its steps: `WEIR__COALESCE__FOLLOWER_MAX_WAIT=5s`,
  `WEIR__ORIGINS__APP__URL=http://app:9000`, `WEIR__SITES__0__ORIGIN=app`. Other `WEIR_*` variables mean nothing.
- `--set coalesce.follower_max_wait=5s`, `--set 'sites[0].hosts=[shop.example]'`. A value that starts with `[` or `{` is read
  as YAML, and replaces the whole list or group.
- Durations have a unit (`250ms`, `10s`, `5m`, `1h`, `1d`), sizes a binary one (`64KiB`, `512MiB`, `1GiB`). Booleans are
  `true`, `false`, `on` and `off`; `yes` is a mistake, as are `017`, repeated keys, anchors, aliases and tags.
- `off` and `false` mean the same.
- In addresses and secrets `${NAME}` is replaced by the variable NAME, which has to exist. A secret may also stand in a file
  that a `_file` key names. `weir -T` and `/v1/config` show `***` in a secret's place.
- Groups marked * may also stand in a site and in a route: a site starts from the top level, a route from its site, and each
  overrides key by key. A list is replaced whole: `cookies: {ignore: [mine]}` no longer holds `analytics`.
- An origin starts from the top-level `limiter`, `breaker` and `timeouts` in the same way.
- `--origin URL` makes an origin named `default`, the first one.

)";

// One key of the file and the path that leads to it.
struct Row {
  std::string path;
  KeyDescription const* key;
  bool top;
};

// A group's keys under `prefix`, in the order of the file. What an element inherits is one row, without its keys.
void flatten(std::vector<KeyDescription> const& keys, std::string const& prefix, bool top, std::vector<Row>& rows) {
  for (KeyDescription const& key : keys) {
    std::string const path = prefix + key.name;
    rows.push_back({path, &key, top});
    if (key.value.shape == Shape::value || (key.inherits && !top)) continue;
    std::string const step = key.value.shape == Shape::groups ? "[]." : key.value.shape == Shape::named_groups ? ".*." : ".";
    flatten(key.value.keys, path + step, false, rows);
  }
}

class Example {
 public:
  std::string text(Description const& root) {
    out_ = yaml_head;
    bool after_group = false;
    for (KeyDescription const& key : root.keys) {
      bool const is_group = key.value.shape != Shape::value;
      if (is_group || after_group) out_ += "\n";
      put(key, 0, false, true);
      after_group = is_group;
    }
    return std::move(out_);
  }

 private:
  // A line; its `#` takes the first column, so that a comment is opened by writing a space there.
  void line(std::size_t indent, bool comment, std::string const& text, std::string const& help) {
    constexpr std::size_t help_column = 48;
    std::string row = std::string(indent, ' ') + text;
    if (!help.empty()) {
      row.resize(std::max(row.size() + 2, help_column), ' ');
      row += "# " + help;
    }
    if (comment) row[0] = '#';
    out_ += row + "\n";
  }

  void put(KeyDescription const& key, std::size_t indent, bool comment, bool top) {
    std::string const name = key.name + ":";
    std::string const help = (top && key.inherits ? "* " : "") + key.help;
    if (key.inherits && !top) return line(indent, true, name + " {}", "as at the top level");
    switch (key.value.shape) {
      case Shape::value:
        return line(indent, comment || !key.initial, name + " " + (key.initial ? to_flow(*key.initial) : "[]"), help);
      case Shape::group:
        return put_group(key, indent, comment, help);
      case Shape::groups:
      case Shape::named_groups:
        return put_groups(key, indent, comment, top, help);
    }
  }

  // A group that by default is a word (`tls: off`) stands as that word, and behind it as an example.
  void put_group(KeyDescription const& key, std::size_t indent, bool comment, std::string const& help) {
    bool const is_word = key.initial && key.initial->is_scalar();
    line(indent, comment, key.name + ":" + (is_word ? " " + key.initial->text : ""), help);
    if (is_word) line(indent, true, key.name + ":", "");
    put_all(key.value.keys, indent + 2, comment || is_word);
  }

  // At the top level one element is in use, below it is an example.
  void put_groups(KeyDescription const& key, std::size_t indent, bool comment, bool top, std::string const& help) {
    line(indent, comment, key.name + (top ? ":" : ": []"), help);
    if (!top) line(indent, true, key.name + ":", "");
    if (key.value.shape == Shape::named_groups) {
      line(indent + 2, comment || !top, "app:", "a name of your choice");
      return put_all(key.value.keys, indent + 4, comment || !top);
    }
    std::size_t const start = out_.size();
    put_all(key.value.keys, indent + 4, comment || !top);
    out_[start + indent + 2] = '-';
  }

  void put_all(std::vector<KeyDescription> const& keys, std::size_t indent, bool comment) {
    for (KeyDescription const& key : keys) put(key, indent, comment, false);
  }

  std::string out_;
};

std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
  return text;
}

std::string default_of(Row const& row) {
  KeyDescription const& key = *row.key;
  if (key.inherits && !row.top) return "as above it";
  if (key.required) return "required";
  if (!key.initial) return "";
  bool const long_form = key.value.shape != Shape::value && !key.initial->is_scalar();
  return long_form ? "" : "`" + to_flow(*key.initial) + "`";
}

std::string table(std::vector<Row> const& rows) {
  std::string out = "| key | default | takes | what it does |\n|---|---|---|---|\n";
  for (Row const& row : rows) {
    std::string const takes = row.key->value.shape == Shape::value    ? row.key->value.takes
                              : row.key->value.shape == Shape::group  ? "group"
                              : row.key->value.shape == Shape::groups ? "list of groups"
                                                                      : "groups by name";
    out += "| `" + row.path + "` | " + default_of(row) + " | " + cell(takes) + " | " + cell(row.key->help) + " |\n";
  }
  return out + "\n";
}

}  // namespace

std::string reference_yaml() { return Example().text(settings_group().describe()); }

std::string reference_markdown() {
  Description const root = settings_group().describe();
  std::string out = markdown_head;
  std::vector<Row> values;
  for (KeyDescription const& key : root.keys)
    if (key.value.shape == Shape::value) values.push_back({key.name, &key, true});
  out += "## The top level\n\n" + table(values);
  for (KeyDescription const& key : root.keys) {
    if (key.value.shape == Shape::value) continue;
    std::vector<Row> rows;
    std::string const step = key.value.shape == Shape::groups ? "[]." : key.value.shape == Shape::named_groups ? ".*." : ".";
    flatten(key.value.keys, key.name + step, false, rows);
    out += "## `" + key.name + "`" + (key.inherits ? " *" : "") + "\n\n" + key.help + "\n\n" + table(rows);
  }
  return out + security_markdown();
}

std::vector<std::string> every_key() {
  Description const root = settings_group().describe();
  std::vector<Row> rows;
  flatten(root.keys, "", true, rows);
  std::vector<std::string> out;
  for (Row& row : rows) out.push_back(std::move(row.path));
  return out;
}

}  // namespace weir::config
