#include "weir/cache/vary.hpp"

#include <algorithm>

#include "parts.hpp"

namespace weir::cache {
namespace {

bool contains(std::vector<std::string> const& names, std::string_view name) noexcept {
  return std::ranges::find(names, name) != names.end();
}

// A field that carries a person's secret: one variant for each person is no cache. What is keyed is allowed by name.
bool is_forbidden(std::string_view name, KeyRules const& rules) noexcept {
  return (name == "cookie" || name == "authorization") && !contains(rules.vary_allow, name) &&
         !contains(rules.headers, name);
}

// KEY-6: what is made anew for each fetch selects for nobody.
bool is_made_for_one_fetch(std::string_view name, KeyRules const& rules) noexcept {
  return name == "forwarded" || (name == "x-request-id" && !contains(rules.headers, name));
}

void append_selected_value(http::Fields request, std::string_view name, KeyRules const& rules, Bytes& out) {
  append_part(tag::selecting, name, out);
  auto const before = out.size();
  auto const begin = begin_part(tag::value, out);
  if (append_selecting_value(request, name, rules, out))
    end_part(begin, out);
  else
    out.resize(before);
}

}  // namespace

VaryNames vary_names(http::Fields response, KeyRules const& rules) {
  VaryNames vary;
  bool star = false;
  bool malformed = false;
  for (auto const& field : response) {
    if (field.id != http::FieldId::vary) continue;
    http::for_each_member(field.value, [&](std::string_view member) {
      if (member == "*")
        star = true;
      else if (!http::is_token(member))
        malformed = true;
      else if (auto name = http::lower(member); !contains(vary.names, name))
        vary.names.push_back(std::move(name));
      // One name too many is enough to refuse: a longer list costs no more.
      return !star && !malformed && vary.names.size() <= rules.max_vary_headers;
    });
    if (star || malformed) break;
  }
  if (star)
    vary.verdict = VaryVerdict::star;
  else if (malformed)
    vary.verdict = VaryVerdict::malformed;
  else if (vary.names.size() > rules.max_vary_headers)
    vary.verdict = VaryVerdict::too_many;
  else if (std::ranges::any_of(vary.names, [&](auto const& name) {
             return is_forbidden(name, rules) || is_made_for_one_fetch(name, rules);
           }))
    vary.verdict = VaryVerdict::forbidden_field;
  if (vary.verdict != VaryVerdict::usable) {
    vary.names.clear();
    return vary;
  }
  if (response.has(http::FieldId::content_encoding) && !contains(vary.names, "accept-encoding"))
    vary.names.emplace_back("accept-encoding");
  std::ranges::sort(vary.names);
  return vary;
}

void append_selector(http::Fields request, std::vector<std::string> const& names, KeyRules const& rules,
                     SelectorBytes& out) {
  for (auto const& name : names) append_selected_value(request, name, rules, out);
}

bool selects(http::Fields request, std::string_view selector, KeyRules const& rules) {
  SelectorBytes own;
  while (!selector.empty()) {
    auto rest = selector;
    auto const name = take_part(rest);
    if (!name || name->tag != tag::selecting) return false;
    own.clear();
    append_selected_value(request, name->bytes, rules, own);
    // The other side may have a value where we have none; then the next part is that value and no name, and we stop there.
    if (!selector.starts_with(view(own))) return false;
    selector.remove_prefix(own.size());
  }
  return true;
}

std::vector<std::string> selector_names(std::string_view selector) {
  std::vector<std::string> names;
  while (auto const part = take_part(selector)) {
    if (part->tag == tag::selecting) names.emplace_back(part->bytes);
  }
  return names;
}

std::vector<std::pair<std::string, std::optional<std::string>>> selecting_values(std::string_view selector) {
  std::vector<std::pair<std::string, std::optional<std::string>>> values;
  while (auto const part = take_part(selector)) {
    if (part->tag == tag::selecting)
      values.emplace_back(part->bytes, std::nullopt);
    else if (part->tag == tag::value && !values.empty())
      values.back().second = part->bytes;
  }
  return values;
}

void append_variant_key(std::string_view primary_key, http::Fields request, std::vector<std::string> const& spec,
                        KeyRules const& rules, KeyBytes& out) {
  out.insert(out.end(), primary_key.begin(), primary_key.end());
  for (auto const& name : spec) append_selected_value(request, name, rules, out);
}

}  // namespace weir::cache
