// LCY-1: the security page speaks of every setting that there is, or this list does, and of none that there is not.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "loading.hpp"
#include "weir/config/reference.hpp"

namespace weir::config::test {
namespace {

using testing::ElementsAreArray;

// Their values are no weaker or stronger than their defaults, for others than the operator.
std::set<std::string> const harmless{"version",
                                     "workers",
                                     "drain.timeout",
                                     "admin.ready_grace",
                                     "admin.token_file",
                                     "store.password_file",
                                     "store.type",
                                     "store.max_bytes",
                                     "store.username",
                                     "store.max_object",
                                     "store.near.max_bytes",
                                     "purge.max_epochs",
                                     "miss_rate.enabled",
                                     "miss_rate.window",
                                     "miss_rate.threshold_percent",
                                     "log.format",
                                     "log.file",
                                     "log.access_format",
                                     "breaker.window",
                                     "breaker.open",
                                     "breaker.open_max",
                                     "coalesce.leader_max_age",
                                     "coalesce.follower_max_wait",
                                     "coalesce.hit_for_miss_ttl",
                                     "coalesce.hold_time",
                                     "coalesce.window_stall",
                                     "coalesce.cluster",
                                     "coalesce.cluster_max_wait",
                                     "freshness.jitter",
                                     "freshness.early_refresh",
                                     "listen[].address",
                                     "listen[].tls.certificates[].cert",
                                     "origins.*.balance",
                                     "origins.*.health_check.path",
                                     "origins.*.health_check.interval",
                                     "origins.*.health_check.timeout",
                                     "origins.*.pool.idle",
                                     "origins.*.pool.idle_time",
                                     "sites[].origin",
                                     "sites[].routes[].collapse.max_body"};

// A group whose keys stand behind it, or which is described at the top.
bool is_group(std::string const& key, std::vector<std::string> const& all) {
  auto const last = key.substr(key.rfind('.') + 1);
  for (auto const& other : all) {
    if (other.size() > key.size() && other.starts_with(key) && std::string_view(".[").find(other[key.size()]) < 2)
      return true;
    if (key != last && other.starts_with(last + ".")) return true;
  }
  return false;
}

TEST(Security, SpeaksOfEverySetting) {
  auto const all = every_key();
  std::map<std::string, int> told;
  for (auto const& row : weakenings()) {
    EXPECT_FALSE(row.with.empty() || row.gives_away.empty());
    for (auto const& key : row.keys) {
      EXPECT_NE(std::find(all.begin(), all.end(), key), all.end()) << key << " is no key";
      EXPECT_EQ(++told[key], 1) << key << " is told twice";
      EXPECT_EQ(harmless.count(key), 0U) << key;
    }
  }
  std::set<std::string> untold;
  for (auto const& key : all)
    if (told.count(key) == 0 && !is_group(key, all)) untold.insert(key);
  EXPECT_THAT(untold, ElementsAreArray(harmless));
}

}  // namespace
}  // namespace weir::config::test
