// Asks /v1/explain what would become of a request, and compares that with what then came.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "scenario/answers.hpp"
#include "weir/admin/client.hpp"

namespace weir::test {

inline std::string query_for(std::string const& path, Fields const& fields, std::string const& method = "GET") {
  auto query = "?url=" + admin::escaped("http://weir.test" + path) + "&method=" + method;
  for (auto const& field : fields) query += "&header=" + admin::escaped(field.name + ": " + field.value);
  return query;
}

inline boost::json::object explain(Weir& weir, std::string const& path, Fields const& fields = {},
                                   std::string const& method = "GET") {
  auto const answer = get(weir.admin_port(), "/v1/explain" + query_for(path, fields, method));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return boost::json::parse(answer.body).as_object();
}

inline std::string text(boost::json::value const& value) {
  return value.is_string() ? std::string(value.as_string()) : std::string();
}

// What was told, against what came: the same status of Weir's own, or the same word of Cache-Status as far as it was known.
inline void expect_agreement(boost::json::object const& told, Response const& came) {
  auto const foretold = parse_cache_status(text(told.at("cache_status"))).front();
  auto const status = cache_status(came);
  auto const decision = text(told.at("decision"));
  SCOPED_TRACE(boost::json::serialize(told));
  if (decision == "refuse") {
    EXPECT_EQ(told.at("status").as_int64(), came.status);
    return;
  }
  EXPECT_EQ(decision == "hit" || foretold.hit(), status.hit());
  EXPECT_EQ(foretold.fwd(), status.fwd());
  EXPECT_EQ(foretold.detail(), status.detail());
  EXPECT_EQ(decision == "join", status.collapsed());
  if (foretold.ttl()) {
    EXPECT_LE(std::abs(*foretold.ttl() - *status.ttl()), 1);  // a second may have passed
  }
}

}  // namespace weir::test
