#include "key_state.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "number_limit.hpp"

namespace weir::store {
namespace {

namespace json = boost::json;

constexpr std::size_t most_variants = 4096;

// Lua's numbers are doubles; the encoder writes whole ones without a point, or with an exponent.
std::optional<std::int64_t> whole(json::object const& from, std::string_view name) {
  auto const* const value = from.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (auto const* const number = value->if_int64(); number != nullptr && *number >= 0 && *number < number_limit)
    return *number;
  if (auto const* const number = value->if_double(); number != nullptr && *number >= 0 && *number < number_limit)
    return static_cast<std::int64_t>(*number);
  return std::nullopt;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  while (!text.empty()) {
    auto const end = std::min(text.find(' '), text.size());
    if (end > 0) all.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace

std::vector<std::string> KeyState::spec(std::int64_t now) const {
  std::vector<std::string> names;
  for (auto const& variant : variants)
    if (variant.until > now) names.insert(names.end(), variant.names.begin(), variant.names.end());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<KeyState> read_key_state(std::string_view text) {
  boost::system::error_code error;
  auto const parsed = json::parse(json::string_view(text.data(), text.size()), error);
  auto const* const record = error ? nullptr : parsed.if_object();
  if (record == nullptr) return std::nullopt;
  KeyState state;
  if (record->contains("n")) {
    auto const number = whole(*record, "n"), mode = whole(*record, "m");
    if (!number || !mode || *mode >= static_cast<int>(cache::Invalidation::none)) return std::nullopt;
    state.number = static_cast<std::uint64_t>(*number);
    state.mode = static_cast<cache::Invalidation>(*mode);
  }
  state.marked_until = whole(*record, "h").value_or(0);
  auto const* const variants = record->if_contains("v");
  if (variants == nullptr || (variants->is_array() && variants->get_array().empty())) return state;
  if (!variants->is_object() || variants->get_object().size() > most_variants) return std::nullopt;
  for (auto const& [name, value] : variants->get_object()) {
    auto const* const of = value.if_object();
    if (of == nullptr) return std::nullopt;
    auto const until = whole(*of, "u");
    auto const* const names = of->if_contains("f");
    if (!until || names == nullptr || !names->is_string()) return std::nullopt;
    auto const& list = names->get_string();
    state.variants.push_back(
        {std::string(name.data(), name.size()), *until, whole(*of, "s").value_or(0), words({list.data(), list.size()})});
  }
  return state;
}

}  // namespace weir::store
