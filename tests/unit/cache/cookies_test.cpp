// FWD-3: which cookies are credentials and which are forwarded.
#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/cookies.hpp"

namespace weir::cache::test {
namespace {

struct Row {
  char const* name;
  char const* fields;
  bool credential;
  char const* forwarded;
  CookieMode mode = CookieMode::credential;
};
void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

std::string forwarded(http::Fields fields, KeyRules const& key, CookieRules const& rules) {
  std::string out;
  for_each_cookie(fields, [&](Cookie const& cookie) {
    if (use_of(cookie, key, rules) != CookieUse::ignored) out.append(out.empty() ? "" : "; ").append(cookie.text);
    return true;
  });
  return out;
}

class Cookies : public testing::TestWithParam<Row> {};

TEST_P(Cookies, AreKeyedIgnoredOrCredentials) {  // FWD-3, KEY-4
  Row const& row = GetParam();
  WireRequest const wire(std::string("GET /\nHost: a\n") + row.fields);
  KeyRules key;
  key.cookies = {"lang", "_ga_keyed"};
  CookieRules rules{.mode = row.mode, .ignore = analytics_cookies()};
  EXPECT_EQ(classify_cookies(wire.fields(), key, rules).has_credential, row.credential);
  EXPECT_EQ(forwarded(wire.fields(), key, rules), row.forwarded);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Cookies,
    testing::Values(
        Row{"none", "", false, ""}, Row{"an empty field", "Cookie:", false, ""},
        Row{"session", "Cookie: session=1", true, "session=1"},
        Row{"analytics", "Cookie: _ga=1; _gid=2; _gat_x=3; _fbp=4; __utma=5; _hjid=6; _pk_id.1=7", false, ""},
        Row{"exact names are exact", "Cookie: _gidx=1", true, "_gidx=1"}, Row{"keyed", "Cookie: lang=de", false, "lang=de"},
        Row{"keyed goes before ignored", "Cookie: _ga_keyed=1; _ga=2", false, "_ga_keyed=1"},
        Row{"mixed", "Cookie: _ga=1; session=2 ;lang=de", true, "session=2; lang=de"},
        Row{"credential behind others", "Cookie: lang=de\nCookie: _ga=1\nCookie: s=1", true, "lang=de; s=1"},
        Row{"names respect case", "Cookie: Lang=de", true, "Lang=de"}, Row{"without a name", "Cookie: lang", true, "lang"},
        Row{"an empty name", "Cookie: =lang", true, "=lang"}, Row{"empty pieces", "Cookie: ; ;lang=de;", false, "lang=de"},
        Row{"values may hold equals signs", "Cookie: lang=a=b", false, "lang=a=b"},
        Row{"a comma does not begin a cookie", "Cookie: lang=de,session=1", false, "lang=de,session=1"},
        Row{"mode ignore", "Cookie: session=1; lang=de; odd", false, "lang=de", CookieMode::ignore},
        Row{"mode bypass still tells", "Cookie: session=1", true, "session=1", CookieMode::bypass}),
    row_name);

// COA-8: where the whole field is keyed nothing in it is a credential; what is ignored still changes nothing.
TEST(Cookies, KeyedAsAField) {
  WireRequest const wire("GET /\nHost: a\nCookie: _ga=1; session=2");
  KeyRules key;
  key.headers = {"cookie"};
  CookieRules rules{.ignore = analytics_cookies()};
  EXPECT_FALSE(classify_cookies(wire.fields(), key, rules).has_credential);
  EXPECT_EQ(forwarded(wire.fields(), key, rules), "session=2");
}

// FWD-2: in strict mode only what is keyed is left, and so nothing is a credential.
TEST(Cookies, OnlyKeyed) {
  WireRequest const wire("GET /\nHost: a\nCookie: lang=de; session=2");
  KeyRules key;
  key.cookies = {"lang"};
  CookieRules const rules{.ignore = {}, .only_keyed = true};
  EXPECT_FALSE(classify_cookies(wire.fields(), key, rules).has_credential);
  EXPECT_EQ(forwarded(wire.fields(), key, rules), "lang=de");
}

}  // namespace
}  // namespace weir::cache::test
