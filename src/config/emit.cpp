// Items as text. Every scalar that is not a bare word of ours is quoted, so that it reads back as the same text.
#include <boost/json.hpp>

#include "item.hpp"

namespace weir::config {
namespace {

bool plain_key(std::string_view key) {
  if (key.empty() || key.size() > 64 || key == "null" || key == "Null" || key == "NULL") return false;
  for (char c : key) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!letter) return false;
  }
  return key.front() != '-';
}

std::string in_quotes(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + "\"";
}

void write_block(Item const& item, std::size_t indent, std::string& out);

// What stands behind "key:" or "-".
void write_value(Item const& item, std::size_t indent, std::string& out) {
  bool const holds_groups =
      !item.items.empty() && (item.is_map() || item.items.front().is_map() || item.items.front().is_list());
  if (!holds_groups) {
    out += " " + to_flow(item) + "\n";
    return;
  }
  out += "\n";
  write_block(item, indent + 2, out);
}

void write_block(Item const& item, std::size_t indent, std::string& out) {
  std::string const margin(indent, ' ');
  for (std::size_t i = 0; i < item.items.size(); ++i) {
    Item const& value = item.items[i];
    if (item.is_map()) {
      out += margin + key_to_yaml(item.keys[i].text) + ":";
      write_value(value, indent, out);
    } else if (value.is_map() && !value.items.empty()) {
      std::string element;
      write_block(value, indent + 2, element);
      element[indent] = '-';  // the element's first key stands behind its dash
      out += element;
    } else {
      out += margin + "- " + to_flow(value) + "\n";
    }
  }
}

boost::json::value json_of(Item const& item) {
  switch (item.kind) {
    case Item::Kind::null:
      return nullptr;
    case Item::Kind::list: {
      boost::json::array out;
      for (Item const& element : item.items) out.push_back(json_of(element));
      return out;
    }
    case Item::Kind::map: {
      boost::json::object out;
      for (std::size_t i = 0; i < item.items.size(); ++i) out[item.keys[i].text] = json_of(item.items[i]);
      return out;
    }
    case Item::Kind::scalar:
      break;
  }
  if (item.form == Item::Form::boolean) return item.text == "true";
  if (item.form == Item::Form::number) return boost::json::parse(item.text);
  return boost::json::string(item.text);
}

}  // namespace

std::string key_to_yaml(std::string_view key) { return plain_key(key) ? std::string(key) : in_quotes(key); }

std::string to_flow(Item const& item) {
  switch (item.kind) {
    case Item::Kind::null:
      return "null";
    case Item::Kind::scalar:
      return item.form == Item::Form::text ? in_quotes(item.text) : item.text;
    case Item::Kind::list:
    case Item::Kind::map:
      break;
  }
  std::string out;
  for (std::size_t i = 0; i < item.items.size(); ++i) {
    if (i > 0) out += ", ";
    if (item.is_map()) out += key_to_yaml(item.keys[i].text) + ": ";
    out += to_flow(item.items[i]);
  }
  return item.is_map() ? "{" + out + "}" : "[" + out + "]";
}

std::string to_yaml(Item const& item) {
  std::string out;
  write_block(item, 0, out);
  return out;
}

std::string to_json(Item const& item) { return boost::json::serialize(json_of(item)); }

}  // namespace weir::config
