#include "weir/config/load.hpp"

#include <algorithm>
#include <exception>
#include <unordered_map>

#include "description.hpp"
#include "document.hpp"
#include "overlay.hpp"
#include "weir/cache/key.hpp"
#include "weir/http/field.hpp"

namespace weir::config {
namespace {

// What only the whole shows: origins that sites name, hosts that two sites claim.
class Whole {
 public:
  Whole(Reader& reader, Item const& root, Settings& settings) : reader_(reader), root_(root), settings_(settings) {}

  void check(bool has_file) {
    if (has_file && !root_.find("version")) {
      Reader::Step const step(reader_, "version");
      reader_.mistake(root_, "is required; write `version: 1`");
    }
    check_origins();
    check_sites();
    check_listen();
    check_admin();
    check_cluster();
    settle_all();
    if (some_forward_all_)
      reader_.warn("forward.mode: all lets unkeyed fields reach the origin; answers that depend on them poison the cache");
  }

 private:
  void check_origins() {
    Item const* const origins = root_.find("origins");
    bool const some = origins && origins->is_map() && !origins->items.empty();
    if (some) first_origin_ = origins->keys.front().text;
    if (some || (origins && !origins->is_map() && !origins->is_null())) return;
    Reader::Step const step(reader_, "origins");
    reader_.mistake(origins ? *origins : root_, "no origin: name one here, or with --origin URL");
  }

  void check_sites() {
    Item const* const sites = root_.find("sites");
    if (!sites) {
      Site site;
      site.name = "default";
      site.origin = first_origin_;
      site.policy = settings_.defaults;
      settings_.sites.push_back(std::move(site));
      return;
    }
    Reader::Step const step(reader_, "sites");
    if (sites->is_list() && sites->items.empty())
      reader_.mistake(*sites, "an empty list; leave `sites` out for one site for every host");
    for (std::size_t i = 0; i < settings_.sites.size(); ++i) {
      Reader::Step const index(reader_, i);
      // A single scalar from a flag was a mistake already.
      if (sites->is_list()) check_site(settings_.sites[i], sites->items[i]);
    }
  }

  void check_site(Site& site, Item const& item) {
    check_site_origin(site, item);
    Reader::Step const step(reader_, "hosts");
    Item const* const given = item.find("hosts");
    Item const& hosts = given ? *given : item;
    if (site.hosts.empty()) claim("", site, hosts);
    for (std::size_t i = 0; i < site.hosts.size(); ++i) {
      Reader::Step const index(reader_, i);
      claim(site.hosts[i], site, hosts.is_list() && i < hosts.items.size() ? hosts.items[i] : hosts);
    }
    check_name(site, hosts);
  }

  void claim(std::string const& host, Site const& site, Item const& item) {
    auto const [owner, is_new] = owners_.try_emplace(host, &site);
    if (is_new) return;
    std::string const what = host.empty() ? "every host (no `hosts`)" : ticked(host);
    std::string const whom = owner->second == &site
                                 ? "twice in this site"
                                 : "already in sites[" + std::to_string(owner->second - settings_.sites.data()) + "]";
    reader_.mistake(item, what + " is " + whom);
  }

  // OBS-2: a series a site. Hosts are claimed once, so that only the name of the site without any can be another's.
  void check_name(Site const& site, Item const& hosts) {
    if (site.name.empty()) return;  // there was a mistake
    auto const [owner, is_new] = named_.try_emplace(site.name, &site);
    if (is_new || owner->second->hosts.empty() == site.hosts.empty()) return;
    reader_.mistake(hosts, "metrics would call it " + ticked(site.name) + ", as they do sites[" +
                               std::to_string(owner->second - settings_.sites.data()) + "]");
  }

  void check_site_origin(Site& site, Item const& item) {
    Reader::Step const step(reader_, "origin");
    Item const* const given = item.find("origin");
    if (!given) {
      if (settings_.origins.size() > 1) reader_.mistake(item, "is required where there are several origins");
      site.origin = first_origin_;
      return;
    }
    if (site.origin.empty() || settings_.origins.contains(site.origin)) return;
    std::vector<std::string> names;
    for (auto const& [name, origin] : settings_.origins) names.push_back(name);
    reader_.mistake(*given, "no origin " + ticked(site.origin) + "; " + nearest(site.origin, names));
  }

  void check_listen() {
    Item const* const listen = root_.find("listen");
    if (!listen) return;
    Reader::Step const step(reader_, "listen");
    if (settings_.listen.empty()) reader_.mistake(*listen, "an empty list");
    std::unordered_map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < settings_.listen.size(); ++i) {
      std::string const& address = settings_.listen[i].address;
      Reader::Step const index(reader_, i);
      bool const any_port = address.ends_with(":0");
      if (settings_.listen[i].proxy_protocol && !address.starts_with("unix:") && settings_.trusted_proxies.empty())
        reader_.mistake(listen->is_list() ? listen->items[i] : *listen,
                        "`proxy_protocol` needs `trusted_proxies`: the addresses that may say who the client is");
      if (!address.empty() && !any_port && !seen.try_emplace(address, i).second)
        reader_.mistake(listen->is_list() ? listen->items[i] : *listen, ticked(address) + " is there twice");
    }
  }

  // Two of ours cannot have one address, and a token is what a request can show: the start would fail, and with it each
  // retry.
  void check_admin() {
    Item const* const item = root_.find("admin");
    Reader::Step const step(reader_, "admin");
    auto& admin = settings_.admin;
    auto const is_one = [](std::string const& address) {
      return !address.empty() && address != "off" && !address.ends_with(":0");
    };
    auto const there = [&](std::string const& address) {
      return is_one(address) &&
             std::ranges::any_of(settings_.listen, [&](auto const& one) { return one.address == address; });
    };
    Item const& place = item != nullptr ? *item : root_;
    if (there(admin.listen)) reader_.mistake(place, "`listen`: " + ticked(admin.listen) + " is an address of `listen` too");
    if (there(admin.metrics_listen) || (is_one(admin.metrics_listen) && admin.metrics_listen == admin.listen))
      reader_.mistake(place, "`metrics_listen`: " + ticked(admin.metrics_listen) + " is the address of another listener");
    if (admin.token.empty()) return;
    admin.token = http::trim(admin.token);
    if (admin.token.empty() || !http::is_field_value(admin.token))
      reader_.mistake(place, "the token is nothing that a field of a request can hold");
  }

  void check_cluster() {
    bool clustered = settings_.defaults.coalesce.cluster;
    for (Site const& site : settings_.sites) {
      clustered = clustered || site.policy.coalesce.cluster;
      for (Route const& route : site.routes) clustered = clustered || route.policy.coalesce.cluster;
    }
    if (!clustered || settings_.store.type == StoreType::valkey) return;
    Item const* const coalesce = root_.find("coalesce");
    Reader::Step const step(reader_, "coalesce.cluster");
    reader_.mistake(coalesce ? *coalesce : root_, "needs `store.type: valkey`, which the nodes share");
  }

  // FWD-2: in strict mode a cookie that is neither keyed nor allowed never gets to the origin. Where a cookie makes a
  // request bypass the cache, the request goes whole.
  void settle(Policy& policy) {
    some_forward_all_ = some_forward_all_ || policy.forward.mode == ForwardMode::all;
    auto const names_cookie = [](std::vector<std::string> const& names) {
      return std::find(names.begin(), names.end(), "cookie") != names.end();
    };
    policy.cookies.only_keyed = policy.forward.mode == ForwardMode::strict &&
                                policy.cookies.mode == cache::CookieMode::credential &&
                                !names_cookie(policy.forward.allow) && !names_cookie(policy.key.headers);
  }

  void settle_all() {
    for (Site& site : settings_.sites) {
      settle(site.policy);
      for (Route& route : site.routes) settle(route.policy);
      settle_paths(site);
    }
  }

  // KEY-2: where paths are matched normalised, those of the routes are too.
  static void settle_paths(Site& site) {
    auto const normalizes = [](auto const& part) { return part.policy.key.normalize_path; };
    site.normalizes = normalizes(site) || std::ranges::any_of(site.routes, normalizes);
    if (!site.normalizes) return;
    std::string storage;
    for (Route& route : site.routes) route.path = std::string(cache::normalized_path(route.path, storage));
  }

  Reader& reader_;
  Item const& root_;
  Settings& settings_;
  std::string first_origin_;
  bool some_forward_all_ = false;
  std::unordered_map<std::string, Site const*> owners_, named_;  // by host, by name
};

void read_all(Sources const& sources, Mistakes& mistakes, Loaded& loaded) {
  bool const has_file = !sources.file.empty() || !sources.yaml.empty();
  auto const source = std::make_shared<std::string const>(sources.file);
  Item root = parse_document(sources.yaml, source, Places::lines, "", mistakes);
  if (root.is_null() && !mistakes.empty()) return;  // the text could not be read: nothing more is known
  if (root.place.line == 0 && has_file) root.place = {source, 1, 1};
  if (!root.is_map() && !root.is_null()) return mistakes.add(root.place, "", "expected keys at the top, as in `version: 1`");
  lay_over(sources, root, mistakes);

  Reader reader(sources, mistakes, loaded.warnings);
  Settings settings = settings_group().initial();
  settings_group().read(reader, root, settings);
  Whole(reader, root, settings).check(has_file);
  (mistakes.empty() ? loaded.settings : loaded.partly) = std::move(settings);
}

}  // namespace

bool Loaded::is_wrong_in(std::string_view group) const noexcept {
  return std::ranges::any_of(mistakes, [&](Mistake const& mistake) {
    std::string_view const path = mistake.path;
    return path.substr(0, path.find_first_of(".[")) == group;
  });
}

Loaded load(Sources const& sources) {
  Loaded loaded;
  Mistakes mistakes;
  try {
    read_all(sources, mistakes, loaded);
  } catch (std::exception const& e) {  // a library's, or no memory
    mistakes.add({}, "", std::string("could not be read: ") + e.what());
    loaded.settings.reset();
    loaded.partly.reset();
  }
  loaded.mistakes = mistakes.take();
  return loaded;
}

std::string dump_yaml(Settings const& settings) { return to_yaml(settings_group().write(settings, nullptr)); }

std::string dump_json(Settings const& settings) { return to_json(settings_group().write(settings, nullptr)); }

}  // namespace weir::config
