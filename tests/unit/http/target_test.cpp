// Request targets and hosts. REQ-1, REQ-2 (absolute form, `*`, IPv6), KEY-2.
#include "weir/http/target.hpp"

#include <gtest/gtest.h>

namespace weir::http {
namespace {

using enum TargetForm;

TEST(Target, Accepted) {
  struct Row {
    std::string_view name;
    std::string_view target;
    TargetForm form;
    std::string_view scheme;
    std::string_view authority;
    std::string_view path;
    std::string_view query;
    bool has_query = false;
  };
  for (auto const& row : {
           Row{"root", "/", origin, "", "", "/", ""},
           Row{"path and query", "/a/b?c=d", origin, "", "", "/a/b", "c=d", true},
           Row{"empty query", "/a?", origin, "", "", "/a", "", true},
           Row{"second question mark", "/a?b?c", origin, "", "", "/a", "b?c", true},
           Row{"two slashes are a path", "//host/x", origin, "", "", "//host/x", ""},
           Row{"dot segments stay", "/a/../b/./c", origin, "", "", "/a/../b/./c", ""},
           Row{"bytes that RFC 3986 refuses", "/\"<>[\\]^`{|}~!?\"<>", origin, "", "", "/\"<>[\\]^`{|}~!", "\"<>", true},
           Row{"good escapes", "/%2F%ff%7e%01", origin, "", "", "/%2F%ff%7e%01", ""},
           Row{"bad escape in the query", "/a?b=%zz%&%0", origin, "", "", "/a", "b=%zz%&%0", true},
           Row{"zero escape in the query", "/a?%00", origin, "", "", "/a", "%00", true},
           Row{"scheme inside the query", "/a?u=http://x/", origin, "", "", "/a", "u=http://x/", true},
           Row{"asterisk", "*", asterisk, "", "", "*", ""},
           Row{"absolute", "http://h/a?b", absolute, "http", "h", "/a", "b", true},
           Row{"absolute, any case", "HTTPS://Host:8443/", absolute, "HTTPS", "Host:8443", "/", ""},
           Row{"absolute without a path", "http://h", absolute, "http", "h", "/", ""},
           Row{"absolute with a query alone", "http://h?q", absolute, "http", "h", "/", "q", true},
           Row{"absolute, IPv6", "http://[::1]:80/x", absolute, "http", "[::1]:80", "/x", ""},
           Row{"absolute, an at sign in the path", "http://h/@x", absolute, "http", "h", "/@x", ""},
           Row{"authority", "h:443", authority, "", "h:443", "", ""},
           Row{"authority, IPv6", "[::1]:443", authority, "", "[::1]:443", "", ""},
       }) {
    SCOPED_TRACE(row.name);
    auto const parsed = parse_target(row.target);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->form, row.form);
    EXPECT_EQ(parsed->scheme, row.scheme);
    EXPECT_EQ(parsed->authority, row.authority);
    EXPECT_EQ(parsed->path, row.path);
    EXPECT_EQ(parsed->query, row.query);
    EXPECT_EQ(parsed->has_query, row.has_query);
  }
}

TEST(Target, Refused) {
  struct Row {
    std::string_view name;
    std::string_view target;
  };
  for (auto const& row : {
           Row{"empty", ""},
           Row{"fragment", "/a#b"},
           Row{"fragment in the query", "/a?b#c"},
           Row{"space", "/a b"},
           Row{"tab", "/a\tb"},
           Row{"DEL", "/\x7F"},
           Row{"high byte", "/\xC3\xA4"},
           Row{"NUL", std::string_view("/a\0b", 4)},
           Row{"line end", "/a\r\nX: y"},
           Row{"high byte in the query", "/?\xFF"},
           Row{"bad escape in the path", "/%zz"},
           Row{"bad second digit", "/%2g"},
           Row{"cut escape", "/a%2"},
           Row{"percent at the end", "/a%"},
           Row{"second escape bad", "/%20%"},
           Row{"zero escape", "/a%00b"},
           Row{"zero escape behind a good one", "/%20%00"},
           Row{"bad escape in an absolute path", "http://h/%0"},
           Row{"relative path", "a/b"},
           Row{"question mark first", "?a"},
           Row{"name without a port", "host"},
           Row{"name with an empty port", "host:"},
           Row{"authority with a path", "host:80/a"},
           Row{"asterisk and more", "*a"},
           Row{"another scheme", "ftp://h/"},
           Row{"scheme alone", "http://"},
           Row{"one slash", "http:/h/"},
           Row{"no host", "http:///a"},
           Row{"no host but a port", "http://:80/a"},
           Row{"user information", "http://u@h/"},
           Row{"user and password", "http://u:p@h/"},
           Row{"bad port", "http://h:99999/"},
           Row{"escape in the host", "http://%68/"},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_FALSE(parse_target(row.target));
  }
}

TEST(Host, Accepted) {
  std::string const label(63, 'a');
  for (std::string const& host :
       {std::string("h"), std::string("Example.COM"), std::string("example.com."), std::string("a_b.example"),
        std::string("x-1~y"), std::string("192.0.2.1"), std::string("192.0.2.1:8080"), std::string("h:"), std::string("h:0"),
        std::string("h:65535"), std::string("h:00080"), std::string("[::]"), std::string("[2001:DB8::1]"),
        std::string("[::ffff:192.0.2.1]"), std::string("[::1]:"), std::string("[::1]:443"),
        std::string("xn--bcher-kva.example"), std::string(255, 'a'), std::string(255, 'a') + "."}) {
    EXPECT_TRUE(is_host(host)) << host;
  }
}

TEST(Host, Refused) {
  struct Row {
    std::string_view name;
    std::string_view host;
  };
  std::string const long_name(256, 'a');
  std::string const long_address = "[" + std::string(60, ':') + "]";
  for (auto const& row : {
           Row{"empty", ""},
           Row{"port alone", ":80"},
           Row{"dot alone", "."},
           Row{"dot and port", ".:80"},
           Row{"two dots at the end", "a.."},
           Row{"dot first", ".a"},
           Row{"empty label", "a..b"},
           Row{"space", "a b"},
           Row{"space around", " a"},
           Row{"tab", "a\t"},
           Row{"NUL", std::string_view("a\0", 2)},
           Row{"line end", "a\r\n"},
           Row{"DEL", "a\x7F"},
           Row{"high byte", "\xC3\xA4"},
           Row{"user", "u@h"},
           Row{"slash", "h/a"},
           Row{"question mark", "h?a"},
           Row{"fragment", "h#a"},
           Row{"backslash", "h\\a"},
           Row{"escape", "%41"},
           Row{"list", "a,b"},
           Row{"asterisk", "*.example"},
           Row{"port too large", "h:65536"},
           Row{"port of six digits", "h:000080"},
           Row{"port with a sign", "h:+80"},
           Row{"port with letters", "h:80a"},
           Row{"two ports", "h:80:80"},
           Row{"IPv6 without brackets", "::1"},
           Row{"open bracket", "[::1"},
           Row{"closed bracket", "::1]"},
           Row{"closed bracket in a name", "a]"},
           Row{"brackets around nothing", "[]"},
           Row{"brackets around a name", "[h]"},
           Row{"brackets around IPv4", "[192.0.2.1]"},
           Row{"two brackets", "[[::1]]"},
           Row{"text behind the brackets", "[::1]a"},
           Row{"text behind the brackets and a port", "[::1]a:80"},
           Row{"bad port behind brackets", "[::1]:x"},
           Row{"zone", "[fe80::1%eth0]"},
           Row{"future address", "[v1.a]"},
           Row{"nine groups", "[1:2:3:4:5:6:7:8:9]"},
           Row{"NUL in an address", std::string_view("[::1\0]", 6)},
           Row{"long name", long_name},
           Row{"long address", long_address},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_FALSE(is_host(row.host));
  }
}

TEST(Host, Normalized) {  // KEY-2
  struct Row {
    std::string_view host;
    std::string_view scheme;
    std::string_view normal;
  };
  for (auto const& row : {
           Row{"Example.COM", "http", "example.com"},
           Row{"example.com.", "http", "example.com"},
           Row{"example.com:80", "http", "example.com"},
           Row{"example.com.:80", "http", "example.com"},
           Row{"example.com:", "http", "example.com"},
           Row{"example.com:443", "http", "example.com:443"},
           Row{"example.com:443", "https", "example.com"},
           Row{"example.com:80", "https", "example.com:80"},
           Row{"[::AB]", "http", "[::ab]"},
           Row{"[::1]:80", "http", "[::1]"},
           Row{"[::1]:8080", "http", "[::1]:8080"},
       }) {
    SCOPED_TRACE(row.host);
    std::string out = "|";
    append_normalized_host(row.host, row.scheme, out);
    EXPECT_EQ(out, "|" + std::string(row.normal));
    std::string again;
    append_normalized_host(std::string_view(out).substr(1), row.scheme, again);
    EXPECT_TRUE(is_host(again));
    EXPECT_EQ(again, row.normal) << "a normal form is its own normal form";
  }
}

}  // namespace
}  // namespace weir::http
