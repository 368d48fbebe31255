// KEY-5, KEY-6: what a response varies on and which requests select alike.
#include <gtest/gtest.h>

#include <random>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/vary.hpp"

namespace weir::cache::test {
namespace {

struct NamesRow {
  char const* name;
  char const* fields;
  VaryVerdict verdict;
  std::vector<std::string> names;
};
void PrintTo(NamesRow const& row, std::ostream* out) { *out << row.name; }

class VaryNamesOf : public testing::TestWithParam<NamesRow> {};

TEST_P(VaryNamesOf, Response) {  // KEY-5, KEY-6
  KeyRules rules;
  rules.headers = {"authorization"};
  WireResponse const wire(std::string("200 OK\n") + GetParam().fields);
  auto const vary = vary_names(wire.fields(), rules);
  EXPECT_EQ(vary.verdict, GetParam().verdict);
  EXPECT_EQ(vary.names, GetParam().names);
}

INSTANTIATE_TEST_SUITE_P(
    Table, VaryNamesOf,
    testing::Values(
        NamesRow{"none", "", VaryVerdict::usable, {}}, NamesRow{"empty", "Vary:", VaryVerdict::usable, {}},
        NamesRow{"lower case, sorted, once", "Vary: X-B, accept, x-b, X-A", VaryVerdict::usable, {"accept", "x-a", "x-b"}},
        NamesRow{"several lines", "Vary: b\nVary: , a", VaryVerdict::usable, {"a", "b"}},
        NamesRow{"star", "Vary: *", VaryVerdict::star, {}}, NamesRow{"stars", "Vary: *, *", VaryVerdict::star, {}},
        NamesRow{"star among names", "Vary: a, *", VaryVerdict::star, {}},
        NamesRow{"star behind an empty member", "Vary: , *", VaryVerdict::star, {}},
        NamesRow{"star on a later line", "Vary:\nVary: a\nVary: *", VaryVerdict::star, {}},
        NamesRow{"not a name", "Vary: a b", VaryVerdict::malformed, {}},
        NamesRow{
            "eight are allowed", "Vary: a,b,c,d,e,f,g,h,h", VaryVerdict::usable, {"a", "b", "c", "d", "e", "f", "g", "h"}},
        NamesRow{"nine are not", "Vary: a,b,c,d,e,f,g,h,i", VaryVerdict::too_many, {}},
        NamesRow{
            "the coding that Vary forgot", "Content-Encoding: br\nVary: z", VaryVerdict::usable, {"accept-encoding", "z"}},
        NamesRow{
            "the coding it named", "Content-Encoding: br\nVary: Accept-Encoding", VaryVerdict::usable, {"accept-encoding"}},
        NamesRow{"made for one fetch", "Vary: Forwarded", VaryVerdict::forbidden_field, {}},
        NamesRow{"an id, too", "Vary: a, X-Request-Id", VaryVerdict::forbidden_field, {}},
        NamesRow{"cookie", "Vary: Cookie", VaryVerdict::forbidden_field, {}},
        NamesRow{"keyed authorization is allowed", "Vary: Authorization", VaryVerdict::usable, {"authorization"}}),
    row_name);

TEST(Vary, AuthorizationAndCookieOnlyByName) {  // KEY-6
  WireResponse const authorization("200 OK\nVary: authorization");
  WireResponse const cookie("200 OK\nVary: cookie");
  KeyRules rules;
  EXPECT_EQ(vary_names(authorization.fields(), rules).verdict, VaryVerdict::forbidden_field);
  rules.vary_allow = {"authorization"};
  EXPECT_EQ(vary_names(authorization.fields(), rules).verdict, VaryVerdict::usable);
  EXPECT_EQ(vary_names(cookie.fields(), rules).verdict, VaryVerdict::forbidden_field);
  rules.vary_allow = {"cookie"};
  EXPECT_EQ(vary_names(cookie.fields(), rules).verdict, VaryVerdict::usable);
}

TEST(Vary, RequestIdOnlyIfKeyed) {  // KEY-6: nobody makes one then
  WireResponse const id("200 OK\nVary: X-Request-Id");
  KeyRules rules;
  rules.vary_allow = {"x-request-id"};
  EXPECT_EQ(vary_names(id.fields(), rules).verdict, VaryVerdict::forbidden_field);
  rules.headers = {"x-request-id"};
  EXPECT_EQ(vary_names(id.fields(), rules).verdict, VaryVerdict::usable);
}

std::string selector_of(http::Fields fields, std::vector<std::string> const& names, KeyRules const& rules = {}) {
  SelectorBytes out;
  append_selector(fields, names, rules, out);
  return std::string(view(out));
}

struct SelectRow {
  char const* name;
  char const* varies_on;
  char const* left;
  char const* right;
  bool alike;
  std::vector<std::string> languages = {};
};
void PrintTo(SelectRow const& row, std::ostream* out) { *out << row.name; }

class Selection : public testing::TestWithParam<SelectRow> {};

TEST_P(Selection, OfOneRequestByAnother) {  // KEY-5, KEY-6
  SelectRow const& row = GetParam();
  KeyRules rules;
  rules.languages = row.languages;
  WireRequest const left(std::string("GET /\n") + row.left);
  WireRequest const right(std::string("GET /\n") + row.right);
  std::vector<std::string> const names{row.varies_on};
  auto const selector = selector_of(left.fields(), names, rules);
  EXPECT_TRUE(selects(left.fields(), selector, rules));
  EXPECT_EQ(selects(right.fields(), selector, rules), row.alike);
  EXPECT_EQ(selects(left.fields(), selector_of(right.fields(), names, rules), rules), row.alike);
  EXPECT_EQ(selector == selector_of(right.fields(), names, rules), row.alike);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Selection,
    testing::Values(
        SelectRow{"equal", "x-a", "X-A: 1", "x-a: 1", true}, SelectRow{"different", "x-a", "X-A: 1", "X-A: 2", false},
        SelectRow{"absent twice", "x-a", "", "", true}, SelectRow{"absent and empty", "x-a", "", "X-A:", false},
        SelectRow{"absent and present", "x-a", "", "X-A: 1", false},
        SelectRow{"lines combined", "x-a", "X-A: 1\nX-A: 2", "X-A: 1, 2", true},
        SelectRow{"space around commas", "x-a", "X-A: 1 ,\t2", "X-A: 1,2", true},
        SelectRow{"space inside a member", "x-a", "X-A: 1 2", "X-A: 1  2", false},
        SelectRow{"order counts", "x-a", "X-A: 1,2", "X-A: 2,1", false},
        SelectRow{"empty members count", "x-a", "X-A: 1,,2", "X-A: 1,2", false},
        SelectRow{"values respect case", "x-a", "X-A: a", "X-A: A", false},
        SelectRow{"space inside quotes", "x-a", "X-A: \"1 , 2\"", "X-A: \"1,2\"", false},
        SelectRow{"escaped quote", "x-a", "X-A: \"1\\\" , 2\"", "X-A: \"1\\\",2\"", false},
        SelectRow{"space behind quotes", "x-a", "X-A: \"1\" , 2", "X-A: \"1\",2", true},
        SelectRow{"a quote that goes on on the next line", "x-a", "X-A: \"1\nX-A: 2\"", "X-A: \"1, 2\"", true},
        SelectRow{"a line that ends in a comma", "x-a", "X-A: 1,\nX-A: 2", "X-A: 1,,2", true},
        SelectRow{"coding reduced", "accept-encoding", "Accept-Encoding: gzip, br;q=1", "Accept-Encoding: br", true},
        SelectRow{"coding absent is identity", "accept-encoding", "", "Accept-Encoding: zstd", true},
        SelectRow{"codings differ", "accept-encoding", "Accept-Encoding: gzip", "Accept-Encoding: br", false},
        SelectRow{"coding excluded", "accept-encoding", "Accept-Encoding: br;q=0, gzip", "Accept-Encoding: gzip", true},
        SelectRow{"star is the first", "accept-encoding", "Accept-Encoding: *", "Accept-Encoding: br", true},
        SelectRow{"languages by preference", "accept-language", "Accept-Language: en;q=0.5, de",
                  "Accept-Language: DE, en;q=0.1", true},
        SelectRow{"languages over lines", "accept-language", "Accept-Language: de\nAccept-Language: en;q=0.3",
                  "Accept-Language: de, en", true},
        SelectRow{"languages in any order", "accept-language", "Accept-Language: de, en", "Accept-Language: en, de", true},
        SelectRow{"but not of other weights", "accept-language", "Accept-Language: en, de;q=0.5", "Accept-Language: de, en",
                  false},
        SelectRow{"languages differ", "accept-language", "Accept-Language: en", "Accept-Language: de", false},
        SelectRow{"languages absent", "accept-language", "", "Accept-Language: de", false},
        SelectRow{
            "best of ours", "accept-language", "Accept-Language: fr, de-AT", "Accept-Language: de", true, {"en", "de"}},
        SelectRow{"none of ours is as absent", "accept-language", "Accept-Language: fr", "", true, {"en", "de"}}),
    row_name);

TEST(Vary, SelectorIsReadBack) {
  WireRequest const wire("GET /\nA: 1");
  auto const selector = selector_of(wire.fields(), {"a", "b"});
  EXPECT_EQ(selector_names(selector), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(selector_names("").empty());
  std::vector<std::pair<std::string, std::optional<std::string>>> const values{{"a", "1"}, {"b", std::nullopt}};
  EXPECT_EQ(selecting_values(selector), values);
  EXPECT_TRUE(selects(wire.fields(), "", {}));
  EXPECT_FALSE(selects(wire.fields(), "junk", {}));
  EXPECT_FALSE(selects(wire.fields(), selector.substr(0, selector.size() - 1), {}));
}

TEST(Vary, VariantKeyIsKeyThenSelector) {  // KEY-6
  WireRequest const wire("GET /\nA: 1");
  KeyBytes key;
  append_variant_key("key", wire.fields(), {"a"}, {}, key);
  EXPECT_EQ(view(key), "key" + selector_of(wire.fields(), {"a"}));
  key.clear();
  append_variant_key("key", wire.fields(), {}, {}, key);
  EXPECT_EQ(view(key), "key");
}

// Two values of few letters; alike exactly if they are equal once commas stand alone.
TEST(Vary, SelectorsAreEqualExactlyIfNormalisedValuesAre) {  // KEY-5, KEY-6
  std::mt19937 random(7);
  auto const draw = [&](std::uint32_t below) { return std::uniform_int_distribution<std::uint32_t>(0, below - 1)(random); };
  struct Drawn {
    std::string fields;  // of a and b
    std::string normal;
  };
  auto const drawn = [&] {
    Drawn out;
    for (char const name : {'a', 'b'}) {
      if (draw(4) == 0) {
        out.normal += "-\n";
        continue;
      }
      std::string value;
      std::string normal;
      for (auto members = draw(3) + 1; members > 0; --members) {
        std::string const member(draw(3), 'x');
        value += std::string(draw(2), ' ') + member + std::string(draw(2), '\t') + (members > 1 ? "," : "");
        normal += member + (members > 1 ? "," : "");
      }
      out.fields += std::string(1, name) + ": " + value + "\n";
      out.normal += "+" + normal + "\n";
    }
    return out;
  };
  int equal = 0;
  for (int i = 0; i < 30'000; ++i) {
    auto const left = drawn();
    auto const right = drawn();
    WireRequest const a("GET /\n" + left.fields);
    WireRequest const b("GET /\n" + right.fields);
    bool const alike = left.normal == right.normal;
    equal += alike ? 1 : 0;
    ASSERT_EQ(selects(b.fields(), selector_of(a.fields(), {"a", "b"}), {}), alike) << left.fields << "|\n" << right.fields;
  }
  EXPECT_GT(equal, 150);
}

}  // namespace
}  // namespace weir::cache::test
