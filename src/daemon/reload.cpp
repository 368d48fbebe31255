// LCY-2: another configuration under the same connections, entries, limiters and breakers. Everything that can fail is done
// before anything changes.
#include <algorithm>
#include <condition_variable>
#include <system_error>

#include <unistd.h>

#include <boost/asio/post.hpp>

#include "translate.hpp"
#include "weir/daemon/daemon.hpp"
#include "weir/daemon/notify.hpp"
#include "weir/observe/log.hpp"

namespace weir::daemon {
namespace {

// Workers are never busy for long; should one be, the reload is told of as done when this has passed.
constexpr std::chrono::seconds turn_limit{5};

using Mistakes = std::vector<config::Mistake>;

// What was fixed when the process started, by name.
void check_fixed(config::Settings const& now, config::Loaded const& loaded, Mistakes& mistakes) {
  auto const& next = *loaded.known();
  auto const fixed = [&](bool same, std::string_view path) {
    if (!same && !loaded.is_wrong_in(path.substr(0, path.find('.'))))
      mistakes.push_back({"", 0, 0, std::string(path), "cannot change while Weir runs; restart it for that"});
  };
  fixed(now.workers == next.workers, "workers");
  fixed(now.instance == next.instance, "instance");
  fixed(now.admin.listen == next.admin.listen, "admin.listen");
  fixed(now.admin.metrics_listen == next.admin.metrics_listen, "admin.metrics_listen");
  fixed(now.admin.token == next.admin.token && now.admin.token_file == next.admin.token_file, "admin.token");
  fixed(now.store.type == next.store.type, "store.type");
  fixed(now.store.address == next.store.address, "store.address");
  fixed(now.store.memory.max_bytes == next.store.memory.max_bytes, "store.max_bytes");
  fixed(now.store.snapshot == next.store.snapshot, "store.snapshot");
  fixed(now.store.username == next.store.username, "store.username");
  fixed(now.store.password == next.store.password, "store.password");
  fixed(now.store.database == next.store.database, "store.database");
  fixed(now.store.prefix == next.store.prefix, "store.prefix");
  fixed(now.store.allow_evictable == next.store.allow_evictable, "store.allow_evictable");
  fixed(now.store.max_object == next.store.max_object, "store.max_object");
  auto const &near = now.store.near, &next_near = next.store.near;
  fixed(near.max_bytes == next_near.max_bytes && near.ttl == next_near.ttl && near.offline_ttl == next_near.offline_ttl,
        "store.near");
  fixed(now.store.type == config::StoreType::memory || now.timeouts.store == next.timeouts.store, "timeouts.store");
  fixed(now.purge.max_epochs == next.purge.max_epochs, "purge.max_epochs");
  fixed(now.log.format == next.log.format, "log.format");
  fixed(now.log.file == next.log.file, "log.file");
}

// Of a unix socket: its address.
std::string_view port_of(std::string_view address) noexcept {
  return address.starts_with("unix:") ? address : address.substr(address.rfind(':') + 1);
}

// Closes itself unless it is handed over.
struct Descriptor {
  Descriptor() = default;
  Descriptor(Descriptor&& other) noexcept : number(other.hand_over()) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  int hand_over() noexcept { return std::exchange(number, -1); }
  int number = -1;
};

int another(int descriptor, std::string const& address) {
  int const copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw std::system_error(errno, std::generic_category(), "cannot listen on " + address);
  return copy;
}

// Counts the workers that have taken a setup, or failed to.
struct Turns {
  std::mutex mutex;  // guards the two below
  std::condition_variable all;
  std::size_t left = 0, failed = 0;
};

// One worker's. However it ends, nobody waits for it any longer.
class Turn {
 public:
  explicit Turn(Turns& turns) noexcept : turns_(turns) {}
  Turn(Turn const&) = delete;
  Turn& operator=(Turn const&) = delete;
  ~Turn() {
    std::lock_guard const lock(turns_.mutex);
    if (!taken_) ++turns_.failed;
    if (--turns_.left == 0) turns_.all.notify_all();
  }
  void taken() noexcept { taken_ = true; }

 private:
  Turns& turns_;
  bool taken_ = false;
};

}  // namespace

// Sockets for one more address, one for each worker; closed again if they are not handed over.
struct Daemon::Opening {
  explicit Opening(config::Listen const& listen) : front{listen.address, {}} {}
  // Throws std::system_error. What is open by then is closed again: the other constructor has ended.
  // `alone`: nobody else may have it; not so where one that is to be closed covers it, or is covered by it.
  Opening(config::Listen const& listen, std::size_t workers, bool alone = true) : Opening(listen) {
    descriptors.push_back(server::open_listener(listen.address, alone, listen.mode));
    front.bound = server::bound_address(descriptors.front());
    bool const one_only = front.bound.starts_with("unix:");  // no SO_REUSEPORT there: all share the one socket
    while (descriptors.size() < workers)
      descriptors.push_back(one_only ? another(descriptors.front(), front.bound)
                                     : server::open_listener(front.bound, false, listen.mode));
  }
  Opening(Opening&& other) noexcept : front(std::move(other.front)), descriptors(std::exchange(other.descriptors, {})) {}
  ~Opening() {
    if (!descriptors.empty()) server::forget_listener(front.bound);
    for (int const descriptor : descriptors) ::close(descriptor);
  }
  std::vector<int> hand_over() noexcept { return std::exchange(descriptors, {}); }

  Front front;
  std::vector<int> descriptors;
};

struct Daemon::Next {
  std::shared_ptr<proxy::Setup> setup;
  std::vector<Opening> opened;
  std::vector<Front> closed;
  Descriptor access;
  std::vector<std::pair<std::string, server::Preface>> prefaces;  // by bound address, of all that is listened on
  std::vector<std::pair<std::string, std::uint32_t>> modes;       // the same, of those that stay
  Mistakes mistakes;
};

void Daemon::listen() {
  Mistakes mistakes;
  auto const prefaces = server::make_prefaces(setup_->settings, mistakes);
  if (!mistakes.empty()) throw std::runtime_error(mistakes.front().text());
  for (std::size_t at = 0; at < prefaces.size(); ++at) {
    Opening opening(setup_->settings.listen[at], workers_.size());
    fronts_.push_back(opening.front);
    auto const& address = fronts_.back().bound;
    auto const descriptors = opening.hand_over();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i]->listen(descriptors[i], address);
      workers_[i]->use_preface(address, prefaces[at]);
    }
  }
}

std::shared_ptr<proxy::Setup const> Daemon::setup() const {
  std::lock_guard const lock(setup_mutex_);
  return setup_;
}

std::vector<std::string> Daemon::addresses() const {
  std::lock_guard const lock(reload_mutex_);
  std::vector<std::string> addresses;
  for (auto const& front : fronts_) addresses.push_back(front.bound);
  return addresses;
}

Daemon::Next Daemon::prepare(config::Loaded& loaded) {
  Next next;
  next.mistakes = loaded.mistakes;
  if (shared_.draining.load()) next.mistakes.push_back({"", 0, 0, "", "Weir is draining"});
  auto const now = setup();
  if (loaded.known() != nullptr) check_fixed(now->settings, loaded, next.mistakes);
  if (!loaded.settings) {
    if (loaded.partly && !loaded.is_wrong_in("listen")) server::make_prefaces(*loaded.partly, next.mistakes);
    if (loaded.partly && !loaded.is_wrong_in("origins")) origin::try_tls(*loaded.partly, next.mistakes);
    return next;
  }
  auto const& settings = *loaded.settings;
  next.setup = std::make_shared<proxy::Setup>();
  next.setup->number = now->number + 1;
  for (auto const& [name, origin] : settings.origins) {
    auto const known = now->origins.find(name);
    auto guard =
        known != now->origins.end() ? known->second->guard : std::make_shared<proxy::OriginGuard>(mailboxes_, origin);
    try {
      auto const servers = known != now->origins.end() ? known->second->servers : nullptr;
      next.setup->origins.emplace(name, std::make_shared<proxy::OriginState>(std::move(guard), origin, servers));
    } catch (std::exception const& error) { next.mistakes.push_back(origin::tls_mistake(origin, error)); }
  }
  auto const prefaces = server::make_prefaces(settings, next.mistakes);
  next.closed = fronts_;
  std::vector<std::size_t> to_open;
  for (std::size_t i = 0; i < settings.listen.size(); ++i) {
    auto const known = std::ranges::find(next.closed, settings.listen[i].address, &Front::configured);
    if (known == next.closed.end()) {
      to_open.push_back(i);
      continue;
    }
    next.prefaces.emplace_back(known->bound, prefaces[i]);
    next.modes.emplace_back(known->bound, settings.listen[i].mode);
    next.closed.erase(known);
  }
  for (auto const i : to_open) {
    auto const& address = settings.listen[i].address;
    bool const moves =
        std::ranges::any_of(next.closed, [&](Front const& front) { return port_of(front.bound) == port_of(address); });
    try {
      next.opened.emplace_back(settings.listen[i], workers_.size(), !moves);
      next.prefaces.emplace_back(next.opened.back().front.bound, prefaces[i]);
    } catch (std::system_error const& error) {
      next.mistakes.push_back({"", 0, 0, "listen[" + std::to_string(i) + "]", error.what()});
    }
  }
  if (auto const& file = settings.log.access_file; !file.empty()) {
    auto const opened = observe::AccessLog::open(file);
    if (opened)
      next.access.number = *opened;
    else
      next.mistakes.push_back({"", 0, 0, "log.access_file", file + ": " + opened.error().message()});
  }
  next.setup->settings = std::move(*loaded.settings);
  return next;
}

// Nothing fails any more but for want of memory, and that is told as a mistake.
void Daemon::publish(Next& next) {
  auto const& settings = next.setup->settings;
  next.setup->site_rows = metrics_.rows_of(site_names(settings));
  for (auto const& [name, origin] : next.setup->origins) origin->guard->use(origin->settings);
  apply_limits(settings);
  if (valkey_ != nullptr) valkey_->remember_invalidations(remember_invalidations(settings));
  auto const& access_file = settings.log.access_file;
  auto const access_format = observe_format(settings.log.access_format);
  if (!access_file.empty()) access_.use(access_file, next.access.hand_over(), access_format);
  if (auto const level = observe::parse_log_level(settings.log.level)) observe::set_log_level(*level);
  {
    std::lock_guard const lock(setup_mutex_);
    for (auto const& [name, origin] : setup_->origins) {
      if (next.setup->origins.contains(name)) continue;
      for (auto const state : {shield::BreakerState::closed, shield::BreakerState::half_open, shield::BreakerState::open})
        retired_transitions_[static_cast<std::size_t>(state)] += origin->breaker.transitions(state);
    }
    setup_ = next.setup;
  }
  std::vector<std::vector<std::pair<int, std::string>>> sockets(workers_.size());
  for (auto const& front : next.closed) {
    server::forget_listener(front.bound);
    std::erase_if(fronts_, [&](Front const& known) { return known.bound == front.bound; });
  }
  for (auto& opening : next.opened) {
    fronts_.push_back(opening.front);
    auto const descriptors = opening.hand_over();
    for (std::size_t i = 0; i < workers_.size(); ++i) sockets[i].emplace_back(descriptors[i], opening.front.bound);
  }
  for (auto const& [address, mode] : next.modes)
    if (auto const error = server::set_listener_mode(address, mode))
      observe::log_error("socket-mode-not-set", {{"address", address}, {"what", error.message()}});
  auto const turns = std::make_shared<Turns>();
  turns->left = workers_.size();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    auto& worker = *workers_[i];
    boost::asio::post(worker.io(), [&worker, turns, setup = setup_, opened = std::move(sockets[i]), closed = next.closed,
                                    prefaces = next.prefaces] {
      Turn turn(*turns);
      // Before what is opened: an address that is written in another way is bound as it was.
      for (auto const& front : closed) worker.stop_listening(front.bound);
      for (auto const& [descriptor, address] : opened) worker.listen(descriptor, address);
      for (auto const& [address, preface] : prefaces) worker.use_preface(address, preface);
      worker.use(setup);  // last: should there be no memory for it, another reload makes good all that is missing
      turn.taken();
    });
  }
  std::unique_lock lock(turns->mutex);
  if (!turns->all.wait_for(lock, turn_limit, [&] { return turns->left == 0; }))
    observe::log_warning("reload-slow", {{"workers", turns->left}});
  if (turns->failed != 0)
    next.mistakes.push_back({"", 0, 0, "", "not every worker could take it, for want of memory; reload again"});
  if (access_file.empty()) access_.use({}, -1, access_format);  // no worker has more for it
}

admin::Reloaded Daemon::reload() {
  std::lock_guard const lock(reload_mutex_);  // from the reading on: what is read last is what stays
  if (load_) return take(load_());
  return take({std::nullopt, {{"", 0, 0, "", "there is nothing to load"}}, {}});
}

admin::Reloaded Daemon::reload(config::Loaded loaded) {
  std::lock_guard const lock(reload_mutex_);
  return take(std::move(loaded));
}

admin::Reloaded Daemon::take(config::Loaded loaded) {
  notify_reloading();
  auto next = prepare(loaded);
  if (next.mistakes.empty()) publish(next);
  bool const good = next.mistakes.empty();
  for (auto const& warning : loaded.warnings) observe::log_warning("configuration", {{"what", warning}});
  for (auto const& mistake : next.mistakes) observe::log_error("configuration", {{"what", mistake.text()}});
  if (good)
    observe::log_info("reloaded", {{"number", next.setup->number}});
  else
    observe::log_error("reload-refused", {{"mistakes", next.mistakes.size()}});
  (good ? metrics_.reloads_ok : metrics_.reloads_bad).fetch_add(1);
  notify_ready(good ? "serving" : "serving; the last reload was refused");
  return {std::move(next.mistakes), std::move(loaded.warnings)};
}

}  // namespace weir::daemon
