// Purges by operators (PRG-1 to PRG-3): what is named becomes epochs under the next purge number. Nothing is scanned, but for
// a dry run, which changes nothing. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/proxy/context.hpp"

namespace weir::proxy {

struct PurgeOrder {
  std::vector<std::string> urls;      // "http://shop.example/a?b=1", or "/a" of a site; any scheme reaches both
  std::vector<std::string> prefixes;  // the same, ending with '/': all below it
  std::vector<std::string> tags;      // surrogate tags and cache groups, of a site
  std::string site;                   // name; for what is named without an authority. Alone: all of the site
  bool all = false;
  cache::Invalidation mode = cache::Invalidation::soft;
  bool dry_run = false;
};

struct PurgeResult {
  std::vector<std::string> mistakes;    // not empty: nothing was done
  std::uint64_t number = 0;             // its id; 0 in a dry run
  std::vector<std::string> applied_to;  // "url shop.example/a?b=1", "prefix site shop/img/", "tag shop red", "site shop", "all"
  std::uint64_t entries = 0;            // dry run: stored responses that it would hit
};

PurgeResult purge(Shared& shared, config::Settings const& settings, PurgeOrder const& order);

}  // namespace weir::proxy
