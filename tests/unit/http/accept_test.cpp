// Accept-Encoding and Accept-Language as values for keys. KEY-5.
#include "weir/http/accept.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using Strings = std::vector<std::string>;

CodingChoice choose(Strings const& values, Strings const& supported) {
  std::vector<Field> lines{{FieldId::accept, "Accept", "br"}};
  for (auto const& value : values) lines.push_back({FieldId::accept_encoding, "Accept-Encoding", value});
  return choose_coding(lines, supported);
}

TEST(Coding, Chosen) {
  Strings const both{"br", "gzip"};
  struct Row {
    std::string_view name;
    Strings values;
    Strings supported;
    std::string_view coding;
    bool identity_forbidden = false;
  };
  for (auto const& row : {
           Row{"no field", {}, both, "identity"},
           Row{"empty field", {""}, both, "identity"},
           Row{"one of ours", {"gzip"}, both, "gzip"},
           Row{"none of ours", {"zstd, deflate"}, both, "identity"},
           Row{"a browser", {"gzip, deflate, br, zstd"}, both, "br"},
           Row{"our order on a tie", {"gzip;q=0.5, br;q=0.5"}, both, "br"},
           Row{"higher q wins", {"br;q=0.5, gzip;q=0.501"}, both, "gzip"},
           Row{"any case", {"GZIP"}, both, "gzip"},
           Row{"x-gzip", {"X-Gzip"}, both, "gzip"},
           Row{"two lines", {"deflate", "br"}, both, "br"},
           Row{"q=0 excludes", {"br;q=0, gzip"}, both, "gzip"},
           Row{"q=0.000 excludes", {"br;q=0.000"}, both, "identity"},
           Row{"first mention decides", {"br;q=0", "br"}, both, "identity"},
           Row{"star is our first", {"*"}, both, "br"},
           Row{"star is our first unnamed", {"br;q=0.1, *"}, both, "gzip"},
           Row{"star after q=0", {"br;q=0, *"}, both, "gzip"},
           Row{"star stands for one alone", {"*;q=0.5, gzip;q=0.4"}, both, "br"},
           Row{"star with all named", {"br;q=0.2, gzip;q=0.3, *"}, both, "gzip"},
           Row{"star excluded", {"*;q=0, gzip"}, both, "gzip"},
           Row{"identity preferred", {"gzip;q=0.5, identity"}, both, "identity"},
           Row{"identity on a tie", {"identity, gzip"}, both, "gzip"},
           Row{"identity unnamed is last", {"gzip;q=0.001"}, both, "gzip"},
           Row{"identity forbidden, match", {"identity;q=0, gzip"}, both, "gzip"},
           Row{"identity forbidden, no match", {"identity;q=0, zstd"}, both, "identity", true},
           Row{"star forbids identity", {"zstd, *;q=0"}, both, "identity", true},
           Row{"star does not forbid identity that is named", {"identity;q=0.1, *;q=0"}, both, "identity"},
           Row{"nothing supported", {"gzip, *"}, {}, "identity"},
           Row{"space around the weight", {"br ; q=0.1 , gzip\t;\tQ=1.0"}, both, "gzip"},
           Row{"other parameters", {"br;x=1;q=0.1, gzip;q=0.2;y"}, both, "gzip"},
           Row{"bad weight names nothing", {"br;q=x, gzip;q=0.1"}, both, "gzip"},
           Row{"weight above one names nothing", {"br;q=1.001, gzip;q=0.1"}, both, "gzip"},
           Row{"weight of four decimals names nothing", {"br;q=0.1234, gzip;q=0.1"}, both, "gzip"},
           Row{"empty weight names nothing", {"br;q=, gzip;q=0.1"}, both, "gzip"},
           Row{"weight without a dot names nothing", {"br;q=01, gzip;q=0.1"}, both, "gzip"},
           Row{"negative weight names nothing", {"br;q=-1, gzip;q=0.1"}, both, "gzip"},
           Row{"weight with a bare dot", {"br;q=0., gzip;q=0.1"}, both, "gzip"},
       }) {
    SCOPED_TRACE(row.name);
    auto const choice = choose(row.values, row.supported);
    EXPECT_EQ(choice.coding, row.coding);
    EXPECT_EQ(choice.identity_forbidden, row.identity_forbidden);
  }
}

struct Mention {
  std::string name;
  int thousandths;
};

// The rule of KEY-5 step by step: name every coding, give `*` a name, sort.
std::pair<std::string, bool> slow_choice(std::vector<Mention> const& mentions, Strings const& supported) {
  std::map<std::string, int> weights;
  for (auto const& [name, weight] : mentions) weights.try_emplace(name, weight);
  bool const refused = weights.contains("identity") ? weights["identity"] == 0 : weights.contains("*") && weights["*"] == 0;
  auto const unnamed = std::find_if(supported.begin(), supported.end(), [&](auto const& s) { return !weights.contains(s); });
  if (weights.contains("*") && unnamed != supported.end()) weights[*unnamed] = weights["*"];
  Strings order = supported;
  order.push_back("identity");
  std::erase_if(order, [&](auto const& name) { return !weights.contains(name) || weights[name] == 0; });
  std::stable_sort(order.begin(), order.end(), [&](auto const& a, auto const& b) { return weights[a] > weights[b]; });
  if (order.empty() || (order.front() == "identity" && order.size() == 1)) return {"identity", refused};
  return {order.front(), false};
}

TEST(Coding, AgreesWithTheSlowChoice) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run every time
  Strings const names{"br", "gzip", "zstd", "identity", "*", "deflate"};
  int const weights[] = {0, 1, 500, 999, 1000};
  for (int round = 0; round < 50'000; ++round) {
    Strings supported{"br", "gzip", "zstd"};
    std::shuffle(supported.begin(), supported.end(), random);
    supported.resize(random() % 4);
    std::vector<Mention> mentions;
    Strings lines(1 + random() % 2);
    for (auto& text : lines) {
      for (auto count = random() % 4; count > 0; --count) {
        mentions.push_back({names[random() % names.size()], weights[random() % std::size(weights)]});
        auto const& [name, weight] = mentions.back();
        auto const thousands = std::to_string(1000 + weight);
        auto const q = ";q=" + std::to_string(weight / 1000) + "." + thousands.substr(1);
        text += (text.empty() ? "" : ", ") + name + (weight == 1000 && random() % 2 == 0 ? "" : q);
      }
    }
    auto const choice = choose(lines, supported);
    auto const [coding, forbidden] = slow_choice(mentions, supported);
    ASSERT_EQ(choice.coding, coding) << lines.front() << " | " << lines.back();
    ASSERT_EQ(choice.identity_forbidden, forbidden) << lines.front() << " | " << lines.back();
  }
}

TEST(Language, Normalized) {
  struct Row {
    std::string_view name;
    std::string_view combined;
    std::string_view normal;
  };
  for (auto const& row : {
           Row{"empty", "", ""},
           Row{"alone", "en", "en"},
           Row{"case", "de-CH", "de-ch"},
           Row{"spaces", " de ,\ten ", "de,en"},
           Row{"order by weight", "en;q=0.5, de", "de,en"},
           Row{"the order of equal weights means nothing", "fr;q=0.5, de;q=0.5, en;q=0.5", "de,en,fr"},
           Row{"nor does it without any", "en, De", "de,en"},
           Row{"an order against the letters", "fr, de;q=0.5", "fr,de;q=0.999"},
           Row{"some of each", "fr, it, de;q=0.5, en;q=0.5, ca;q=0.1", "fr,it,de;q=0.999,en;q=0.999,ca;q=0.998"},
           Row{"weights themselves do not count", "de;q=0.9, en;q=0.1", "de,en"},
           Row{"q=0 is another thing than absence", "en;q=0, de;q=0.1, ca;q=0.0", "de,ca;q=0,en;q=0"},
           Row{"q=0 alone", "De;q=0.000", "de;q=0"},
           Row{"parameters are dropped", "de;x=1, en;q=0.1;y", "de,en"},
           Row{"star", "*;q=0.1, de", "de,*;q=0.999"},
           Row{"empty members", ",de,,;q=1,", "de"},
           Row{"quotes are kept whole", " En, \"x,y\";q=0.5, de;q=0 ", "en, \"x,y\";q=0.5, de;q=0"},
           Row{"a bad weight stays, so that it shares no key", "en;q=0.5, de;q=X", "de;q=x,en"},
       }) {
    SCOPED_TRACE(row.name);
    std::string out = "|";
    append_normalized_languages(row.combined, out);
    EXPECT_EQ(out, "|" + std::string(row.normal));
  }
}

TEST(Language, NormalFormIsItsOwn) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run every time
  std::string_view const alphabet = "aB-,;q=.015 *\"";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto size = random() % 24; size > 0; --size) text.push_back(alphabet[random() % alphabet.size()]);
    std::string once, twice;
    append_normalized_languages(text, once);
    append_normalized_languages(once, twice);
    EXPECT_EQ(once, twice) << text;
  }
}

TEST(Language, Chosen) {
  struct Row {
    std::string_view name;
    std::string_view combined;
    Strings available;
    std::string_view chosen;
  };
  for (auto const& row : {
           Row{"no preference", "", {"en", "de"}, ""},
           Row{"exact", "de", {"en", "de"}, "de"},
           Row{"any case, spelled as ours", "DE-ch", {"de-CH"}, "de-CH"},
           Row{"truncated", "de-CH-1996", {"en", "de"}, "de"},
           Row{"longest truncation", "de-CH-1996", {"de", "de-CH"}, "de-CH"},
           Row{"a range does not match a longer tag", "de", {"de-CH"}, ""},
           Row{"a tag's part is no truncation", "den-x", {"de"}, ""},
           Row{"higher weight wins", "en;q=0.5, de", {"en", "de"}, "de"},
           Row{"order on a tie", "de, en", {"en", "de"}, "de"},
           Row{"next preference", "fr, de;q=0.5", {"en", "de"}, "de"},
           Row{"a truncation of the first beats the second", "de-CH, en", {"en", "de"}, "de"},
           Row{"q=0 is no preference", "de;q=0", {"en", "de"}, ""},
           Row{"q=0 refuses a truncation", "de-CH, de;q=0, en;q=0.1", {"en", "de"}, "en"},
           Row{"star says nothing", "*", {"en"}, ""},
           Row{"star before another", "*, en;q=0.1", {"de", "en"}, "en"},
           Row{"bad weight", "de;q=x, en;q=0.1", {"de", "en"}, "en"},
           Row{"nothing available", "de", {}, ""},
           Row{"an empty name is never chosen", "de", {""}, ""},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(choose_language(row.combined, row.available), row.chosen);
  }
}

}  // namespace
}  // namespace weir::http
