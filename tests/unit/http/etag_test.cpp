// Entity tags (RFC 9110 8.8.3, 13.1.2). SRV-1, SRV-2, SRV-3.
#include "weir/http/etag.hpp"

#include <string>

#include <gtest/gtest.h>

namespace weir::http {
namespace {

TEST(Etag, Strong) {
  struct Row {
    std::string_view name;
    std::string_view tag;
    bool strong;
  };
  for (auto const& row : {
           Row{"plain", "\"a\"", true},
           Row{"empty inside", "\"\"", true},
           Row{"all it may hold", "\"!#~\\\x80\xFF,\"", true},
           Row{"weak", "W/\"a\"", false},
           Row{"unquoted", "a", false},
           Row{"empty", "", false},
           Row{"one quote", "\"", false},
           Row{"open", "\"a", false},
           Row{"closed only", "a\"", false},
           Row{"space inside", "\"a b\"", false},
           Row{"quote inside", "\"a\"b\"", false},
           Row{"DEL inside", "\"\x7F\"", false},
           Row{"control inside", "\"\x01\"", false},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(is_strong_etag(row.tag), row.strong);
  }
}

TEST(Etag, Match) {
  struct Row {
    std::string_view name;
    std::string_view a;
    std::string_view b;
    bool strong;
    bool weak;
  };
  for (auto const& row : {
           Row{"RFC 9110, both weak", "W/\"1\"", "W/\"1\"", false, true},
           Row{"RFC 9110, both weak and different", "W/\"1\"", "W/\"2\"", false, false},
           Row{"RFC 9110, one weak", "W/\"1\"", "\"1\"", false, true},
           Row{"RFC 9110, both strong", "\"1\"", "\"1\"", true, true},
           Row{"case matters", "\"a\"", "\"A\"", false, false},
           Row{"small w is no prefix", "w/\"1\"", "\"1\"", false, false},
           Row{"unquoted is its own text", "1", "1", false, true},
           Row{"unquoted is not the quoted one", "1", "\"1\"", false, false},
           Row{"W/ before unquoted text is part of it", "W/1", "1", false, false},
           Row{"nothing matches nothing", "", "", false, false},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(strong_match(row.a, row.b), row.strong);
    EXPECT_EQ(strong_match(row.b, row.a), row.strong);
    EXPECT_EQ(weak_match(row.a, row.b), row.weak);
    EXPECT_EQ(weak_match(row.b, row.a), row.weak);
  }
}

TEST(Etag, AnyWeakMatch) {
  struct Row {
    std::string_view name;
    std::string_view list;
    std::string_view tag;
    bool match;
  };
  for (auto const& row : {
           Row{"star", " * ", "\"a\"", true},
           Row{"star matches a response without a tag", "*", "", true},
           Row{"star among others is no wildcard", "*, \"b\"", "\"a\"", false},
           Row{"alone", "\"a\"", "\"a\"", true},
           Row{"last", "\"b\", W/\"c\" ,\t\"a\"", "\"a\"", true},
           Row{"weak in the list", "W/\"a\"", "\"a\"", true},
           Row{"weak stored", "\"a\"", "W/\"a\"", true},
           Row{"none", "\"b\", \"c\"", "\"a\"", false},
           Row{"empty members", ",, ,\"a\",", "\"a\"", true},
           Row{"empty", "", "\"a\"", false},
           Row{"empty against nothing", "", "", false},
           Row{"no stored tag", "\"a\"", "", false},
           Row{"comma inside a tag", "\"x,a\", \"b\"", "\"x,a\"", true},
           Row{"a tag's part is no member", "\"x,a\"", "a\"", false},
           Row{"a backslash escapes nothing", R"("x\", "a")", "\"a\"", true},
           Row{"backslash in the stored tag", R"("x\")", R"("x\")", true},
           Row{"unquoted", "b, a", "a", true},
           Row{"unquoted is not quoted", "a", "\"a\"", false},
           Row{"text behind a tag spoils it", "\"a\"b", "\"a\"", false},
           Row{"text behind a tag ends at the comma", "\"b\"c, \"a\"", "\"a\"", true},
           Row{"a quote that nothing closes", "\"b, a", "a", true},
           Row{"weak prefix alone", "W/", "W/", true},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(any_weak_match(row.list, row.tag), row.match);
  }
}

TEST(Etag, LongListsTakeLinearTime) {
  std::string list;
  for (int i = 0; i < 200'000; ++i) list += "\"b\",";
  EXPECT_TRUE(any_weak_match(list + "\"a\"", "\"a\""));
  EXPECT_FALSE(any_weak_match(std::string(200'000, ',') + std::string(200'000, '"'), "\"a\""));
}

}  // namespace
}  // namespace weir::http
