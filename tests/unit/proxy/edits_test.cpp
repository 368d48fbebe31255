// HDR-1: edits of fields and of heads.
#include <gtest/gtest.h>

#include "weir/proxy/edits.hpp"

namespace weir::proxy::test {
namespace {

config::HeaderEdits const edits{{{"X-Set", "1"}, {"Server", "weir"}}, {"x-gone", "Via"}};

// HDR-1
TEST(Edits, Fields) {
  std::vector<http::Field> const came{{http::FieldId::other, "X-SET", "0"},
                                      {http::FieldId::accept, "Accept", "a"},
                                      {http::FieldId::other, "X-Gone", "b"},
                                      {http::FieldId::other, "X-Gone-Not", "c"},
                                      {http::FieldId::other, "x-set", "2"}};
  std::vector<http::Field> out{{http::FieldId::other, "left", "over"}};
  edit_fields(came, edits, out);
  std::string text;
  for (auto const& field : out) text.append(field.name).append("=").append(field.value).append(" ");
  EXPECT_EQ(text, "Accept=a X-Gone-Not=c X-Set=1 Server=weir ");
  EXPECT_EQ(out.back().id, http::FieldId::server);
}

// HDR-1
TEST(Edits, Head) {
  std::string head = "HTTP/1.1 200 OK\r\nServer: nginx\r\nx-gone: a\r\nA: b: c\r\nVIA: 1.1 x\r\nEmpty:\r\nX-Gone: d\r\n";
  edit_head(head, edits);
  EXPECT_EQ(head, "HTTP/1.1 200 OK\r\nA: b: c\r\nEmpty:\r\nX-Set: 1\r\nServer: weir\r\n");
  edit_head(head, {});
  EXPECT_EQ(head, "HTTP/1.1 200 OK\r\nA: b: c\r\nEmpty:\r\nX-Set: 1\r\nServer: weir\r\n");
  std::string bare = "HTTP/1.1 204 No Content\r\n";
  edit_head(bare, edits);
  EXPECT_EQ(bare, "HTTP/1.1 204 No Content\r\nX-Set: 1\r\nServer: weir\r\n");
}

}  // namespace
}  // namespace weir::proxy::test
