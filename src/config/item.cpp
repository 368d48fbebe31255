#include "item.hpp"

#include <algorithm>
#include <tuple>

namespace weir::config {

Item Item::scalar(std::string text, Form form) {
  Item item = of_kind(Kind::scalar);
  item.text = std::move(text);
  item.form = form;
  return item;
}

void Item::add(std::string key, Item value) {
  keys.push_back({std::move(key), value.place});
  items.push_back(std::move(value));
}

Item const* Item::find(std::string_view key) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i].text == key) return &items[i];
  return nullptr;
}

Item* Item::find(std::string_view key) noexcept { return const_cast<Item*>(std::as_const(*this).find(key)); }

bool operator==(Item const& a, Item const& b) noexcept {
  auto const same_key = [](MapKey const& x, MapKey const& y) { return x.text == y.text; };
  return a.kind == b.kind && a.form == b.form && a.text == b.text && a.items == b.items &&
         std::equal(a.keys.begin(), a.keys.end(), b.keys.begin(), b.keys.end(), same_key);
}

void Mistakes::add(Place const& place, std::string path, std::string what) {
  if (found_.size() >= most) {
    more_ = true;
    return;
  }
  found_.push_back(
      {place.source ? *place.source : std::string(), place.line, place.column, std::move(path), std::move(what)});
}

std::vector<Mistake> Mistakes::take() {
  auto const order = [](Mistake const& m) { return std::tuple(m.line == 0, m.line, m.column); };
  std::stable_sort(found_.begin(), found_.end(), [&](Mistake const& a, Mistake const& b) { return order(a) < order(b); });
  if (more_) found_.push_back({"", 0, 0, "", "there are more mistakes than these"});
  return std::move(found_);
}

std::string ticked(std::string_view text) {
  constexpr std::size_t longest = 64;
  bool const cut = text.size() > longest;
  if (cut) text = text.substr(0, longest);
  while (cut && !text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.remove_suffix(1);
  if (cut && !text.empty() && static_cast<unsigned char>(text.back()) >= 0xc0) text.remove_suffix(1);
  std::string out = "`";
  for (char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (cut ? "...`" : "`");
}

std::string Mistake::text() const {
  std::string out = file;
  if (line > 0) out += (out.empty() ? "" : ":") + std::to_string(line) + ":" + std::to_string(column);
  if (!out.empty()) out += ": ";
  if (!path.empty()) out += path + ": ";
  return out + what;
}

}  // namespace weir::config
