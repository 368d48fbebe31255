#include "weir/origin/servers.hpp"

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::origin {

ServerUse& ServerUse::operator=(ServerUse&& other) noexcept {
  if (this == &other) return *this;
  end();
  servers_ = std::move(other.servers_);
  index_ = other.index_;
  return *this;
}

void ServerUse::tell(bool healthy, base::SteadyTime now) noexcept {
  if (servers_) servers_->tell(index_, healthy, now);
}

void ServerUse::end() noexcept {
  if (servers_) servers_->leave(index_);
  servers_.reset();
}

Servers::Servers(config::Origin const& settings)
    : settings_(settings), least_connections_(settings.balance == "least_connections") {
  for (auto const& url : settings.servers) {
    auto address = parse_address(url);
    WEIR_ASSERT(address.has_value());
    servers_.push_back({.address = std::move(*address)});
  }
}

bool Servers::any_tls() const noexcept {
  return std::ranges::any_of(servers_, [](auto const& server) { return server.address.tls; });
}

bool Servers::fit(config::Origin const& settings) const noexcept {
  auto const& a = settings;
  auto const& b = settings_;
  bool const same_checks = a.health_check.has_value() == b.health_check.has_value() &&
                           (!a.health_check || (a.health_check->path == b.health_check->path &&
                                                a.health_check->interval == b.health_check->interval &&
                                                a.health_check->timeout == b.health_check->timeout));
  bool const same_tls =
      a.tls.verify == b.tls.verify && a.tls.ca_file == b.tls.ca_file && a.tls.server_name == b.tls.server_name;
  return a.servers == b.servers && a.balance == b.balance && a.host_header == b.host_header && same_tls && same_checks;
}

// Whether `a` is to be asked rather than `b`, whose turn comes sooner.
bool Servers::goes_before(Server const& a, Server const& b, base::SteadyTime now) const noexcept {
  if (a.is_out(now) != b.is_out(now)) return b.is_out(now);
  return least_connections_ && a.fetches < b.fetches;
}

std::optional<ServerUse> Servers::choose(std::vector<bool> const& tried, base::SteadyTime now) {
  auto const was_tried = [&tried](std::size_t index) { return index < tried.size() && tried[index]; };
  if (servers_.size() == 1) return was_tried(0) ? std::nullopt : std::optional<ServerUse>(std::in_place);
  std::lock_guard const lock(mutex_);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    auto const index = (next_ + i) % servers_.size();
    if (!was_tried(index) && (!best || goes_before(servers_[index], servers_[*best], now))) best = index;
  }
  if (!best) return std::nullopt;
  next_ = (*best + 1) % servers_.size();
  ++servers_[*best].fetches;
  return std::optional<ServerUse>(std::in_place, shared_from_this(), *best);
}

void Servers::tell(std::size_t index, bool healthy, base::SteadyTime now) noexcept {
  std::lock_guard const lock(mutex_);
  auto& server = servers_[index];
  if (healthy) {
    server.failures = 0;
    server.pause = {};
    return;
  }
  // What began before it was put out tells nothing new.
  if (now < server.out_until || ++server.failures < failures_to_eject) return;
  server.failures = failures_to_eject - 1;  // one more, when it is asked again, is enough
  server.pause = server.pause == base::Duration::zero() ? ejected_for : std::min(server.pause * 2, ejected_at_most);
  server.out_until = now + server.pause;
}

bool Servers::checked(std::size_t index, bool healthy) noexcept {
  std::lock_guard const lock(mutex_);
  auto& failed = servers_[index].failed_checks;
  bool const was_out = failed >= checks_to_eject;
  failed = healthy ? 0 : std::min(failed + 1, checks_to_eject);
  return was_out != (failed >= checks_to_eject);
}

bool Servers::begin_checks() noexcept {
  std::lock_guard const lock(mutex_);
  return !std::exchange(checks_begun_, true);
}

std::size_t Servers::in_use(base::SteadyTime now) const noexcept {
  std::lock_guard const lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(servers_, [now](auto const& server) { return !server.is_out(now); }));
}

std::vector<std::string> Servers::out(base::SteadyTime now) const {
  std::vector<std::string> names;
  std::lock_guard const lock(mutex_);
  for (std::size_t i = 0; servers_.size() > 1 && i < servers_.size(); ++i)
    if (servers_[i].is_out(now)) names.push_back(settings_.servers[i]);
  return names;
}

void Servers::leave(std::size_t index) noexcept {
  std::lock_guard const lock(mutex_);
  --servers_[index].fetches;
}

}  // namespace weir::origin
