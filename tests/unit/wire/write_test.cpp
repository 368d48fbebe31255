#include "weir/wire/write.hpp"

#include <gtest/gtest.h>

#include "reading.hpp"

namespace weir::wire {
namespace {

using namespace std::string_literals;

std::string status_line(int status, std::string_view reason) {
  std::string out;
  append_status_line(out, status, reason);
  return out;
}

TEST(Write, StatusLine) {
  EXPECT_EQ(status_line(200, "OK"), "HTTP/1.1 200 OK\r\n");
  EXPECT_EQ(status_line(999, ""), "HTTP/1.1 999 \r\n");
  EXPECT_EQ(status_line(407, "tr\xC3\xA8s"), "HTTP/1.1 407 tr\xC3\xA8s\r\n");
}

// PITFALLS: what splits a head is not written
TEST(Write, StatusLineLeavesOutAReasonThatSplits) {
  std::string out;
  EXPECT_FALSE(append_status_line(out, 200, "OK\r\nX: y"));
  EXPECT_EQ(out, "HTTP/1.1 200 \r\n");
  EXPECT_TRUE(append_status_line(out, 200, "OK"));
}

TEST(Write, RequestLine) {
  std::string out;
  EXPECT_TRUE(append_request_line(out, "GET", "/a", "b=%zz?", true));
  EXPECT_TRUE(append_request_line(out, "M-SEARCH", "/a", "", true));
  EXPECT_TRUE(append_request_line(out, "OPTIONS", "*", "", false));
  EXPECT_EQ(out, "GET /a?b=%zz? HTTP/1.1\r\nM-SEARCH /a? HTTP/1.1\r\nOPTIONS * HTTP/1.1\r\n");
}

struct BadLine {
  std::string name, method, path, query;
};

TEST(Write, RequestLineRefusesWhatSplits) {
  for (auto const& row : std::vector<BadLine>{{"method empty", "", "/", ""},
                                              {"method with a space", "GET /x", "/", ""},
                                              {"method with a line break", "GET\r\n", "/", ""},
                                              {"path empty", "GET", "", ""},
                                              {"path with a space", "GET", "/ HTTP/1.1", ""},
                                              {"path with a line break", "GET", "/\r\nX: y", ""},
                                              {"path with a question mark", "GET", "/a?b", ""},
                                              {"path with NUL", "GET", "/\0"s, ""},
                                              {"path with a fragment", "GET", "/#", ""},
                                              {"path with a high byte", "GET", "/\xE9", ""},
                                              {"query with a space", "GET", "/", "a b"},
                                              {"query with a line feed", "GET", "/", "a\nb"}}) {
    SCOPED_TRACE(row.name);
    std::string out;
    EXPECT_FALSE(append_request_line(out, row.method, row.path, row.query, true));
    EXPECT_EQ(out, "");
  }
}

TEST(Write, Fields) {
  std::string out;
  EXPECT_TRUE(append_field(out, "X", "a \xFF\tb"));
  EXPECT_TRUE(append_field(out, "Empty", ""));
  EXPECT_TRUE(append_field(out, "Age", std::uint64_t{0}));
  EXPECT_TRUE(append_field(out, "Content-Length", ~std::uint64_t{0}));
  EXPECT_EQ(out, "X: a \xFF\tb\r\nEmpty: \r\nAge: 0\r\nContent-Length: 18446744073709551615\r\n");
}

struct BadField {
  std::string name, field, value;
};

TEST(Write, FieldsThatSplitAreNotWritten) {
  for (auto const& row : std::vector<BadField>{{"name empty", "", "y"},
                                               {"name with a space", "X ", "y"},
                                               {"name with a colon", "X:", "y"},
                                               {"name with a line break", "X\r\nY", "y"},
                                               {"value with CR LF", "X", "y\r\nZ: w"},
                                               {"value with CR", "X", "y\rz"},
                                               {"value with LF", "X", "y\nz"},
                                               {"value with NUL", "X", "y\0z"s}}) {
    SCOPED_TRACE(row.name);
    std::string out = "before";
    EXPECT_FALSE(append_field(out, row.field, row.value));
    EXPECT_EQ(out, "before");
  }
  std::string out;
  EXPECT_FALSE(append_field(out, "X Y", std::uint64_t{3}));
  EXPECT_EQ(out, "");
}

// What is written reads back as it was meant.
TEST(Write, ReadsBack) {
  std::string request;
  append_request_line(request, "PUT", "/a", "b", true);
  append_field(request, "Host", "a");
  append_field(request, "Content-Length", std::uint64_t{5});
  request += "\r\n";
  RequestReader requests;
  auto const head = requests.read(request);
  ASSERT_EQ(step_name(head.step), "ready");
  EXPECT_EQ(head.request.target, "/a?b");
  EXPECT_EQ(head.request.framing.length, 5u);

  std::string response;
  append_status_line(response, 599, "");
  append_field(response, "Content-Length", std::uint64_t{0});
  response += "\r\n";
  ResponseReader responses;
  EXPECT_EQ(responses.read(response).response.status, 599);
}

}  // namespace
}  // namespace weir::wire
