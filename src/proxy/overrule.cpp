#include "weir/proxy/overrule.hpp"

#include <algorithm>

#include "weir/base/hash.hpp"
#include "weir/cache/key.hpp"

namespace weir::proxy {
namespace {

std::uint64_t url_number(Shared const& shared, cache::KeyRules const& rules, std::string_view key) noexcept {
  if (!cache::keys_more_than_url(rules)) return 0;
  return shared.invalidated_urls.number(base::hash_bytes(cache::url_part(key)));
}

}  // namespace

void overrule(Shared const& shared, cache::Place const& place, cache::KeyRules const& rules, std::string_view key,
              store::Lookup& found) {
  if (!found.entry) return;
  found.overrule =
      cache::overruled_by_url(found.overrule, found.entry->facts().purge_number, url_number(shared, rules, key));
  found.overrule = cache::with_epochs(found.overrule, shared.epochs, place, *found.entry);
}

std::uint64_t must_see(Shared const& shared, cache::Place const& place, cache::KeyRules const& rules, std::string_view key) {
  return std::max(shared.epochs.must_see(place), url_number(shared, rules, key));
}

}  // namespace weir::proxy
