// POST /v1/purge (PRG-1): JSON to an order, and what became of it to JSON.
#include "purge_endpoint.hpp"

#include <boost/json/serialize.hpp>

#include "members.hpp"

namespace weir::admin {
namespace {

namespace bj = boost::json;

cache::Invalidation mode_of(Members& members) {
  std::string mode = "soft";
  members.read("mode", mode);
  if (mode != "soft" && mode != "hard") members.mistake("mode", "soft or hard");
  return mode == "hard" ? cache::Invalidation::hard : cache::Invalidation::soft;
}

}  // namespace

Answer answer_purge(Sources const& sources, Call const& call) {
  boost::system::error_code error;
  auto const parsed = bj::parse(call.body, error);
  if (error || !parsed.is_object()) return problem(400, "bad-json", "the body is one JSON object");
  proxy::PurgeOrder order;
  Members members(parsed.get_object());
  members.read("urls", order.urls);
  members.read("prefixes", order.prefixes);
  members.read("tags", order.tags);
  members.read("site", order.site);
  members.read("all", order.all);
  order.mode = mode_of(members);
  members.read("dry_run", order.dry_run);
  if (auto const mistakes = members.finish("urls, prefixes, tags, site, all, mode and dry_run"); !mistakes.empty())
    return mistaken("bad-purge", mistakes);
  auto const result = sources.purge(order);
  if (!result.mistakes.empty()) return mistaken("bad-purge", result.mistakes);
  bj::object body{{"mode", order.mode == cache::Invalidation::hard ? "hard" : "soft"},
                  {"dry_run", order.dry_run},
                  {"applied_to", to_json(result.applied_to)}};
  if (order.dry_run)
    body["entries"] = result.entries;
  else
    body["id"] = result.number;
  return json(200, bj::serialize(body) + "\n");
}

}  // namespace weir::admin
