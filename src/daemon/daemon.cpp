#include "weir/daemon/daemon.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include <boost/asio/post.hpp>

#include "translate.hpp"
#include "watch.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/key.hpp"
#include "weir/config/load.hpp"
#include "weir/observe/log.hpp"

namespace weir::daemon {
namespace {

// Descriptors that are kept back from clients: for origins, the store, listeners, files (REQ-3).
constexpr std::uint64_t reserved_descriptors = 1024;
constexpr std::size_t most_cookie_names = 20;  // in /v1/stats
// MR-1: a window with fewer requests says nothing; so many paths are named.
constexpr std::uint64_t least_window_requests = 100;
constexpr std::size_t named_paths = 5;
// What the shared store may take to say what it is, at the start.
constexpr base::Duration store_check_limit = std::chrono::seconds(1);
// An invalidation is remembered by the shared store for so long beyond the last moment at which a node could need it.
constexpr base::Duration remember_longer = std::chrono::seconds(30);
constexpr base::Duration drain_look = std::chrono::milliseconds(5);

std::size_t usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// Raises the soft limit to the hard one; what clients may use of it.
std::uint64_t descriptors_for_clients() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return reserved_descriptors;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur > 2 * reserved_descriptors ? limit.rlim_cur - reserved_descriptors : limit.rlim_cur / 2;
}

// "weir-<host>-<random>": different for each process, so that FWD-6 tells two nodes on one machine apart.
std::string make_cdn_loop_id(std::string const& configured) {
  if (!configured.empty()) return "weir-" + configured;
  std::array<char, 65> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  std::string id = "weir-";
  for (char const c : std::string_view(name.data()))
    id += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ? c : '-';
  std::uint32_t const bits = std::random_device{}();
  return id + '-' + base::to_hex({reinterpret_cast<char const*>(&bits), sizeof bits});
}

std::shared_ptr<proxy::Setup const> first_setup(config::Settings settings, shield::Waker& waker) {
  auto setup = std::make_shared<proxy::Setup>();
  for (auto const& [name, origin] : settings.origins) {
    auto guard = std::make_shared<proxy::OriginGuard>(waker, origin);
    setup->origins.emplace(name, std::make_shared<proxy::OriginState>(std::move(guard), origin));
  }
  for (std::size_t i = 0; i < settings.sites.size(); ++i) setup->site_rows.push_back(i);
  setup->settings = std::move(settings);
  return setup;
}

store::ValkeyRules valkey_rules(config::Settings const& settings) {
  auto const& from = settings.store;
  store::ValkeyRules rules;
  constexpr std::string_view unix_scheme = "unix:";
  if (from.address.starts_with(unix_scheme)) {
    rules.unix_path = from.address.substr(unix_scheme.size());
  } else {
    auto const colon = from.address.rfind(':');
    rules.host = from.address.substr(0, colon);
    rules.port = from.address.substr(colon + 1);
    if (rules.host.starts_with('[')) rules.host = rules.host.substr(1, rules.host.size() - 2);
  }
  rules.username = from.username;
  rules.password = from.password;
  rules.database = from.database;
  rules.prefix = from.prefix;
  rules.max_object = from.max_object;
  rules.timeout = settings.timeouts.store;
  rules.near_bytes = from.near.max_bytes;
  rules.near_ttl = from.near.ttl;
  rules.offline_ttl = from.near.offline_ttl;
  rules.remember_invalidations = remember_invalidations(settings);
  rules.max_epochs = settings.purge.max_epochs;
  return rules;
}

std::unique_ptr<store::Store> make_store(config::Settings const& settings, cache::MemoryAccount& memory,
                                         cache::PurgeNumber& purges, cache::Epochs& epochs) {
  if (settings.store.type == config::StoreType::memory)
    return std::make_unique<store::MemoryStore>(settings.store.memory, memory);
  return std::make_unique<store::ValkeyStore>(valkey_rules(settings), memory, purges, epochs);
}

}  // namespace

// SRV-6: a fetch that began before a write may be under way at another node for as long as its origin is given.
base::Duration remember_invalidations(config::Settings const& settings) noexcept {
  auto longest = settings.timeouts.origin;
  for (auto const& [name, origin] : settings.origins) longest = std::max(longest, origin.timeouts.origin);
  return std::max(longest, settings.store.near.offline_ttl + settings.store.near.ttl) + remember_longer;
}

observe::LogFormat observe_format(config::LogFormat format) noexcept {
  return format == config::LogFormat::json ? observe::LogFormat::json : observe::LogFormat::text;
}

std::vector<std::string> site_names(config::Settings const& settings) {
  std::vector<std::string> names;
  for (auto const& site : settings.sites) names.push_back(site.name);
  return names;
}

Daemon::Daemon(config::Settings settings, std::function<config::Loaded()> load)
    : started_(base::read_clock()),
      worker_count_(settings.workers != 0 ? settings.workers : usable_cores()),
      epochs_(settings.purge.max_epochs),
      store_(make_store(settings, memory_, purges_, epochs_)),
      valkey_(dynamic_cast<store::ValkeyStore*>(store_.get())),
      mailboxes_(worker_count_),
      setup_(first_setup(std::move(settings), mailboxes_)),
      flights_(mailboxes_, memory_, purges_),
      metrics_(worker_count_, site_names(setup_->settings)),
      access_(worker_count_),
      shared_{*store_,    flights_, purges_,
              epochs_,    memory_,  metrics_,
              mailboxes_, access_,  make_cdn_loop_id(setup_->settings.instance)},
      warmer_(shared_),
      load_(std::move(load)),
      explainer_(shared_) {
  apply_limits(setup_->settings);
  open_access_log();
  if (auto* const memory = dynamic_cast<store::MemoryStore*>(store_.get())) {
    snapshot_ = std::make_unique<SnapshotKeeper>(shared_, *memory);
  }
  for (std::size_t i = 0; i < worker_count_; ++i) {
    workers_.push_back(
        std::make_unique<server::Worker>(static_cast<std::uint16_t>(i), shared_, metrics_.worker(i), connections_));
    workers_.back()->use(setup_);
  }
  open_store();
  listen();
  if (snapshot_ && !setup_->settings.store.snapshot.empty()) snapshot_->load(setup_->settings.store.snapshot);
  shared_.cookie_names.look(started_.steady, 0, 0);
  shared_.stripped_cookies.look(started_.steady);
  miss_window_began_ = started_.steady;
  auto const watch = std::make_shared<StateWatch>();
  workers_.front()->set_each_second([this, watch](base::Now now) {
    store_->sweep(now);
    watch->look(*setup(), valkey_, now.steady);
    watch_miss_rate(now.steady);
    if (auto const ended = shared_.mode.ended(now.steady)) observe::log_info("mode-ended", {{"mode", label(*ended)}});
    shared_.cookie_names.look(now.steady, metrics_.total_cacheable(), metrics_.total_with_credential_cookie());
    shared_.stripped_cookies.look(now.steady);
  });
  try {
    start_admin();
  } catch (...) {
    if (snapshot_) snapshot_->give_back();
    throw;
  }
  for (auto& worker : workers_) worker->start();
}

Daemon::~Daemon() {
  if (admin_) admin_->stop();
  for (auto& worker : workers_) worker->stop();
  for (auto& worker : workers_) worker->join();
  mailboxes_.close();
  if (valkey_ != nullptr) valkey_->detach();
  for (auto& worker : workers_) worker->destroy_frames();
}

// A store that cannot be reached is none that must not be used: nodes start without it.
void Daemon::open_store() {
  if (valkey_ == nullptr) return;
  auto const wrong = valkey_->check_server(store_check_limit);
  auto const& settings = setup_->settings.store;
  if (!wrong.empty() && !settings.allow_evictable)
    throw std::runtime_error("store " + settings.address + ": " + wrong + " (or store.allow_evictable: true)");
  if (!wrong.empty()) observe::log_warning("store-unfit", {{"address", settings.address}, {"why", wrong}});
  for (auto& worker : workers_) valkey_->attach(worker->io());
}

void Daemon::open_access_log() {
  auto const& log = setup_->settings.log;
  if (log.access_file.empty()) return;
  auto const descriptor = observe::AccessLog::open(log.access_file);
  if (!descriptor) throw std::runtime_error("log.access_file " + log.access_file + ": " + descriptor.error().message());
  access_.use(log.access_file, *descriptor, observe_format(log.access_format));
}

void Daemon::reopen_logs() {
  std::lock_guard const lock(reload_mutex_);
  if (auto const error = observe::reopen_log()) observe::log_error("log-not-reopened", {{"what", error.message()}});
  if (auto const error = access_.reopen()) observe::log_error("access-log-not-reopened", {{"what", error.message()}});
}

void Daemon::apply_limits(config::Settings const& settings) noexcept {
  auto const configured = settings.defaults.coalesce.max_bytes;
  shared_.flight_bytes_max.store(configured != 0 ? configured : store_->stats().capacity / 4);
  auto const most = descriptors_for_clients();
  connections_.set_limits(settings.limits.connections != 0 ? settings.limits.connections : most,
                          settings.limits.connections_per_address);
}

// MR-1: a window in which a large share of requests was missed, and where.
void Daemon::watch_miss_rate(base::SteadyTime now) {
  auto const rules = setup()->settings.miss_rate;
  if (!rules.enabled || now - miss_window_began_ < rules.window) return;
  miss_window_began_ = now;
  std::uint64_t requests = 0, misses = 0;
  std::vector<std::vector<observe::HotKey>> lists;
  for (auto const& worker : workers_) {
    auto window = worker->local().hot.end_window();
    requests += window.requests;
    misses += window.misses;
    lists.push_back(std::move(window.paths));
  }
  if (requests < least_window_requests || misses * 100 < requests * rules.threshold_percent) return;
  metrics_.miss_rate_anomalies.fetch_add(1);
  std::string paths;
  for (auto const& path : observe::merged(lists, named_paths))
    paths.append(paths.empty() ? "" : ", ").append(path.key).append(" ").append(std::to_string(path.count));
  observe::log_warning("miss-rate", {{"requests", requests}, {"misses", misses}, {"paths", paths}});
}

// MODE-1. On the admin thread.
void Daemon::set_mode(cache::Mode mode, base::Duration lasts) {
  auto const now = base::Clock::now();
  auto const before = shared_.mode.at(now);
  shared_.mode.set(mode, now + lasts);
  observe::log_warning("mode-set",
                       {{"mode", label(mode)}, {"before", label(before)}, {"seconds", base::whole_seconds(lasts)}});
}

void Daemon::start_admin() {
  observe::Gauges gauges;
  gauges.flights = [this] { return flights_.flights(); };
  gauges.store_bytes = [this] { return store_->stats().bytes; };
  gauges.store_entries = [this] { return store_->stats().entries; };
  gauges.evicted_small = [this] { return store_->stats().evicted_small; };
  gauges.evicted_main = [this] { return store_->stats().evicted_main; };
  gauges.limiter_queue = [this] {
    std::uint64_t queued = 0;
    for (auto const& [name, origin] : setup()->origins) queued += origin->limiter.stats().queued;
    return queued;
  };
  gauges.origin_servers = [this](bool out) {
    std::uint64_t all = 0;
    for (auto const& [name, origin] : setup()->origins) {
      auto const in = origin->servers->in_use(base::Clock::now());
      all += out ? origin->servers->size() - in : in;
    }
    return all;
  };
  gauges.breaker_state = [this] {
    int worst = 0;
    for (auto const& [name, origin] : setup()->origins) worst = std::max(worst, static_cast<int>(origin->breaker.state()));
    return worst;
  };
  gauges.breaker_transitions = [this](shield::BreakerState to) { return breaker_transitions(to); };
  if (valkey_ != nullptr) {
    gauges.store_guard = [this] { return 2 - static_cast<int>(valkey_->guard_state()); };
    gauges.leases = [this](std::size_t result) { return valkey_->leases(static_cast<store::LeaseResult>(result)); };
    gauges.store_errors = [this](std::size_t operation) {
      return valkey_->errors(static_cast<store::StoreOperation>(operation));
    };
  }
  if (snapshot_) gauges.snapshot = [this](std::size_t result) { return snapshot_->restored(result); };
  gauges.mode = [this] { return shared_.mode.at(base::Clock::now()); };
  gauges.log_dropped = [] { return observe::log_dropped(); };
  gauges.access_log_dropped = [this] { return access_.dropped(); };
  metrics_.set_gauges(std::move(gauges));

  auto const sources = admin_sources();
  auto opened = admin::Server::open(setup_->settings.admin, admin::admin_endpoints(sources), admin::open_endpoints(sources));
  if (!opened) throw std::runtime_error(opened.error().text);
  admin_ = std::move(*opened);
}

admin::Sources Daemon::admin_sources() {
  admin::Sources sources;
  sources.metrics = [this] { return metrics_.scrape(); };
  sources.config = [this] { return config::dump_json(setup()->settings); };
  sources.flights = [this](std::size_t at_most) {
    std::vector<admin::FlightLine> lines;
    auto const now = base::Clock::now();
    for (auto const& row : flights_.rows(at_most)) {
      admin::FlightLine line{cache::describe_key(row.key), row.waiters, row.fetches, row.received, row.head, std::nullopt};
      if (row.started) line.age = now - *row.started;
      lines.push_back(std::move(line));
    }
    return lines;
  };
  sources.stats = [this] { return stats(); };
  sources.readiness = [this] { return readiness(); };
  sources.hot = [this](observe::Hot what, std::size_t at_most) {
    std::vector<std::vector<observe::HotKey>> lists;
    for (auto const& worker : workers_) lists.push_back(worker->local().hot.hottest(what));
    auto keys = observe::merged(lists, at_most);
    for (auto& key : keys) key.key = cache::describe_key(key.key);
    return keys;
  };
  sources.explain = [this](proxy::Question const& question) { return explainer_.explain(question, setup()); };
  sources.entries = [this](proxy::Question const& question, bool all_keys) {
    return explainer_.entries(question, all_keys, setup());
  };
  sources.purge = [this](proxy::PurgeOrder const& order) { return proxy::purge(shared_, setup()->settings, order); };
  sources.reload = [this] { return reload(); };
  sources.warm = [this](proxy::WarmOrder order) {
    std::vector<proxy::Local*> workers;
    for (auto const& worker : workers_) workers.push_back(&worker->local());
    return warmer_.begin(std::move(order), setup()->settings, workers);
  };
  sources.warm_progress = [this] { return warmer_.progress(); };
  sources.mode = [this] {
    auto const now = base::Clock::now();
    return admin::ModeLine{shared_.mode.at(now), shared_.mode.left(now)};
  };
  sources.set_mode = [this](cache::Mode mode, base::Duration lasts) { set_mode(mode, lasts); };
  sources.drain = [this] { drain_requested_.store(true, std::memory_order_release); };
  return sources;
}

admin::Stats Daemon::stats() const {
  admin::Stats stats;
  stats.uptime = base::Clock::now() - started_.steady;
  stats.draining = shared_.draining.load(std::memory_order_relaxed);
  stats.mode = label(shared_.mode.at(base::Clock::now()));
  stats.count(metrics_);
  stats.credential_cookies = shared_.cookie_names.top(most_cookie_names);
  stats.flights = flights_.flights();
  stats.waiting = flights_.waiting();
  auto const store = store_->stats();
  stats.store_bytes = store.bytes;
  stats.store_max_bytes = store.capacity;
  stats.store_entries = store.entries;
  stats.store_evicted = store.evicted_small + store.evicted_main;
  if (valkey_ != nullptr) {
    stats.store_type = "valkey";
    stats.store_guard = store::label(valkey_->guard_state());
  }
  auto const now = setup();
  for (auto const& [name, origin] : now->origins) {
    admin::OriginLine line;
    line.name = name;
    line.reached = origin->reached.load(std::memory_order_relaxed);
    line.breaker = shield::label(origin->breaker.state());
    line.limiter = origin->limiter.stats();
    line.limits = origin->settings.limiter;
    line.servers_out = origin->servers->out(base::Clock::now());
    stats.origins.push_back(std::move(line));
  }
  return stats;
}

// A counter: what an origin has counted stays when a reload takes it away.
std::uint64_t Daemon::breaker_transitions(shield::BreakerState to) const {
  std::lock_guard const lock(setup_mutex_);
  auto all = retired_transitions_[static_cast<std::size_t>(to)];
  for (auto const& [name, origin] : setup_->origins) all += origin->breaker.transitions(to);
  return all;
}

admin::Readiness Daemon::readiness() const {
  if (shared_.draining.load(std::memory_order_relaxed) || drain_requested()) return {false, "draining"};
  auto const now = setup();
  if (base::Clock::now() - started_.steady >= now->settings.admin.ready_grace) return {true, ""};
  for (auto const& [name, origin] : now->origins)
    if (!origin->reached.load(std::memory_order_relaxed)) return {false, "origin " + name + " was not reached yet"};
  return {true, ""};
}

std::size_t Daemon::sessions() const noexcept {
  std::size_t sessions = 0;
  for (auto const& worker : workers_) sessions += worker->sessions();
  return sessions;
}

bool Daemon::turns() noexcept {
  seen_turns_.resize(workers_.size());
  bool all = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) all = all && workers_[i]->turns() != seen_turns_[i];
  for (std::size_t i = 0; all && i < workers_.size(); ++i) seen_turns_[i] = workers_[i]->turns();
  return all;
}

bool Daemon::idle() const noexcept {
  std::size_t listeners = 0;
  for (auto const& worker : workers_) listeners += worker->listeners();
  return listeners + sessions() == 0 && shared_.fetches_under_way.load(std::memory_order_acquire) == 0 && store_->is_idle();
}

Ended Daemon::drain(std::function<bool(base::Duration)> const& wait) {
  auto const until = base::Clock::now() + setup()->settings.drain.timeout;
  {
    std::lock_guard const lock(reload_mutex_);
    shared_.draining.store(true, std::memory_order_release);
    for (auto const& front : fronts_) server::forget_listener(front.bound);
  }
  observe::log_info("drain-began", {{"sessions", sessions()}, {"flights", flights_.flights()}});
  for (auto& worker : workers_) worker->begin_drain();
  bool hurried = false;
  while (!hurried && !idle() && base::Clock::now() < until) hurried = wait(drain_look);
  std::size_t cut_off = sessions();
  for (auto const& worker : workers_) cut_off -= std::min(cut_off, worker->lingering());
  for (auto& worker : workers_) worker->stop();
  for (auto& worker : workers_) worker->join();
  bool const clean = cut_off == 0 && !hurried;
  observe::log_info("drain-ended", {{"clean", clean}, {"cut_off", cut_off}});
  bool const written = hurried || write_snapshot(wait);
  return !clean ? Ended::unclean : written ? Ended::clean : Ended::snapshot_lost;
}

void Daemon::finish() noexcept {
  if (admin_) admin_->stop();
  access_.stop();
}

// MEM-2. What requests had of `drain.timeout` is not missing here: it is given once more.
bool Daemon::write_snapshot(std::function<bool(base::Duration)> const& wait) {
  auto const now = setup();
  auto const& path = now->settings.store.snapshot;
  if (!snapshot_ || path.empty()) return true;
  if (admin_) admin_->stop();  // a purge from now on would be missing in it
  auto const until = base::Clock::now() + now->settings.drain.timeout;
  auto const give_up = [&](base::Duration patience) { return base::Clock::now() >= until || wait(patience); };
  while (snapshot_->loading() && !give_up(drain_look)) {}
  snapshot_->stop();
  return snapshot_->write(path, [&] { return give_up({}); });
}

}  // namespace weir::daemon
