// The client of the sub-commands against the listener itself (LCY-1, OBS-5).
#include "weir/admin/client.hpp"

#include <gtest/gtest.h>

#include "fixture.hpp"

namespace weir::admin {
namespace {

class ClientCalls : public AdminTest {
 protected:
  Order order(std::string target, std::string method = "GET") {
    Order order;
    order.address = "127.0.0.1:" + std::to_string(server_->port());
    order.target = std::move(target);
    order.method = std::move(method);
    return order;
  }
};

TEST_F(ClientCalls, ShowTheirTokenAndBody) {  // LCY-1, OBS-5
  settings_.token_file = write_file("token", "s3cret\n");
  std::string body;
  router_more_ = {.method = "PUT", .path = "/v1/echo", .changes = true, .handler = [&](Call const& call) {
                    body = call.body;
                    return json(200, std::string(100'000, 'x'));
                  }};
  open();
  auto asked = order("/v1/echo", "PUT");
  asked.body = "{}";
  EXPECT_EQ(call(asked)->status, 401);
  asked.token = "s3cret";
  auto const reply = call(asked);
  ASSERT_TRUE(reply) << reply.error();
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->body.size(), 100'000U);
  EXPECT_EQ(body, "{}");
  auto drain = order("/v1/drain", "POST");
  drain.token = "s3cret";
  EXPECT_EQ(call(drain)->status, 202);
  EXPECT_EQ(drains_, 1);
}

TEST_F(ClientCalls, ReachUnixSocketsAndNames) {  // LCY-1
  open();
  auto named = order("/v1/config");
  named.address.replace(0, 9, "localhost");
  auto const by_name = call(named);
  ASSERT_TRUE(by_name) << by_name.error();  // of a machine that does not know `localhost`
  EXPECT_EQ(by_name->status, 200);
  settings_.listen = "unix:" + temporary("socket");
  open();
  auto asked = order("/v1/config");
  asked.address = settings_.listen;
  EXPECT_EQ(call(asked)->status, 200);
}

TEST_F(ClientCalls, SayWhyNobodyAnswers) {  // LCY-1
  open();
  auto const gone = order("/").address;
  server_.reset();
  for (auto const& address : {gone, std::string("unix:/nowhere"), std::string("nowhere"), std::string("a:"),
                              std::string(":1"), std::string("127.0.0.1:0"), std::string("127.0.0.1:65536")}) {
    Order asked;
    asked.address = address;
    asked.target = "/v1/stats";
    auto const reply = call(asked);
    ASSERT_FALSE(reply) << address;
    EXPECT_TRUE(reply.error().starts_with(address + ' ')) << reply.error();
  }
}

TEST(Client, EscapesForQueries) {  // LCY-1
  EXPECT_EQ(escaped("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(escaped("a b/\xC3\xBC&%+"), "a%20b%2F%C3%BC%26%25%2B");
  EXPECT_EQ(query_values("h=" + escaped("a: b&h=") + "&x=1&h=2", "h"), (std::vector<std::string>{"a: b&h=", "2"}));
  EXPECT_EQ(query_values("h=%4", "h"), std::nullopt);
  EXPECT_TRUE(query_values("x=1", "h")->empty());
}

}  // namespace
}  // namespace weir::admin
