#include "weir/proxy/purge.hpp"

#include <limits>

#include "weir/cache/epochs.hpp"
#include "weir/cache/key.hpp"
#include "weir/http/target.hpp"
#include "weir/observe/log.hpp"
#include "weir/proxy/routing.hpp"

namespace weir::proxy {
namespace {

using cache::Scope;

// Reads an order into tags, or says what is wrong with it.
class Reading {
 public:
  Reading(config::Settings const& settings, PurgeOrder const& order) : settings_(settings), order_(order) {
    for (auto const& site : settings.sites)
      if (site.name == order.site || (order.site.empty() && settings.sites.size() == 1)) site_ = &site;
    if (!order.site.empty() && site_ == nullptr) mistake("there is no site `" + order.site + "`");
  }

  void read() {
    for (auto const& url : order_.urls) add_url(url, false);
    for (auto const& prefix : order_.prefixes) add_url(prefix, true);
    for (auto const& tag : order_.tags) add_tag(tag);
    bool const site_alone = !order_.site.empty() && order_.urls.empty() && order_.prefixes.empty() && order_.tags.empty();
    if (site_alone && site_ != nullptr) add(cache::tag_of_site(site_->name), "site " + site_->name);
    if (order_.all) add(cache::tag_of_all(), "all");
    if (tags.empty() && result.mistakes.empty()) mistake("it names nothing: urls, prefixes, tags, site or all");
  }

  std::vector<cache::Tag> tags;
  PurgeResult result;

 private:
  void mistake(std::string text) { result.mistakes.push_back(std::move(text)); }
  void add(cache::Tag tag, std::string what) {
    tags.push_back(tag);
    result.applied_to.push_back(std::move(what));
  }

  void add_tag(std::string const& tag) {
    if (site_ == nullptr) return mistake("tag `" + tag + "`: say of which `site`");
    add(cache::tag_of_name(site_->name, tag), "tag " + site_->name + ' ' + tag);
  }

  // Some of the routes below it may normalise their paths and others not, so it is meant both ways.
  void add_prefix(Scope scope, std::string_view name, http::Request const& request, std::string const& shown) {
    add(cache::tag_of_prefix(scope, name, request.path), shown + std::string(request.path));
    std::string storage;
    auto const normalized = cache::normalized_path(request.path, storage);
    if (normalized != request.path) add(cache::tag_of_prefix(scope, name, normalized), shown + std::string(normalized));
  }

  // The query is rewritten as that of a request would be (KEY-3), so that both name the same entries.
  void add_url(std::string const& text, bool prefix) {
    auto const target = http::parse_target(text);
    if (!target || target->form == http::TargetForm::authority || target->form == http::TargetForm::asterisk)
      return mistake("`" + text + "` is neither a URL nor a path");
    if (prefix && (target->has_query || !target->path.ends_with('/')))
      return mistake("prefix `" + text + "` does not end with `/`");
    http::Request request;
    request.method = "GET";
    request.method_id = http::Method::get;
    request.scheme = target->scheme;
    request.path = target->path;
    request.query = target->query;
    request.has_query = target->has_query;
    std::string authority;
    auto const* site = site_;
    if (target->form == http::TargetForm::absolute) {
      if (!http::is_host(target->authority)) return mistake("`" + text + "` has no host");
      http::append_normalized_host(target->authority, target->scheme, authority);
      request.authority = authority;
      site = route(settings_, request).site;
      if (site == nullptr) return mistake("no site serves `" + text + "`");
    } else if (site == nullptr) {
      return mistake("`" + text + "`: say of which `site`");
    }
    auto const scope = authority.empty() ? Scope::site : Scope::authority;
    auto const& name = authority.empty() ? site->name : authority;
    auto const shown = (authority.empty() ? "site " + name : name);
    if (prefix) return add_prefix(scope, name, request, "prefix " + shown);
    std::string storage;
    auto const* const in_site = route_in(*site, request);
    auto const& rules = (in_site != nullptr ? in_site->policy : site->policy).key;
    auto const keyed = cache::rewrite_target(request, rules, storage);
    add(cache::tag_of_url(scope, name, keyed.path, keyed.query, keyed.has_query),
        "url " + shown + std::string(keyed.path) + (keyed.has_query ? "?" + std::string(keyed.query) : ""));
  }

  config::Settings const& settings_;
  PurgeOrder const& order_;
  config::Site const* site_ = nullptr;
};

// Of entries, how many an epoch under these tags would overrule now.
std::uint64_t count_hits(Shared& shared, config::Settings const& settings, std::vector<cache::Tag> const& tags) {
  cache::Epochs only(tags.size());
  only.add(tags, cache::Invalidation::hard, std::numeric_limits<std::uint64_t>::max(), {});
  std::uint64_t hits = 0;
  shared.store.visit([&](cache::StoredResponse const& entry) {
    auto const url = cache::url_of(entry.key());
    http::Request request;
    request.scheme = url.scheme;
    request.authority = url.authority;
    request.path = url.path;
    auto const* site = route(settings, request).site;
    cache::Place const place{site == nullptr ? std::string_view() : site->name, url.authority, url.path, url.query,
                             url.has_query};
    hits += only.overrule(place, entry.tags(), 0).mode != cache::Invalidation::none;
  });
  return hits;
}

}  // namespace

PurgeResult purge(Shared& shared, config::Settings const& settings, PurgeOrder const& order) {
  Reading reading(settings, order);
  reading.read();
  auto result = std::move(reading.result);
  if (!result.mistakes.empty()) return result;
  if (order.dry_run) {
    result.entries = count_hits(shared, settings, reading.tags);
    return result;
  }
  result.number = shared.purges.next();
  shared.epochs.add(reading.tags, order.mode, result.number, base::Clock::now());
  shared.store.share_purge(reading.tags, order.mode, result.number);
  auto& metrics = shared.metrics;
  (order.mode == cache::Invalidation::hard ? metrics.purges_hard : metrics.purges_soft).fetch_add(1);
  observe::log_info("purged", {{"id", result.number},
                               {"mode", cache::label(order.mode)},
                               {"first", result.applied_to.front()},
                               {"named", result.applied_to.size()}});
  return result;
}

}  // namespace weir::proxy
