#include "stored_json.hpp"

#include <boost/json/array.hpp>

#include "weir/base/hash.hpp"
#include "weir/cache/vary.hpp"
#include "weir/observe/json_text.hpp"

namespace weir::admin {
namespace {

namespace bj = boost::json;

bj::value text_or_null(std::string_view text) {
  return text.empty() ? bj::value(nullptr) : bj::value(observe::valid_utf8(text));
}

bj::value invalidation_of(cache::Overrule const& overrule, base::Now now) {
  if (overrule.mode == cache::Invalidation::none) return nullptr;
  return bj::object{{"mode", label(overrule.mode)}, {"seconds_ago", seconds(now.steady - overrule.at)}};
}

// Tags are kept as hashes: what they are called is not known here.
bj::array tags_of(cache::StoredResponse const& entry) {
  bj::array tags;
  for (auto const tag : entry.tags()) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(tag >> static_cast<unsigned>(shift) & 0xFFU);
    tags.emplace_back(base::to_hex(bytes));
  }
  return tags;
}

}  // namespace

double seconds(base::Duration duration) noexcept { return std::chrono::duration<double>(duration).count(); }

bj::array pairs(std::vector<std::pair<std::string, std::optional<std::string>>> const& pairs) {
  bj::array rows;
  for (auto const& [name, value] : pairs) {
    rows.push_back(bj::object{{"name", observe::valid_utf8(name)},
                              {"value", value ? bj::value(observe::valid_utf8(*value)) : bj::value(nullptr)}});
  }
  return rows;
}

bj::object freshness_of(cache::Facts const& facts, cache::Overrule const& overrule, cache::Reuse const& reuse,
                        base::Now now) {
  return {{"lifetime_seconds", seconds(facts.lifetime)},
          {"lifetime_source", label(facts.lifetime_source)},
          {"age_seconds", seconds(reuse.age)},
          {"age_at_arrival_seconds", seconds(facts.initial_age)},
          {"held_seconds", seconds(reuse.age - facts.initial_age)},
          {"ttl_seconds", seconds(reuse.ttl)},
          {"stale_while_revalidate_seconds", seconds(facts.stale_while_revalidate)},
          {"stale_if_error_seconds", seconds(facts.stale_if_error)},
          {"no_cache", bool(facts.no_cache)},
          {"must_revalidate", bool(facts.must_revalidate)},
          {"invalidated", invalidation_of(overrule, now)}};
}

bj::object entry_of(store::Variant const& variant, cache::Reuse const& reuse, base::Now now) {
  auto const& entry = *variant.entry;
  auto const& facts = entry.facts();
  return {{"status", facts.status},
          {"body_bytes", entry.body().size()},
          {"memory_bytes", entry.footprint()},
          {"verdict", label(reuse.verdict)},
          {"reason", label(reuse.reason)},
          {"freshness", freshness_of(facts, variant.overrule, reuse, now)},
          {"kept_seconds", seconds(variant.keep_until - now.steady)},
          {"vary", pairs(cache::selecting_values(entry.selector()))},
          {"etag", text_or_null(entry.etag())},
          {"last_modified", text_or_null(entry.last_modified())},
          {"for_authorization", bool(facts.authorized)},
          {"for_cookies", bool(facts.shared_explicitly)},
          {"tags", tags_of(entry)},
          {"purge_number", facts.purge_number}};
}

std::string key_name(std::string_view key) {
  auto const digest = base::sha256(key);
  return base::to_hex({reinterpret_cast<char const*>(digest.data()), digest.size()});
}

}  // namespace weir::admin
