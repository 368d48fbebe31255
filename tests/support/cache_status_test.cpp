#include "support/cache_status.hpp"

#include <gtest/gtest.h>

namespace weir::test {
namespace {

Response with(Fields fields) {
  Response response;
  response.fields = std::move(fields);
  return response;
}

TEST(CacheStatus, ReadsParameters) {
  CacheStatus const s =
      cache_status(with({{"Cache-Status", "Weir; fwd=uri-miss;fwd-status=200; stored; collapsed=?0; ttl=-3"}}));
  EXPECT_EQ(s.name, "Weir");
  EXPECT_EQ(s.fwd(), "uri-miss");
  EXPECT_EQ(s.value("fwd-status"), "200");
  EXPECT_TRUE(s.stored());
  EXPECT_TRUE(s.has("collapsed"));
  EXPECT_FALSE(s.collapsed());
  EXPECT_FALSE(s.hit());
  EXPECT_EQ(s.ttl(), -3);
}

TEST(CacheStatus, TakesTheLastMemberOverAllLines) {
  Response const r =
      with({{"Cache-Status", "\"a, b; c\"; hit, Middle; fwd=miss"}, {"cache-status", "Weir; hit; detail=\"x\\\"y\""}});
  auto const all = parse_cache_status(r.value("Cache-Status"));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "a, b; c");
  EXPECT_TRUE(all[0].hit());
  EXPECT_EQ(all[1].fwd(), "miss");
  EXPECT_EQ(cache_status(r).name, "Weir");
  EXPECT_EQ(cache_status(r).detail(), "x\"y");
}

TEST(CacheStatus, IsEmptyWithoutTheField) {
  EXPECT_EQ(cache_status(with({})).name, "");
  EXPECT_EQ(cache_status(with({})).ttl(), std::nullopt);
}

TEST(Age, IsOneNumber) {
  EXPECT_EQ(age(with({{"Age", "17"}})), 17);
  EXPECT_EQ(age(with({})), -1);
  EXPECT_EQ(age(with({{"Age", "1"}, {"Age", "1"}})), -1);
  EXPECT_EQ(age(with({{"Age", "1s"}})), -1);
}

}  // namespace
}  // namespace weir::test
