#include "weir/http/structured.hpp"

#include <algorithm>

#include "weir/http/field.hpp"

namespace weir::http {
namespace {

// The sizes that RFC 9651 asks every parser for (3.1, 3.1.1, 3.1.2, 3.2); more is refused.
constexpr std::size_t max_members = 1024;
constexpr std::size_t max_parameters = 256;
constexpr std::size_t max_inner = 256;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_lower_alpha(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_alpha(char c) noexcept { return is_lower_alpha(to_lower(c)); }

int base64_value(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

int lower_hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// RFC 4648 4; missing padding is supplied, as RFC 9651 4.2.7 advises.
std::optional<std::string> decode_base64(std::string_view text) {
  std::size_t const padding = text.size() - std::min(text.find_last_not_of('=') + 1, text.size());
  std::size_t const size = text.size() - padding;
  if (size % 4 == 1 || padding > 2 || (padding > 0 && text.size() % 4 != 0)) return std::nullopt;
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (char const c : text.substr(0, size)) {
    int const value = base64_value(c);
    if (value < 0) return std::nullopt;
    bits = (bits << 6 | static_cast<unsigned>(value)) & 0xFFFFU;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xFFU));
  }
  return out;
}

// How many bytes of `text` the well-formed UTF-8 sequence at its front takes; 0 if there is none (RFC 3629 4).
std::size_t utf8_length(std::string_view text) noexcept {
  auto const byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned const lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t const length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  bool const overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  bool const surrogate = lead == 0xED && byte(1) > 0x9F;
  bool const too_large = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    std::size_t const length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// RFC 9651 4.2. Each function reads its production from the front; nothing or false is a failure of the whole.
class Parser {
 public:
  explicit Parser(std::string_view text) noexcept : rest_(text) { skip_spaces(); }

  bool ended() noexcept {
    skip_spaces();
    return rest_.empty();
  }

  std::optional<SfList> list() {
    SfList out;
    bool const good = members([this, &out] { return member(out.emplace_back()) && out.size() <= max_members; });
    return good ? std::optional(std::move(out)) : std::nullopt;
  }

  std::optional<SfDictionary> dictionary() {
    SfDictionary out;
    bool const good = members([this, &out] { return dictionary_member(out); });
    return good ? std::optional(std::move(out)) : std::nullopt;
  }

  std::optional<SfItem> item() {
    SfItem out;
    auto value = bare();
    if (!value) return std::nullopt;
    out.value = std::move(*value);
    if (!parameters(out.parameters)) return std::nullopt;
    return out;
  }

 private:
  char front() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }

  bool skip(char c) noexcept {
    if (front() != c || rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_spaces() noexcept {
    while (front() == ' ') rest_.remove_prefix(1);
  }

  void skip_optional_whitespace() noexcept {
    while (front() == ' ' || front() == '\t') rest_.remove_prefix(1);
  }

  template <class Predicate>
  std::string_view take_while(Predicate predicate) noexcept {
    auto const end = std::find_if_not(rest_.begin(), rest_.end(), predicate);
    auto const taken = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  // Members between commas; a comma at the end is a failure (4.2.1).
  template <class ReadMember>
  bool members(ReadMember read_member) {
    while (!rest_.empty()) {
      if (!read_member()) return false;
      skip_optional_whitespace();
      if (rest_.empty()) return true;
      if (!skip(',')) return false;
      skip_optional_whitespace();
      if (rest_.empty()) return false;
    }
    return true;
  }

  template <class Value>
  static bool put(std::vector<std::pair<std::string, Value>>& out, std::string_view key, Value value, std::size_t limit) {
    auto const found = std::find_if(out.begin(), out.end(), [key](auto const& entry) { return entry.first == key; });
    if (found != out.end()) {
      found->second = std::move(value);
      return true;
    }
    out.emplace_back(key, std::move(value));
    return out.size() <= limit;
  }

  bool dictionary_member(SfDictionary& out) {
    auto const name = key();
    if (name.empty()) return false;
    SfMember value;
    if (skip('=')) {
      if (!member(value)) return false;
    } else {
      value.item.value = true;
      if (!parameters(value.item.parameters)) return false;
    }
    return put(out, name, std::move(value), max_members);
  }

  bool member(SfMember& out) {
    if (front() == '(') {
      out.is_inner_list = true;
      return inner_list(out.inner) && parameters(out.parameters);
    }
    auto parsed = item();
    if (parsed) out.item = std::move(*parsed);
    return parsed.has_value();
  }

  bool inner_list(std::vector<SfItem>& out) {
    skip('(');
    while (!rest_.empty()) {
      skip_spaces();
      if (skip(')')) return true;
      auto parsed = item();
      if (!parsed || out.size() == max_inner) return false;
      out.push_back(std::move(*parsed));
      if (front() != ' ' && front() != ')') return false;
    }
    return false;
  }

  bool parameters(SfParameters& out) {
    while (skip(';')) {
      skip_spaces();
      auto const name = key();
      if (name.empty()) return false;
      SfBare value = true;
      if (skip('=')) {
        auto parsed = bare();
        if (!parsed) return false;
        value = std::move(*parsed);
      }
      if (!put(out, name, std::move(value), max_parameters)) return false;
    }
    return true;
  }

  // Empty is a failure.
  std::string_view key() noexcept {
    if (!is_lower_alpha(front()) && front() != '*') return {};
    return take_while(
        [](char c) { return is_lower_alpha(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '*'; });
  }

  std::optional<SfBare> bare() {
    char const c = front();
    if (c == '-' || is_digit(c)) return number();
    if (c == '"') return string();
    if (c == '*' || is_alpha(c)) return token();
    if (c == ':') return bytes();
    if (c == '?') return boolean();
    if (c == '@') return date();
    if (c == '%') return display();
    return std::nullopt;
  }

  // 4.2.4: at most 15 digits, or 12, a dot and 1 to 3.
  std::optional<SfBare> number() {
    bool const negative = skip('-');
    auto const digits = take_while(is_digit);
    if (digits.empty() || digits.size() > 15) return std::nullopt;
    std::int64_t value = 0;
    for (char const c : digits) value = value * 10 + (c - '0');
    if (!skip('.')) return negative ? -value : value;

    auto const fraction = take_while(is_digit);
    if (digits.size() > 12 || fraction.empty() || fraction.size() > 3) return std::nullopt;
    for (std::size_t i = 0; i < 3; ++i) value = value * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
    double const decimal = static_cast<double>(value) / 1000.0;
    return negative ? -decimal : decimal;
  }

  std::optional<SfBare> string() {
    skip('"');
    std::string out;
    while (!rest_.empty()) {
      char const c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return out;
      if (c < 0x20 || c > 0x7E) return std::nullopt;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      if (front() != '"' && front() != '\\') return std::nullopt;
      out.push_back(front());
      rest_.remove_prefix(1);
    }
    return std::nullopt;
  }

  std::optional<SfBare> token() {
    auto const text = take_while([](char c) { return is_token_char(c) || c == ':' || c == '/'; });
    return SfToken{std::string(text)};
  }

  std::optional<SfBare> bytes() {
    skip(':');
    std::size_t const end = rest_.find(':');
    if (end == std::string_view::npos) return std::nullopt;
    auto decoded = decode_base64(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return decoded ? std::optional<SfBare>(SfBytes{std::move(*decoded)}) : std::nullopt;
  }

  std::optional<SfBare> boolean() {
    skip('?');
    if (skip('1')) return true;
    return skip('0') ? std::optional<SfBare>(false) : std::nullopt;
  }

  std::optional<SfBare> date() {
    skip('@');
    auto const parsed = number();
    auto const* const seconds = parsed ? std::get_if<std::int64_t>(&*parsed) : nullptr;
    return seconds != nullptr ? std::optional<SfBare>(SfDate{*seconds}) : std::nullopt;
  }

  // 4.2.10: percent-encoded UTF-8 with lower-case digits.
  std::optional<SfBare> display() {
    skip('%');
    if (!skip('"')) return std::nullopt;
    std::string out;
    while (!rest_.empty()) {
      char const c = rest_.front();
      rest_.remove_prefix(1);
      if (c < 0x20 || c > 0x7E) return std::nullopt;
      if (c == '"') return is_utf8(out) ? std::optional<SfBare>(SfDisplay{std::move(out)}) : std::nullopt;
      if (c != '%') {
        out.push_back(c);
        continue;
      }
      int const high = rest_.size() < 2 ? -1 : lower_hex_value(rest_[0]);
      int const low = rest_.size() < 2 ? -1 : lower_hex_value(rest_[1]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      rest_.remove_prefix(2);
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<SfList> parse_sf_list(std::string_view text) {
  Parser parser(text);
  auto out = parser.list();
  return parser.ended() ? std::move(out) : std::nullopt;
}

std::optional<SfDictionary> parse_sf_dictionary(std::string_view text) {
  Parser parser(text);
  auto out = parser.dictionary();
  return parser.ended() ? std::move(out) : std::nullopt;
}

std::optional<SfItem> parse_sf_item(std::string_view text) {
  Parser parser(text);
  auto out = parser.item();
  return parser.ended() ? std::move(out) : std::nullopt;
}

}  // namespace weir::http
