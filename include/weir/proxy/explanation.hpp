// What would become of a request, and why (OBS-3): plain data, for admin/ to put into words. Filled by Exchange::explain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/cache/mode.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/config/settings.hpp"
#include "weir/observe/status_fields.hpp"
#include "weir/shield/breaker.hpp"
#include "weir/shield/flight_table.hpp"
#include "weir/shield/limiter.hpp"
#include "weir/store/store.hpp"

namespace weir::proxy {

struct Explanation {
  enum class Decision : std::uint8_t {
    refuse,  // Weir's own answer: `status`
    redirect,
    purge,   // the method, by a client that may
    gather,  // the key depends on the body, which is read first
    hit,
    stale,
    join,   // another's fetch, under way
    fetch,  // its own, after a place in the limiter's queue if `permit` says so
  };
  Decision decision = Decision::refuse;
  int status = 0;
  std::string_view refused_for{};     // a word of `wire` on what is malformed
  bool alone = false;                 // fetch: nobody may join it
  double refresh_chance = 0;          // hit, stale: how likely a background refresh begins
  observe::CacheStatus cache_status;  // as it will be told; what only the origin's answer tells is not in it

  std::string site, route, origin;  // route: its path; empty: the site's own policy
  bool cached = false;              // it may be looked up at all
  config::Collapse collapse = config::Collapse::on;
  bool cluster = false;  // nodes take turns
  cache::Mode mode = cache::Mode::normal;

  std::string method, url;                                       // as keyed and forwarded
  std::vector<std::pair<std::string, std::string>> forwarded{};  // fields as the origin gets them

  std::string key{};  // bytes of the primary key; empty: it has none
  std::string selector{};
  cache::Asker asker{};
  bool refuses_codings = false;  // KEY-5
  store::Variants stored{};
  store::Lookup found{};
  cache::Reuse reuse{};  // if something was found
  base::Now now{};

  std::optional<shield::Foreseen> flight{};
  std::optional<shield::BreakerState> breaker{};  // as all below: where the origin is known
  bool breaker_refuses = false;
  shield::Acquire permit = shield::Acquire::granted;
  shield::Limiter::Stats limiter{};
  shield::LimiterRules limits{};
};

}  // namespace weir::proxy
