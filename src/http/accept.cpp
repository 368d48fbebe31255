#include "weir/http/accept.hpp"

#include <algorithm>

#include <boost/container/small_vector.hpp>

namespace weir::http {
namespace {

constexpr int full_weight = 1000;

// A member of Accept-Encoding or Accept-Language.
struct Preference {
  std::string_view name;
  int weight = full_weight;  // thousandths; negative: not a weight
};

// RFC 9110 12.4.2: 0 to 1 with at most three decimals.
int parse_weight(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text[1] != '.')) return -1;
  if (text[0] != '0' && text[0] != '1') return -1;
  int value = text[0] - '0';
  for (std::size_t i = 2; i < 5; ++i) {
    char const c = i < text.size() ? text[i] : '0';
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value <= full_weight ? value : -1;
}

// Parameters other than q say nothing that we know of.
Preference parse_preference(std::string_view member) noexcept {
  std::size_t end = std::min(member.find(';'), member.size());
  Preference out{trim(member.substr(0, end))};
  while (end < member.size()) {
    std::size_t const start = end + 1;
    end = std::min(member.find(';', start), member.size());
    auto const parameter = trim(member.substr(start, end - start));
    if (parameter.size() >= 2 && to_lower(parameter[0]) == 'q' && parameter[1] == '=') {
      out.weight = parse_weight(parameter.substr(2));
    }
  }
  return out;
}

// RFC 9110 8.4.1.3: x-gzip is gzip.
bool same_coding(std::string_view a, std::string_view b) noexcept {
  return equal_ignoring_case(a, b) || (equal_ignoring_case(a, "x-gzip") && equal_ignoring_case(b, "gzip"));
}

// The weight of the first member that names `coding`; nothing if none does. A member with a bad weight names nothing.
std::optional<int> weight_of(Fields request, std::string_view coding) noexcept {
  std::optional<int> found;
  for (Field const& line : request) {
    if (line.id != FieldId::accept_encoding) continue;
    for_each_member(line.value, [&](std::string_view member) {
      auto const preference = parse_preference(member);
      if (preference.weight >= 0 && same_coding(preference.name, coding)) found = preference.weight;
      return !found;
    });
    if (found) break;
  }
  return found;
}

void append_weight(int weight, std::string& out) {
  out.append(";q=0.");
  for (int unit = full_weight / 10; unit > 0; unit /= 10) out.push_back(static_cast<char>('0' + weight / unit % 10));
}

bool less_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::lexicographical_compare(a, b, {}, to_lower, to_lower);
}

// `available` is `range` or one of its truncations (RFC 4647 3.4).
bool is_truncation(std::string_view available, std::string_view range) noexcept {
  if (available.empty() || available.size() > range.size()) return false;
  if (!equal_ignoring_case(available, range.substr(0, available.size()))) return false;
  return available.size() == range.size() || range[available.size()] == '-';
}

bool is_refused(std::string_view combined, std::string_view language) noexcept {
  bool refused = false;
  for_each_member(combined, [&](std::string_view member) {
    auto const preference = parse_preference(member);
    refused = preference.weight == 0 && equal_ignoring_case(preference.name, language);
    return !refused;
  });
  return refused;
}

}  // namespace

CodingChoice choose_coding(Fields request, std::span<std::string const> supported) noexcept {
  auto const any = weight_of(request, "*");
  bool any_taken = false;
  CodingChoice best{"identity"};
  int best_weight = 0;
  for (std::string const& coding : supported) {
    auto weight = weight_of(request, coding);
    if (!weight && any && !any_taken) {
      weight = any;
      any_taken = true;
    }
    if (!weight || *weight <= best_weight) continue;
    best = {coding};
    best_weight = *weight;
  }
  auto const identity = weight_of(request, "identity");
  if (best_weight == 0) {
    best.identity_forbidden = identity ? *identity == 0 : any && *any == 0;
  } else if (identity && *identity > best_weight) {
    best = {"identity"};
  }
  return best;
}

void append_normalized_languages(std::string_view combined, std::string& out) {
  // No language list has a quoted-string. How an origin reads one is unknown: kept whole, it is equal to itself alone.
  if (combined.find('"') != std::string_view::npos) {
    out += lower(trim(combined));
    return;
  }
  boost::container::small_vector<Preference, 16> preferences;
  for_each_member(combined, [&preferences](std::string_view member) {
    auto preference = parse_preference(member);
    // The same for a member with a bad weight.
    if (preference.weight < 0) preference = {member};
    if (!preference.name.empty()) preferences.push_back(preference);
    return true;
  });
  std::ranges::sort(preferences, [](Preference const& a, Preference const& b) {
    return a.weight != b.weight ? a.weight > b.weight : less_ignoring_case(a.name, b.name);
  });
  int weight = full_weight;
  for (std::size_t i = 0; i < preferences.size(); ++i) {
    auto const name = preferences[i].name;
    if (i > 0) {
      out.push_back(',');
      if (less_ignoring_case(name, preferences[i - 1].name)) weight = std::max(weight - 1, 1);
    }
    for (char const c : name) out.push_back(to_lower(c));
    if (preferences[i].weight == 0)
      out.append(";q=0");
    else if (weight < full_weight)
      append_weight(weight, out);
  }
}

std::string_view choose_language(std::string_view combined, std::span<std::string const> available) noexcept {
  std::string_view best;
  int best_weight = 0;
  for_each_member(combined, [&](std::string_view member) {
    auto const preference = parse_preference(member);
    if (preference.weight <= best_weight) return true;
    std::string_view longest;
    for (std::string const& language : available) {
      bool const fits = is_truncation(language, preference.name) && !is_refused(combined, language);
      if (fits && language.size() > longest.size()) longest = language;
    }
    if (longest.empty()) return true;
    best = longest;
    best_weight = preference.weight;
    return true;
  });
  return best;
}

}  // namespace weir::http
