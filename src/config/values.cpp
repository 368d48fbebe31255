#include "values.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "units.hpp"

namespace weir::config {
namespace {

Description value_description(std::string takes, boost::json::object schema) {
  return {Description::Shape::value, std::move(takes), std::move(schema), "", {}};
}

// YAML 1.1 editors take a bare `off` for false; both mean the same to us.
void allow_word(boost::json::object& schema, std::string const& word) {
  if (word.empty()) return;
  boost::json::array any{schema, boost::json::object{{"const", word}}};
  if (word == "off") any.push_back(boost::json::object{{"const", false}});
  schema = {{"anyOf", std::move(any)}};
}

bool is_the_word(std::string const& text, std::string const& word) {
  return !word.empty() && (text == word || (word == "off" && text == "false"));
}

std::string or_word(std::string const& word) { return word.empty() ? "" : ", or `" + word + "`"; }

}  // namespace

void Boolean::read(Reader& reader, Item const& item, bool& value) const {
  std::string const* const text = reader.text_of(item, "true or false");
  if (!text) return;
  for (auto const& [word, meaning] : {std::pair("true", true), {"on", true}, {"false", false}, {"off", false}}) {
    bool const ours = word == std::string_view("on") || word == std::string_view("off");  // JSON has its own for the others
    if (!item.is_word(word) && !(ours && item.says(word))) continue;
    value = meaning;
    return;
  }
  reader.mistake(item, ticked(*text) + " is not a boolean; write true or false");
}

Description Boolean::describe() const { return value_description("boolean", {{"enum", {true, false, "on", "off"}}}); }

std::optional<std::uint64_t> Count::parse(Reader& reader, Item const& item) const {
  std::string const* const text = reader.text_of(item, "a whole number" + or_words());
  if (!text) return std::nullopt;
  if (is_the_word(*text, zero)) return 0;
  bool const with_sign = percent && text->ends_with('%');
  auto const digits_of = std::string_view(*text).substr(0, text->size() - (with_sign ? 1 : 0));
  bool const quoted = item.form == Item::Form::text && !with_sign;
  auto const number = quoted ? std::nullopt : parse_number(digits_of);
  if (!number) {
    bool const digits =
        text->size() > 1 && text->front() == '0' && text->find_first_not_of("0123456789") == std::string::npos;
    std::string const why = digits ? " (no leading zeros)" : or_words();
    reader.mistake(item, ticked(*text) + " is not a whole number" + why);
    return std::nullopt;
  }
  if (*number >= least && *number <= most) return number;
  reader.mistake(item, *text + " is out of range; " + std::to_string(least) + " to " + std::to_string(most) + or_words());
  return std::nullopt;
}

Item Count::write(std::uint64_t value) const {
  if (value == 0 && !zero.empty()) return Item::scalar(zero, Item::Form::word);
  return Item::scalar(std::to_string(value), Item::Form::number);
}

Description Count::describe() const {
  boost::json::object schema{{"type", "integer"}, {"minimum", least}, {"maximum", most}};
  if (percent) schema = {{"anyOf", {schema, {{"type", "string"}, {"pattern", "^(0|[1-9][0-9]*)%$"}}}}};
  allow_word(schema, zero);
  if (automatic) allow_word(schema, "auto");
  std::string const range =
      most >= std::numeric_limits<std::uint32_t>::max() ? "" : " " + std::to_string(least) + " to " + std::to_string(most);
  return value_description((percent ? "percent" : "number") + range + or_words(), std::move(schema));
}

std::string Count::or_words() const { return or_word(zero) + or_word(automatic ? "auto" : ""); }

void Size::read(Reader& reader, Item const& item, std::uint64_t& value) const {
  std::string const* const text = reader.text_of(item, "a size such as 64KiB" + or_word(zero));
  if (!text) return;
  auto const size = is_the_word(*text, zero) ? std::optional<std::uint64_t>(0) : parse_size(*text);
  if (!size)
    return reader.mistake(item, ticked(*text) + " is not a size; write it as in 64KiB, 512MiB or 1GiB" + or_word(zero));
  if (!(is_the_word(*text, zero) || (*size >= least && *size <= most)))
    return reader.mistake(item,
                          *text + " is out of range; " + format_size(least) + " to " + format_size(most) + or_word(zero));
  value = *size;
}

Item Size::write(std::uint64_t value) const {
  return Item::scalar(value == 0 && !zero.empty() ? zero : format_size(value), Item::Form::word);
}

Description Size::describe() const {
  boost::json::object schema{{"type", "string"}, {"pattern", "^(0|[1-9][0-9]*)(B|KiB|MiB|GiB|TiB)$"}};
  allow_word(schema, zero);
  return value_description("size" + or_word(zero), std::move(schema));
}

std::optional<Duration> Span::parse(Reader& reader, Item const& item) const {
  std::string const* const text = reader.text_of(item, "a duration such as 10s");
  if (!text) return std::nullopt;
  auto const duration = parse_duration(*text == "false" ? "off" : *text);
  if (!duration) {
    bool const bare = parse_number(*text).has_value();
    reader.mistake(item, ticked(*text) + (bare ? " has no unit; write it as in " : " is not a duration; write it as in ") +
                             "250ms, 10s or 5m");
    return std::nullopt;
  }
  if (*duration >= least && *duration <= most) return duration;
  reader.mistake(item, *text + " is out of range; " + format_duration(least) + " to " + format_duration(most));
  return std::nullopt;
}

void Span::read(Reader& reader, Item const& item, Duration& value) const {
  if (auto const duration = parse(reader, item)) value = *duration;
}

void Span::read(Reader& reader, Item const& item, std::optional<Duration>& value) const {
  if (item.is_scalar() && (item.text == "off" || item.text == "false")) {
    value = std::nullopt;
  } else if (auto const duration = parse(reader, item)) {
    value = duration;
  }
}

Item Span::write(Duration value) const { return Item::scalar(format_duration(value), Item::Form::word); }

Item Span::write(std::optional<Duration> const& value) const {
  return value ? write(*value) : Item::scalar("off", Item::Form::word);
}

Description Span::describe() const {
  boost::json::object schema{{"type", "string"}, {"pattern", "^(0|[1-9][0-9]*)(ms|s|m|h|d)$"}};
  bool const may_be_off = least == Duration{};
  if (may_be_off) allow_word(schema, "off");
  std::string const range = most < std::chrono::hours(24 * 3650) || !may_be_off
                                ? " " + format_duration(least) + " to " + format_duration(most)
                                : std::string();
  return value_description("duration" + range + (may_be_off ? or_word("off") : ""), std::move(schema));
}

void Text::read(Reader& reader, Item const& item, std::string& value) const {
  std::string const* const text = reader.text_of(item, takes);
  if (!text) return;
  if (is_the_word(*text, empty) || (!empty.empty() && text->empty())) {
    value.clear();
    return;
  }
  std::string changed = *text;
  if (substituted && !reader.substitute(item, changed)) return;
  if (std::string const wrong = check(changed); !wrong.empty()) return reader.mistake(item, ticked(changed) + ": " + wrong);
  value = std::move(changed);
}

Item Text::write(std::string const& value) const {
  return value.empty() && !empty.empty() ? Item::scalar(empty, Item::Form::word) : Item::scalar(value);
}

Description Text::describe() const {
  boost::json::object schema{{"type", "string"}};
  if (empty == "off") allow_word(schema, empty);
  return value_description(takes + or_word(empty), std::move(schema));
}

void Secret::read(Reader& reader, Item const& item, std::string& value) const {
  std::string const* const text = reader.text_of(item, "a secret");
  if (!text) return;
  std::string secret = *text;
  if (!reader.substitute(item, secret)) return;
  if (secret.size() > 4096) return reader.mistake(item, "longer than 4096 bytes");
  bool const literal = item.place.line > 0 && !text->empty() && secret == *text;
  if (literal) reader.warn("a secret stands in the configuration file; write ${NAME} or use the `_file` key");
  value = std::move(secret);
}

Item Secret::write(std::string const& value) const { return Item::scalar(value.empty() ? "" : "***"); }

Description Secret::describe() const { return value_description("secret, as `${NAME}`", {{"type", "string"}}); }

std::optional<std::size_t> choose(Reader& reader, Item const& item, std::vector<std::string> const& words) {
  std::string list;
  for (std::string const& word : words) list += (list.empty() ? "" : ", ") + word;
  std::string const* const text = reader.text_of(item, "one of " + list);
  if (!text) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    bool const same = (words[i] == "off" && item.is_word("false")) || (words[i] == "on" && item.is_word("true"));
    if (same || words[i] == *text) return i;
  }
  reader.mistake(item, ticked(*text) + " is none of " + list);
  return std::nullopt;
}

Description describe_choice(std::vector<std::string> const& words) {
  boost::json::array values;
  std::string takes;
  for (std::string const& word : words) {
    values.push_back(boost::json::string(word));
    if (word == "off") values.push_back(false);
    if (word == "on") values.push_back(true);
    takes += (takes.empty() ? "`" : ", `") + word + "`";
  }
  return value_description(std::move(takes), {{"enum", std::move(values)}});
}

std::vector<Item> const* elements(Reader& reader, Item const& item, std::string const& takes, std::vector<Item>& one) {
  constexpr std::size_t most = 1000;
  if (item.is_scalar() && item.place.line == 0) {
    one.push_back(item);
    return &one;
  }
  if (!item.is_list()) {
    reader.mistake(item, "expected a " + takes + (item.is_scalar() ? ", as in [" + item.text.substr(0, 32) + "]" : ""));
    return nullptr;
  }
  if (item.items.size() <= most) return &item.items;
  reader.mistake(item, "more than 1000 elements");
  return nullptr;
}

}  // namespace weir::config
