// Where values of the store's protocol end, and what stands in them.
#include "support/resp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::test {
namespace {

using Is = ValueExtent::Is;
using testing::ElementsAre;

TEST(Resp, WritesCommands) {
  EXPECT_EQ(write_command({"SET", "k", ""}), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n");
  EXPECT_THAT(scalars(write_command({"SET", "a\r\nb", ""})), ElementsAre("SET", "a\r\nb", ""));
}

TEST(Resp, FindsTheEndOfEveryKindOfValue) {
  for (std::string const value :
       {"+OK\r\n", "-ERR no\r\n", ":-3\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n", "*0\r\n",
        "*2\r\n:1\r\n*1\r\n$1\r\nx\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(12\r\n", "!3\r\nERR\r\n", "=5\r\ntxt:x\r\n",
        "~1\r\n:1\r\n", ">2\r\n+a\r\n+b\r\n", "%1\r\n+k\r\n*1\r\n:1\r\n", "|1\r\n+k\r\n+v\r\n:7\r\n"}) {
    for (std::size_t size = 0; size < value.size(); ++size)
      EXPECT_EQ(first_value(value.substr(0, size)).is, Is::partial) << value << size;
    ValueExtent const extent = first_value(value + "+more");
    EXPECT_EQ(extent.is, Is::whole) << value;
    EXPECT_EQ(extent.size, value.size()) << value;
  }
}

TEST(Resp, KnowsWhatIsNoValue) {
  for (char const* bytes : {"GET / HTTP/1.1\r\n", "\r\n", "$x\r\n", "$-2\r\n", "$\r\n", "$1\r\nabc", "*1\r\nx"})
    EXPECT_EQ(first_value(bytes).is, Is::malformed) << bytes;
}

TEST(Resp, SaysWhatStandsInAReply) {
  EXPECT_EQ(reply_text("$5\r\nhello\r\n"), "hello");
  EXPECT_EQ(reply_text("-OOM command not allowed\r\n"), "-OOM command not allowed");
  EXPECT_EQ(reply_text("*3\r\n$1\r\na\r\n$-1\r\n*1\r\n:7\r\n"), "a\n(nil)\n7");
  EXPECT_THAT(scalars("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n", 1), ElementsAre("message"));
}

}  // namespace
}  // namespace weir::test
