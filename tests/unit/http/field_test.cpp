// Header fields as data. REQ-1 (what a name and a value may be), STO-3 and FRS-1 (every line is seen).
#include "weir/http/field.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "weir/http/field_value.hpp"

namespace weir::http {
namespace {

Field line(std::string_view name, std::string_view value) { return {field_id(name), name, value}; }

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return out;
}

std::vector<std::string> members(std::string_view list) {
  std::vector<std::string> out;
  for_each_member(list, [&out](std::string_view member) {
    out.emplace_back(member);
    return true;
  });
  return out;
}

constexpr int last_id = static_cast<int>(FieldId::x_request_id);

TEST(FieldId, EveryNameIsFoundInAnyCase) {
  std::set<std::string_view> seen;
  for (int i = 1; i <= last_id; ++i) {
    auto const id = static_cast<FieldId>(i);
    auto const name = field_name(id);
    SCOPED_TRACE(name);
    EXPECT_TRUE(is_token(name));
    EXPECT_TRUE(seen.insert(name).second);
    EXPECT_EQ(field_id(name), id);
    EXPECT_EQ(field_id(lower(name)), id);
    EXPECT_EQ(field_id(upper(name)), id);
  }
}

TEST(FieldId, SpellingFollowsTheEnumerator) {
  struct Row {
    FieldId id;
    std::string_view name;
  };
  for (auto const& [id, name] :
       {Row{FieldId::other, ""}, Row{FieldId::accept, "Accept"}, Row{FieldId::cache_control, "Cache-Control"},
        Row{FieldId::cdn_loop, "CDN-Loop"}, Row{FieldId::etag, "ETag"}, Row{FieldId::keep_alive, "Keep-Alive"},
        Row{FieldId::proxy_status, "Proxy-Status"}, Row{FieldId::te, "TE"},
        Row{FieldId::www_authenticate, "WWW-Authenticate"}, Row{FieldId::x_request_id, "X-Request-Id"}}) {
    EXPECT_EQ(field_name(id), name);
  }
}

TEST(FieldId, ANameThatDiffersInOneByteIsOther) {
  for (int i = 1; i <= last_id; ++i) {
    std::string const name(field_name(static_cast<FieldId>(i)));
    for (std::size_t at = 0; at < name.size(); ++at) {
      std::string changed = name;
      changed[at] = '_';
      EXPECT_EQ(field_id(changed), FieldId::other) << changed;
    }
    EXPECT_EQ(field_id(name + "s"), FieldId::other);
    EXPECT_NE(field_id(name.substr(0, name.size() - 1)), static_cast<FieldId>(i));
  }
  EXPECT_EQ(field_id(""), FieldId::other);
  EXPECT_EQ(field_id(std::string(10'000, 'a')), FieldId::other);
  EXPECT_EQ(field_id("Cache\rControl"), FieldId::other) << "0x0D is '-' less a bit";
}

TEST(Text, LettersOutsideAsciiKeepTheirCase) {
  EXPECT_EQ(lower("AbZ[@\xC4"), "abz[@\xC4");
  EXPECT_TRUE(equal_ignoring_case("TE", "te"));
  EXPECT_FALSE(equal_ignoring_case("te", "tee"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));
  EXPECT_FALSE(equal_ignoring_case("\xC4", "\xE4"));
}

TEST(Text, TrimTakesSpacesAndTabsAlone) {
  EXPECT_EQ(trim(" \t a b\t "), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("\ra\n"), "\ra\n");
}

TEST(Text, Tokens) {  // REQ-1, RFC 9110 5.6.2
  std::string_view const allowed = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (int c = 0; c < 256; ++c) {
    EXPECT_EQ(is_token_char(static_cast<char>(c)), allowed.find(static_cast<char>(c)) != std::string_view::npos) << c;
  }
  EXPECT_TRUE(is_token("X-Tenant"));
  EXPECT_FALSE(is_token(""));
  EXPECT_FALSE(is_token("a b"));
  EXPECT_FALSE(is_token("a:"));
}

TEST(Text, FieldValues) {  // REQ-1: control bytes are refused, high bytes are not
  for (int c = 0; c < 256; ++c) {
    bool const allowed = c == '\t' || (c >= 0x20 && c != 0x7F);
    EXPECT_EQ(is_field_value(std::string(1, static_cast<char>(c))), allowed) << c;
  }
  EXPECT_TRUE(is_field_value(""));
  EXPECT_FALSE(is_field_value("good\r\nbad"));
}

TEST(Fields, LinesKeepTheirOrder) {
  std::vector<Field> const lines{line("Cache-Control", "max-age=60"), line("X-A", "1"), line("cache-control", "private"),
                                 line("x-a", "2"), line("Host", "h")};
  Fields const fields(lines);
  EXPECT_EQ(fields.size(), 5U);
  EXPECT_FALSE(fields.empty());
  EXPECT_TRUE(fields.has(FieldId::host));
  EXPECT_FALSE(fields.has(FieldId::age));
  EXPECT_EQ(fields.count(FieldId::cache_control), 2U);
  EXPECT_EQ(fields.first(FieldId::cache_control), "max-age=60");
  EXPECT_EQ(fields.first(FieldId::age), std::nullopt);
  EXPECT_EQ(fields.first("CACHE-CONTROL"), "max-age=60");
  EXPECT_EQ(fields.first("X-a"), "1");
  EXPECT_EQ(fields.first("X-B"), std::nullopt) << "`other` is compared by text";
  EXPECT_EQ(fields.only(FieldId::host), "h");
  EXPECT_EQ(fields.only(FieldId::cache_control), std::nullopt);
  EXPECT_EQ(fields.only(FieldId::age), std::nullopt);
}

TEST(Fields, LinesCombine) {  // RFC 9110 5.3
  std::vector<Field> const lines{line("Vary", "a"), line("X-A", "1"), line("vary", ""), line("X-B", "3"), line("x-a", "2")};
  Fields const fields(lines);
  std::string out = "|";
  EXPECT_TRUE(fields.append_combined(FieldId::vary, out));
  EXPECT_EQ(out, "|a, ");
  out.clear();
  EXPECT_TRUE(fields.append_combined("X-a", out));
  EXPECT_EQ(out, "1, 2");
  EXPECT_FALSE(fields.append_combined("X-C", out));
  EXPECT_FALSE(fields.append_combined(FieldId::age, out));
  EXPECT_EQ(out, "1, 2");
}

TEST(Fields, ListContains) {
  struct Row {
    std::string_view name;
    std::vector<std::string_view> values;
    bool contains;
  };
  for (auto const& row : {
           Row{"alone", {"close"}, true},
           Row{"any case", {"Close"}, true},
           Row{"among others", {"keep-alive ,\tclose, x"}, true},
           Row{"on a later line", {"keep-alive", "x, close"}, true},
           Row{"no line", {}, false},
           Row{"empty line", {""}, false},
           Row{"part of a member", {"closed, xclose"}, false},
           Row{"with a parameter it is another member", {"close;x"}, false},
           Row{"inside a quoted string", {R"(x="a, close, b")"}, false},
           Row{"behind a quoted string", {R"(x="a\", b", close)"}, true},
           Row{"behind a quote that nothing closes", {R"(x="a, close)"}, true},
           Row{"a quote does not reach into the next line", {R"(x="a)", R"(close, ")"}, true},
       }) {
    SCOPED_TRACE(row.name);
    std::vector<Field> lines{line("Upgrade", "close2")};
    for (auto const value : row.values) lines.push_back(line("Connection", value));
    EXPECT_EQ(Fields(lines).list_contains(FieldId::connection, "close"), row.contains);
  }
}

TEST(Members, Split) {  // RFC 9110 5.6.1
  using List = std::vector<std::string>;
  struct Row {
    std::string_view name;
    std::string_view list;
    List members;
  };
  for (auto const& row : {
           Row{"empty", "", {}},
           Row{"empty members", " ,, ,\t", {}},
           Row{"trimmed", " a ,\tb c\t", {"a", "b c"}},
           Row{"quoted comma", R"(a="x,y",b)", {R"(a="x,y")", "b"}},
           Row{"escaped quote", R"("\",",b)", {R"("\",")", "b"}},
           Row{"unclosed quote", R"(a, "b, c)", {"a", "\"b", "c"}},
           Row{"unclosed quote that ends in a backslash", R"(a, "b\)", {"a", R"("b\)"}},
           Row{"escaped end", R"("a, b\")", {"\"a", R"(b\")"}},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(members(row.list), row.members);
  }
}

TEST(Members, VisitCanStop) {
  int calls = 0;
  for_each_member("a, b, c", [&calls](std::string_view) { return ++calls < 2; });
  EXPECT_EQ(calls, 2);
}

TEST(Members, ManyOpenQuotesTakeLinearTime) {
  std::string list;
  for (int i = 0; i < 500'000; ++i) list += "\"\\";
  EXPECT_EQ(members(list).size(), 1U);
}

TEST(Members, NoByteOutsideQuotesIsLost) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run every time
  std::string_view const alphabet = "a,\"\\ ";
  for (int round = 0; round < 20'000; ++round) {
    std::string list;
    for (auto size = random() % 12; size > 0; --size) list.push_back(alphabet[random() % alphabet.size()]);
    std::size_t letters = 0;
    for (auto const& member : members(list))
      letters += static_cast<std::size_t>(std::count(member.begin(), member.end(), 'a'));
    EXPECT_EQ(letters, static_cast<std::size_t>(std::count(list.begin(), list.end(), 'a'))) << list;
  }
}

TEST(FieldArena, OwnsWhatItIsGiven) {
  FieldArena arena;
  {
    std::string name = "X-Tenant-With-A-Long-Name-Indeed", value = "  a value\t";
    arena.add(name, value);
    name.assign(name.size(), '!');
    value.assign(value.size(), '!');
  }
  arena.add("host", "h");
  arena.add(FieldId::via, "1.1 weir");
  FieldArena const moved = std::move(arena);
  std::vector<std::string> seen;
  for (Field const& field : moved.fields()) seen.push_back(std::string(field.name) + "=" + std::string(field.value));
  EXPECT_EQ(seen, (std::vector<std::string>{"X-Tenant-With-A-Long-Name-Indeed=a value", "host=h", "Via=1.1 weir"}));
  EXPECT_TRUE(moved.fields().has(FieldId::host));
}

// More than one block of memory, before and after it moves.
TEST(FieldArena, KeepsManyAndLongTexts) {
  FieldArena arena;
  auto const value = [](int i) {
    return std::string(static_cast<std::size_t>(i % 7 == 0 ? 3000 : i), 'v') + std::to_string(i);
  };
  for (int i = 0; i < 100; ++i) arena.add("X-" + std::to_string(i), value(i));
  FieldArena moved = std::move(arena);
  for (int i = 100; i < 200; ++i) moved.add("X-" + std::to_string(i), value(i));
  arena = FieldArena();
  arena.add("X-A", std::string(500, 'a'));
  ASSERT_EQ(moved.fields().size(), 200U);
  int i = 0;
  for (Field const& field : moved.fields()) {
    EXPECT_EQ(field.name, "X-" + std::to_string(i));
    EXPECT_EQ(field.value, value(i++));
  }
}

// RFC 9110 5.5, wherever in the eight bytes that are looked at together.
TEST(FieldValue, EveryByteAtEveryPlace) {
  for (std::size_t size = 1; size < 20; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[at] = static_cast<char>(byte);
        bool const good = byte == '\t' || (byte >= 0x20 && byte != 0x7F);
        EXPECT_EQ(is_field_value(text), good) << byte << " at " << at << " of " << size;
        auto const end = skip_field_value(text.data(), text.data() + size);
        EXPECT_EQ(static_cast<std::size_t>(end - text.data()), good ? size : at) << byte << " at " << at << " of " << size;
      }
    }
  }
}

TEST(FieldArena, RemovesByIdAndByText) {
  FieldArena arena;
  for (auto const name : {"X-A", "Age", "x-a", "X-B", "AGE"}) arena.add(name, name);
  arena.remove(FieldId::age);
  EXPECT_EQ(arena.fields().size(), 3U);
  arena.remove("X-a");
  EXPECT_EQ(arena.fields().size(), 1U);
  arena.remove("Age");
  arena.remove("X-C");
  EXPECT_TRUE(arena.fields().first("x-b"));
}

TEST(FieldArena, SetMayReadTheValueItReplaces) {
  FieldArena arena;
  arena.add(FieldId::host, "first.example");
  arena.add(FieldId::host, "second.example");
  arena.set(FieldId::host, arena.fields().first(FieldId::host)->substr(0, 5));
  EXPECT_EQ(arena.fields().only(FieldId::host), "first");
}

TEST(FieldArenaDeathTest, OtherHasNoName) {
  FieldArena arena;
  EXPECT_DEATH(arena.add(FieldId::other, "x"), "assertion failed");
  EXPECT_DEATH(arena.remove(FieldId::other), "assertion failed");
}

}  // namespace
}  // namespace weir::http
