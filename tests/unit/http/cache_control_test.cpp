// Cache-Control and the targeted fields as values. FRS-1 (malformed or conflicting is stale), STO-1, STO-3, STO-4.
#include "weir/http/cache_control.hpp"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using Lines = std::vector<std::string_view>;

std::vector<Field> lines_of(std::string_view name, Lines const& values) {
  std::vector<Field> out{{FieldId::other, "X-Cache-Control", "no-transform, max-age=1"}};
  for (auto const value : values) out.push_back({field_id(name), name, value});
  return out;
}

// What is set, in one line to compare with.
std::string told(CacheControl const& cc) {
  std::string out;
  auto const word = [&out](bool set, std::string_view text) {
    if (set) out.append(out.empty() ? "" : " ").append(text);
  };
  auto const delta = [&word](std::optional<DeltaSeconds> value, std::string const& name) {
    if (value) word(true, name + "=" + std::to_string(*value));
  };
  auto const list = [&word](std::vector<std::string> const& names, std::string const& name) {
    for (auto const& field : names) word(true, name + ":" + field);
  };
  word(cc.conflicting, "CONFLICTING");
  word(cc.no_store, "no-store");
  word(cc.no_cache, "no-cache");
  word(cc.private_, "private");
  word(cc.public_, "public");
  word(cc.must_revalidate, "must-revalidate");
  word(cc.proxy_revalidate, "proxy-revalidate");
  word(cc.must_understand, "must-understand");
  word(cc.no_transform, "no-transform");
  word(cc.immutable, "immutable");
  word(cc.only_if_cached, "only-if-cached");
  word(cc.max_stale_any, "max-stale");
  delta(cc.max_age, "max-age");
  delta(cc.s_maxage, "s-maxage");
  delta(cc.max_stale, "max-stale");
  delta(cc.min_fresh, "min-fresh");
  delta(cc.stale_while_revalidate, "stale-while-revalidate");
  delta(cc.stale_if_error, "stale-if-error");
  list(cc.no_cache_fields, "no-cache");
  list(cc.private_fields, "private");
  return out;
}

struct Row {
  std::string_view name;
  Lines lines;
  std::string_view told;
};

void check(std::vector<Row> const& rows) {
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    auto const lines = lines_of("Cache-Control", row.lines);
    auto const parsed = parse_cache_control(lines);
    EXPECT_EQ(told(parsed), row.told);
    EXPECT_EQ(parsed.present, !row.lines.empty());
  }
}

TEST(CacheControl, Flags) {
  check({
      {"no line", {}, ""},
      {"empty line", {""}, ""},
      {"unknown directives", {"foo, bar=1, baz=\"x\""}, ""},
      {"no-store", {"no-store"}, "no-store"},
      {"no-cache", {"no-cache"}, "no-cache"},
      {"private", {"private"}, "private"},
      {"public", {"public"}, "public"},
      {"must-revalidate", {"must-revalidate"}, "must-revalidate"},
      {"proxy-revalidate", {"proxy-revalidate"}, "proxy-revalidate"},
      {"must-understand", {"must-understand"}, "must-understand"},
      {"no-transform", {"no-transform"}, "no-transform"},
      {"immutable", {"immutable"}, "immutable"},
      {"only-if-cached", {"only-if-cached"}, "only-if-cached"},
      {"any case", {"No-STORE, PUBLIC"}, "no-store public"},
      {"spaces and empty members", {" ,no-store,,\tprivate , "}, "no-store private"},
      {"an argument changes nothing", {"no-store=foo"}, "no-store"},
      {"nor does a malformed one", {"no-store=\"foo, public=a b, immutable="}, "no-store public immutable"},
      {"space before the equals sign", {"no-store =x, private = y"}, "no-store private"},
      {"part of a name is another name", {"no-stores, xprivate, no_cache"}, ""},
      {"several lines", {"max-age=60", "private"}, "private max-age=60"},
      {"inside a quoted string is not a directive", {R"(foo="no-store, private", public)"}, "public"},
      {"behind an escaped quote", {R"(foo="\", no-store", public)"}, "public"},
      {"behind a quote that nothing closes", {R"(foo="bar, no-store)"}, "no-store"},
      {"a quote does not reach the next line", {R"(foo="bar)", R"(no-store, x=")"}, "no-store"},
  });
}

TEST(CacheControl, Deltas) {
  check({
      {"max-age", {"max-age=60"}, "max-age=60"},
      {"zero", {"max-age=0"}, "max-age=0"},
      {"leading zeros", {"max-age=0060"}, "max-age=60"},
      {"every one",
       {"max-age=1, s-maxage=2, max-stale=3, min-fresh=4, stale-while-revalidate=5, stale-if-error=6"},
       "max-age=1 s-maxage=2 max-stale=3 min-fresh=4 stale-while-revalidate=5 stale-if-error=6"},
      {"any case", {"MAX-AGE=60"}, "max-age=60"},
      {"quoted", {"max-age=\"60\""}, "max-age=60"},
      {"quoted with an escape", {R"(max-age="6\0")"}, "max-age=60"},
      {"below the clamp", {"max-age=2147483647"}, "max-age=2147483647"},
      {"at the clamp", {"max-age=2147483648"}, "max-age=2147483648"},
      {"above the clamp", {"max-age=2147483649"}, "max-age=2147483648"},
      {"beyond 64 bits", {"max-age=99999999999999999999999999"}, "max-age=2147483648"},
      {"twice the same", {"max-age=60", "max-age=\"060\""}, "max-age=60"},
      {"max-stale without a value", {"max-stale"}, "max-stale"},
      {"max-stale both ways", {"max-stale, max-stale=5"}, "max-stale max-stale=5"},
  });
}

TEST(CacheControl, ConflictingDeltas) {
  check({
      {"different values", {"max-age=60, max-age=61"}, "CONFLICTING max-age=60"},
      {"different values on two lines", {"s-maxage=60", "s-maxage=0"}, "CONFLICTING s-maxage=60"},
      {"no argument", {"max-age"}, "CONFLICTING"},
      {"empty", {"max-age="}, "CONFLICTING"},
      {"empty quoted", {"max-age=\"\""}, "CONFLICTING"},
      {"a backslash alone", {R"(max-age="\\")"}, "CONFLICTING"},
      {"negative", {"max-age=-1"}, "CONFLICTING"},
      {"positive sign", {"max-age=+1"}, "CONFLICTING"},
      {"fraction", {"max-age=1.5"}, "CONFLICTING"},
      {"exponent", {"max-age=1e3"}, "CONFLICTING"},
      {"hexadecimal", {"max-age=0x10"}, "CONFLICTING"},
      {"letters before", {"max-age=a60"}, "CONFLICTING"},
      {"letters behind", {"max-age=60s"}, "CONFLICTING"},
      {"semicolon", {"max-age=60;private"}, "CONFLICTING"},
      {"single quotes", {"max-age='60'"}, "CONFLICTING"},
      {"space inside quotes", {"max-age=\" 60\""}, "CONFLICTING"},
      {"text behind the quotes", {"max-age=\"60\"0"}, "CONFLICTING"},
      {"open quotes", {"max-age=\"60"}, "CONFLICTING"},
      {"space before the equals sign", {"max-age =60"}, "CONFLICTING"},
      {"space behind the equals sign", {"max-age= 60"}, "CONFLICTING"},
      {"two numbers", {"max-age=60 70"}, "CONFLICTING"},
      {"a good one does not heal a bad one", {"max-age=x, max-age=60"}, "CONFLICTING max-age=60"},
      {"nor the other way", {"max-age=60, max-age=x"}, "CONFLICTING max-age=60"},
      {"of the other deltas", {"stale-if-error=x"}, "CONFLICTING"},
      {"max-stale with a bad value", {"max-stale=x"}, "CONFLICTING"},
  });
}

TEST(CacheControl, QualifiedForms) {  // STO-3
  check({
      {"private", {R"(private="Set-Cookie")"}, "private:set-cookie"},
      {"no-cache", {R"(no-cache="x")"}, "no-cache:x"},
      {"several names", {R"(private="a , B,,c")"}, "private:a private:b private:c"},
      {"token", {"private=set-cookie"}, "private:set-cookie"},
      {"escaped", {R"(private="set\-cookie")"}, "private:set-cookie"},
      {"two of them", {R"(no-cache="a", no-cache="b")"}, "no-cache:a no-cache:b"},
      {"beside the plain form", {R"(private, private="a")"}, "private private:a"},
      {"empty list is the plain form", {R"(private="")"}, "private"},
      {"list of nothing", {R"(no-cache=" , ")"}, "no-cache"},
      {"no list at all", {"private="}, "private"},
      {"not a field name", {R"(private="a b")"}, "private"},
      {"one bad name spoils all", {R"(no-cache="a, b:")"}, "no-cache"},
      {"open quotes", {R"(private="set-cookie, max-age=60)"}, "private max-age=60"},
      {"text behind the quotes", {R"(private="a"b)"}, "private"},
      {"space around the equals sign", {R"(private ="a")"}, "private"},
  });
}

TEST(Targeted, Dictionary) {  // STO-4
  struct TargetedRow {
    std::string_view name;
    Lines lines;
    std::optional<std::string_view> told;
  };
  for (auto const& row : {
           TargetedRow{"no line", {}, std::nullopt},
           TargetedRow{"empty line", {""}, std::nullopt},
           TargetedRow{"spaces", {"  "}, std::nullopt},
           TargetedRow{"every type", {R"(max-age=60, private="a", no-store)"}, "no-store max-age=60 private:a"},
           TargetedRow{"several lines", {"max-age=60", "must-revalidate"}, "must-revalidate max-age=60"},
           TargetedRow{"only unknown members decide too", {"foo=1"}, ""},
           TargetedRow{"true and false", {"no-store=?0, private=?1, public=?0"}, "private"},
           TargetedRow{"a later member replaces", {"max-age=60, max-age=61, no-store, no-store=?0"}, "max-age=61"},
           TargetedRow{"negative", {"max-age=-1"}, "CONFLICTING"},
           TargetedRow{"clamped", {"max-age=999999999999999"}, "max-age=2147483648"},
           TargetedRow{"max-stale without a value", {"max-stale"}, "max-stale"},
           TargetedRow{"parameters say nothing", {"max-age=60;x=1, private;y"}, "private max-age=60"},
           TargetedRow{"empty list is the plain form", {R"(private="", no-cache="a b")"}, "no-cache private"},
           TargetedRow{"no-cache by name", {R"(no-cache="A, b")"}, "no-cache:a no-cache:b"},
           TargetedRow{"string for a number is ignored", {R"(max-age="60")"}, ""},
           TargetedRow{"fraction is ignored", {"max-age=60.0"}, ""},
           TargetedRow{"boolean for a number is ignored", {"max-age"}, ""},
           TargetedRow{"token for a flag is ignored", {"no-store=yes"}, ""},
           TargetedRow{"token for a list is ignored", {"private=a"}, ""},
           TargetedRow{"inner list is ignored", {"private=(\"a\"), max-age=(60)"}, ""},
           TargetedRow{"upper case does not parse", {"Max-Age=60"}, std::nullopt},
           TargetedRow{"text behind a number does not parse", {"max-age=60s"}, std::nullopt},
           TargetedRow{"comma at the end does not parse", {"max-age=60,"}, std::nullopt},
           TargetedRow{"one bad line spoils all", {"max-age=60", "&"}, std::nullopt},
           TargetedRow{"integer of 16 digits does not parse", {"max-age=1000000000000000"}, std::nullopt},
       }) {
    SCOPED_TRACE(row.name);
    auto const lines = lines_of("cdn-cache-control", row.lines);
    auto const parsed = parse_targeted(lines, "CDN-Cache-Control");
    ASSERT_EQ(parsed.has_value(), row.told.has_value());
    if (!parsed) continue;
    EXPECT_TRUE(parsed->present);
    EXPECT_EQ(told(*parsed), *row.told);
  }
}

TEST(Targeted, AnyNameCanBeAsked) {
  auto const lines = lines_of("X-Edge-Control", {"max-age=7"});
  auto const parsed = parse_targeted(lines, "x-edge-control");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->max_age, 7U);
  EXPECT_FALSE(parse_targeted(lines, "Weir-Cache-Control"));
}

}  // namespace
}  // namespace weir::http
