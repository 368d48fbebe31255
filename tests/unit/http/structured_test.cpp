// Structured fields (RFC 9651 4.2). STO-4 rests on it: what does not parse is as if absent.
#include "weir/http/structured.hpp"

#include <random>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

std::string told(SfBare const& value) {
  struct Teller {
    std::string operator()(std::int64_t v) const { return "int " + std::to_string(v); }
    std::string operator()(double v) const {
      char text[32];
      std::snprintf(text, sizeof text, "dec %.3f", v);
      return text;
    }
    std::string operator()(std::string const& v) const { return "str " + v; }
    std::string operator()(SfToken const& v) const { return "tok " + v.text; }
    std::string operator()(SfBytes const& v) const { return "bin " + v.bytes; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(SfDate const& v) const { return "date " + std::to_string(v.seconds); }
    std::string operator()(SfDisplay const& v) const { return "disp " + v.text; }
  };
  return std::visit(Teller(), value);
}

std::string told(SfParameters const& parameters) {
  std::string out;
  for (auto const& [key, value] : parameters) out += "{" + key + ": " + told(value) + "}";
  return out;
}

std::string told(SfItem const& item) { return told(item.value) + told(item.parameters); }

std::string told(SfMember const& member) {
  if (!member.is_inner_list) return told(member.item);
  std::string out = "(";
  for (auto const& item : member.inner) out += "[" + told(item) + "]";
  return out + ")" + told(member.parameters);
}

std::string told(SfList const& list) {
  std::string out;
  for (auto const& member : list) out += "<" + told(member) + ">";
  return out;
}

std::string told(SfDictionary const& dictionary) {
  std::string out;
  for (auto const& [key, member] : dictionary) out += "<" + key + ": " + told(member) + ">";
  return out;
}

struct Row {
  std::string_view name;
  std::string_view text;
  std::optional<std::string_view> told;  // nothing: it does not parse
};

template <class Parse>
void check(Parse parse, std::vector<Row> const& rows) {
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    auto const parsed = parse(row.text);
    ASSERT_EQ(parsed.has_value(), row.told.has_value());
    if (!parsed) continue;
    EXPECT_EQ(told(*parsed), *row.told);
  }
}

TEST(StructuredItem, Numbers) {
  check(parse_sf_item, {
                           {"zero", "0", "int 0"},
                           {"negative", "-42", "int -42"},
                           {"minus zero", "-0", "int 0"},
                           {"leading zeros", "0042", "int 42"},
                           {"15 digits", "999999999999999", "int 999999999999999"},
                           {"15 digits below zero", "-999999999999999", "int -999999999999999"},
                           {"16 digits", "1000000000000000", {}},
                           {"very many digits", "99999999999999999999999999999999", {}},
                           {"minus alone", "-", {}},
                           {"two minus signs", "--1", {}},
                           {"plus sign", "+1", {}},
                           {"space behind the sign", "- 1", {}},
                           {"decimal", "1.5", "dec 1.500"},
                           {"three decimals", "-0.125", "dec -0.125"},
                           {"12 digits and 3", "123456789012.125", "dec 123456789012.125"},
                           {"13 digits before the dot", "1234567890123.1", {}},
                           {"four decimals", "1.1234", {}},
                           {"no decimals", "1.", {}},
                           {"dot first", ".5", {}},
                           {"two dots", "1.5.1", {}},
                           {"exponent", "1e3", {}},
                           {"spaces around", "  7  ", "int 7"},
                           {"tab before", "\t7", {}},
                           {"tab behind", "7\t", {}},
                           {"two items", "1 2", {}},
                           {"empty", "", {}},
                           {"spaces alone", "   ", {}},
                       });
}

TEST(StructuredItem, StringsAndTokens) {
  check(parse_sf_item, {
                           {"string", R"("a b, c")", "str a b, c"},
                           {"empty string", "\"\"", "str "},
                           {"escapes", R"("\"\\")", R"(str "\)"},
                           {"another escape", R"("\n")", {}},
                           {"backslash at the end", R"("a\)", {}},
                           {"open", "\"a", {}},
                           {"control byte", "\"a\tb\"", {}},
                           {"DEL", "\"\x7F\"", {}},
                           {"high byte", "\"\xC3\xA4\"", {}},
                           {"single quotes", "'a'", {}},
                           {"token", "a:b/c!#$%&'*+-.^_`|~0", "tok a:b/c!#$%&'*+-.^_`|~0"},
                           {"token in upper case", "Foo", "tok Foo"},
                           {"token with an asterisk first", "*foo", "tok *foo"},
                           {"token with another sign first", "!foo", {}},
                           {"token with a bracket", "a(b", {}},
                           {"token with an equals sign", "a=b", {}},
                       });
}

TEST(StructuredItem, OtherTypes) {
  check(parse_sf_item, {
                           {"bytes", ":aGVsbG8=:", "bin hello"},
                           {"no bytes", "::", "bin "},
                           {"two of padding", ":aA==:", "bin h"},
                           {"padding left out", ":aGVsbG8:", "bin hello"},
                           {"pad bits that are not zero", ":aGVsbG9=:", "bin hello"},
                           {"plus and slash", ":/+/7:", "bin \xFF\xEF\xFB"},
                           {"URL alphabet", ":_-_7:", {}},
                           {"one digit", ":a:", {}},
                           {"padding alone", ":=:", {}},
                           {"too much padding", ":aA===:", {}},
                           {"padding in the middle", ":aA==aA==:", {}},
                           {"padding to no multiple of four", ":aGVs=:", {}},
                           {"space inside", ":aG Vs:", {}},
                           {"open bytes", ":aGVs", {}},
                           {"true", "?1", "true"},
                           {"false", "?0", "false"},
                           {"no such boolean", "?2", {}},
                           {"boolean by word", "?true", {}},
                           {"question mark alone", "?", {}},
                           {"date", "@1659578233", "date 1659578233"},
                           {"date before 1970", "@-1", "date -1"},
                           {"date with a fraction", "@1.5", {}},
                           {"date alone", "@", {}},
                           {"display string", R"(%"f%c3%bc%c3%bc")", "disp f\xC3\xBC\xC3\xBC"},
                           {"display string of one to four bytes", R"(%"a%c2%a2%e2%82%ac%f0%9f%98%80%22")",
                            "disp a\xC2\xA2\xE2\x82\xAC\xF0\x9F\x98\x80\""},
                           {"backslash is itself", R"(%"\")", R"(disp \)"},
                           {"digits in upper case", R"(%"%C3%BC")", {}},
                           {"cut escape", R"(%"%c")", {}},
                           {"no escape", R"(%"%zz")", {}},
                           {"high byte as it is", "%\"\xC3\xBC\"", {}},
                           {"cut sequence", R"(%"%c3")", {}},
                           {"continuation alone", R"(%"%bc")", {}},
                           {"lead without continuation", R"(%"%c3a")", {}},
                           {"overlong, two bytes", R"(%"%c0%80")", {}},
                           {"overlong, three bytes", R"(%"%e0%9f%bf")", {}},
                           {"overlong, four bytes", R"(%"%f0%8f%bf%bf")", {}},
                           {"surrogate", R"(%"%ed%a0%80")", {}},
                           {"beyond Unicode", R"(%"%f4%90%80%80")", {}},
                           {"no such lead", R"(%"%f5%80%80%80")", {}},
                           {"the last code point", R"(%"%f4%8f%bf%bf")", "disp \xF4\x8F\xBF\xBF"},
                           {"percent alone", "%", {}},
                           {"no quote", "%abc", {}},
                           {"open display string", "%\"a", {}},
                           {"control byte in it", "%\"\t\"", {}},
                           {"no type", "&", {}},
                           {"inner list is no item", "(1)", {}},
                       });
}

TEST(StructuredItem, Parameters) {
  check(parse_sf_item, {
                           {"flag", "a;b", "tok a{b: true}"},
                           {"values", R"(a;b=1;c="x";d=?0)", "tok a{b: int 1}{c: str x}{d: false}"},
                           {"spaces behind the semicolon", "a;  b=1", "tok a{b: int 1}"},
                           {"space before the semicolon", "a ;b", {}},
                           {"tab behind the semicolon", "a;\tb", {}},
                           {"a later one replaces, in place", "a;b=1;c=2;b=3", "tok a{b: int 3}{c: int 2}"},
                           {"every key byte", "a;*a0_-.*=1", "tok a{*a0_-.*: int 1}"},
                           {"key in upper case", "a;B", {}},
                           {"key with a digit first", "a;1b", {}},
                           {"no key", "a;", {}},
                           {"no value", "a;b=", {}},
                           {"space before the value", "a;b= 1", {}},
                           {"inner list is no value", "a;b=(1)", {}},
                       });
}

TEST(StructuredList, Members) {
  check(parse_sf_list,
        {
            {"empty", "", ""},
            {"spaces", "  ", ""},
            {"tab alone", "\t", {}},
            {"one", "a", "<tok a>"},
            {"several", "a, \"b\" ,\t1,?1", "<tok a><str b><int 1><true>"},
            {"duplicates stay", "a, a", "<tok a><tok a>"},
            {"comma at the end", "a, ", {}},
            {"comma first", ",a", {}},
            {"empty member", "a,,b", {}},
            {"no comma", "a b", {}},
            {"space at the end", "a  ", "<tok a>"},
            {"inner lists", "(a b);x=1, (), ( c;y  d )", "<([tok a][tok b]){x: int 1}><()><([tok c{y: true}][tok d])>"},
            {"inner list left open", "(a b", {}},
            {"inner list left open at its start", "(", {}},
            {"inner list left open behind spaces", "(  ", {}},
            {"comma in an inner list", "(a, b)", {}},
            {"tab in an inner list", "(a\tb)", {}},
            {"no space in an inner list", "(\"a\"\"b\")", {}},
            {"inner list in an inner list", "((a))", {}},
            {"bad parameter of an inner list", "(a);B", {}},
            {"bad member of an inner list", "(&)", {}},
            {"closed twice", "(a))", {}},
        });
}

TEST(StructuredDictionary, Members) {
  check(parse_sf_dictionary, {
                                 {"empty", "", ""},
                                 {"flags", "a, b;x=1,c=?0", "<a: true><b: true{x: int 1}><c: false>"},
                                 {"values", "a=1, b=\"x\";y, c=(1 2)", "<a: int 1><b: str x{y: true}><c: ([int 1][int 2])>"},
                                 {"a later member replaces, in place", "a=1,b=2,a=3;x", "<a: int 3{x: true}><b: int 2>"},
                                 {"a flag replaces too", "a=1, a", "<a: true>"},
                                 {"key in upper case", "A=1", {}},
                                 {"no key", "=1", {}},
                                 {"no value", "a=", {}},
                                 {"no value before a comma", "a=,b", {}},
                                 {"space around the equals sign", "a =1", {}},
                                 {"space behind the equals sign", "a= 1", {}},
                                 {"comma at the end", "a=1,", {}},
                                 {"two commas", "a=1,,b=2", {}},
                                 {"semicolon alone", "a;", {}},
                                 {"semicolon between members", "a=1;b=2", "<a: int 1{b: int 2}>"},
                                 {"value alone", "1", {}},
                                 {"NUL behind", std::string_view("a\0", 2), {}},
                             });
}

std::string repeated(int count, std::string_view before_number, std::string_view behind_number) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out.append(before_number).append(std::to_string(i)).append(i + 1 < count ? behind_number : "");
  return out;
}

TEST(Structured, SizesAreBounded) {  // at least what RFC 9651 asks for, and not without end
  EXPECT_TRUE(parse_sf_list(repeated(1024, "a", ",")));
  EXPECT_FALSE(parse_sf_list(repeated(1025, "a", ",")));
  EXPECT_TRUE(parse_sf_dictionary(repeated(1024, "a", ",")));
  EXPECT_FALSE(parse_sf_dictionary(repeated(1025, "a", ",")));
  EXPECT_TRUE(parse_sf_item("x;" + repeated(256, "a", ";")));
  EXPECT_FALSE(parse_sf_item("x;" + repeated(257, "a", ";")));
  EXPECT_TRUE(parse_sf_list("(" + repeated(256, "a", " ") + ")"));
  EXPECT_FALSE(parse_sf_list("(" + repeated(257, "a", " ") + ")"));
}

TEST(Structured, AnyBytesSurviveBase64AndAnyTextAString) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run every time
  std::string_view const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int round = 0; round < 5'000; ++round) {
    std::string bytes, base64, quoted = "\"", text;
    for (auto size = random() % 20; size > 0; --size) bytes.push_back(static_cast<char>(random()));
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
      unsigned group = 0;
      for (std::size_t j = i; j < i + 3; ++j)
        group = group << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
      for (std::size_t j = 0; j < 4; ++j) base64.push_back(i + j > bytes.size() ? '=' : digits[group >> (18 - 6 * j) & 63U]);
    }
    for (char const c : bytes) text.push_back(static_cast<char>(0x20 + static_cast<unsigned char>(c) % 0x5F));
    for (char const c : text) quoted += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    auto const from_base64 = parse_sf_item(":" + base64 + ":");
    ASSERT_TRUE(from_base64) << base64;
    EXPECT_EQ(std::get<SfBytes>(from_base64->value).bytes, bytes);
    auto const from_quoted = parse_sf_item(quoted + "\"");
    ASSERT_TRUE(from_quoted) << quoted;
    EXPECT_EQ(std::get<std::string>(from_quoted->value), text);
  }
}

}  // namespace
}  // namespace weir::http
