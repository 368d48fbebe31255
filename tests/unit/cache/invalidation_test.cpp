// SRV-6: what an unsafe request makes invalid (RFC 9111 4.4).
#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"
#include "weir/cache/invalidation.hpp"

namespace weir::cache::test {
namespace {

TEST(Invalidates, SuccessOfUnsafeMethodsOnly) {  // SRV-6
  using enum http::Method;
  for (auto const method : {post, put, delete_, patch, other, purge}) {
    EXPECT_TRUE(invalidates(method, 200));
    EXPECT_TRUE(invalidates(method, 204));
    EXPECT_TRUE(invalidates(method, 399));
    EXPECT_FALSE(invalidates(method, 199));
    EXPECT_FALSE(invalidates(method, 400));
    EXPECT_FALSE(invalidates(method, 500));
  }
  for (auto const method : {get, head, options, trace, query}) EXPECT_FALSE(invalidates(method, 200));
}

struct Row {
  char const* name;
  char const* request;
  char const* response;
  std::vector<std::string> expected;
};
void PrintTo(Row const& row, std::ostream* out) { *out << row.name; }

class Locations : public testing::TestWithParam<Row> {};

TEST_P(Locations, OfTheSameOrigin) {  // SRV-6
  WireRequest const request(GetParam().request);
  WireResponse const response(std::string("201 Created\n") + GetParam().response);
  std::vector<std::string> found;
  for (auto const& uri : invalidated_locations(request.request, response.response))
    found.push_back(uri.path + (uri.has_query ? "?" + uri.query : ""));
  EXPECT_EQ(found, GetParam().expected);
}

constexpr auto post = "POST /a/b?q=1\nHost: shop.example";

INSTANTIATE_TEST_SUITE_P(
    Table, Locations,
    testing::Values(Row{"none", post, "", {}}, Row{"absolute path", post, "Location: /x?y", {"/x?y"}},
                    Row{"content location", post, "Content-Location: /x", {"/x"}},
                    Row{"both", post, "Content-Location: /c\nLocation: /l", {"/l", "/c"}},
                    Row{"twice is neither", post, "Location: /l\nLocation: /m", {}},
                    Row{"absolute", post, "Location: http://shop.example/x", {"/x"}},
                    Row{"absolute, host in other words", post, "Location: HTTP://SHOP.example.:80/x", {"/x"}},
                    Row{"absolute without a path", post, "Location: http://shop.example", {"/"}},
                    Row{"absolute, query without a path", post, "Location: http://shop.example?z", {"/?z"}},
                    Row{"another host", post, "Location: http://other.example/x", {}},
                    Row{"another port", post, "Location: http://shop.example:81/x", {}},
                    Row{"another scheme", post, "Location: https://shop.example/x", {}},
                    Row{"https of its own", "PUT https://h/a", "Location: https://h:443/x", {"/x"}},
                    Row{"http of https", "PUT https://h/a", "Location: http://h/x", {}},
                    Row{"without a scheme", post, "Location: //shop.example/x", {"/x"}},
                    Row{"without a scheme, another host", post, "Location: //other/x", {}},
                    Row{"relative", post, "Location: c", {"/a/c"}}, Row{"relative upwards", post, "Location: ../c", {"/c"}},
                    Row{"relative above the root", post, "Location: ../../../c", {"/c"}},
                    Row{"relative, here", post, "Location: ./c/.", {"/a/c/"}},
                    Row{"relative, up at the end", post, "Location: c/..", {"/a/"}},
                    Row{"dots in an absolute path", post, "Location: /x/../y/./z", {"/y/z"}},
                    Row{"query alone", post, "Location: ?z", {"/a/b?z"}},
                    Row{"empty is the target itself", post, "Location:", {"/a/b?q=1"}},
                    Row{"fragment", post, "Location: /x?y#z", {"/x?y"}},
                    Row{"fragment alone", post, "Location: #z", {"/a/b?q=1"}},
                    Row{"a colon behind a slash is no scheme", post, "Location: /x:y", {"/x:y"}},
                    Row{"a colon in the query is no scheme", post, "Location: ?a:b", {"/a/b?a:b"}},
                    Row{"mail", post, "Location: mailto:a@shop.example", {}},
                    Row{"no scheme before a colon", post, "Location: 1:2", {}}, Row{"opaque", post, "Location: http:x", {}},
                    Row{"no host", post, "Location: http:///x", {}},
                    Row{"a path no request can ask", post, "Location: /x%zz", {}},
                    Row{"a path with a space", post, "Location: /x y", {}}),
    row_name);

TEST(ContentLocation, NamesTheTarget) {  // SRV-6, RFC 9110 9.3.3
  WireRequest const request(post);
  auto const names = [&](char const* fields) {
    WireResponse const response(std::string("200 OK\n") + fields);
    return content_location_is_target(request.request, response.response);
  };
  EXPECT_TRUE(names("Content-Location: /a/b?q=1"));
  EXPECT_TRUE(names("Content-Location: http://shop.example/a/b?q=1"));
  EXPECT_FALSE(names("Content-Location: /a/b"));
  EXPECT_FALSE(names("Content-Location: /a/c?q=1"));
  EXPECT_FALSE(names("Content-Location: http://other/a/b?q=1"));
  EXPECT_FALSE(names("Location: /a/b?q=1"));
  EXPECT_FALSE(names(""));
}

}  // namespace
}  // namespace weir::cache::test
