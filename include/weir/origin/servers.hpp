// Which of an origin's servers a fetch goes to (REL-3): in turn or to the one with the fewest fetches, past those that are
// out. A server is out while its active checks fail, and for a growing pause after `failures_to_eject` fetches in a row that
// failed by its fault: long before the origin's breaker opens, as the fetches themselves go on to the next server. With all
// of them out, all are tried. No clock: `now` is passed in. One mutex, not taken where there is only one server. Owner: the
// origin's state, with the pools and checks that use it. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/config/settings.hpp"
#include "weir/origin/address.hpp"

namespace weir::origin {

inline constexpr std::uint32_t failures_to_eject = 3;
// The first time; doubles each time that the next fetch fails too.
inline constexpr base::Duration ejected_for = std::chrono::seconds(5);
inline constexpr base::Duration ejected_at_most = std::chrono::seconds(60);
// Active checks that fail in a row until a server is out. One that succeeds brings it back.
inline constexpr std::uint32_t checks_to_eject = 2;

class Servers;

// A fetch at a server, for as long as it has the connection. Move-only; counts for `least_connections`.
class ServerUse {
 public:
  ServerUse() = default;
  ServerUse(std::shared_ptr<Servers> servers, std::size_t index) noexcept : servers_(std::move(servers)), index_(index) {}
  ServerUse(ServerUse&& other) noexcept = default;
  ServerUse& operator=(ServerUse&& other) noexcept;
  ~ServerUse() { end(); }

  std::size_t index() const noexcept { return index_; }
  // How it went, by the same verdict as the breaker's; any number of times.
  void tell(bool healthy, base::SteadyTime now) noexcept;
  void end() noexcept;

 private:
  std::shared_ptr<Servers> servers_;  // null: over, or the only server
  std::size_t index_ = 0;
};

class Servers : public std::enable_shared_from_this<Servers> {
 public:
  // The loader has checked the addresses.
  explicit Servers(config::Origin const& settings);

  std::size_t size() const noexcept { return servers_.size(); }
  Address const& address(std::size_t index) const noexcept { return servers_[index].address; }
  bool any_tls() const noexcept;
  // A reload: whether other settings mean the same servers, balanced and checked in the same way.
  bool fit(config::Origin const& settings) const noexcept;

  // The next one that is not among `tried` (by index; empty: none was), one that is not out if there is one. Nothing if all
  // were tried.
  std::optional<ServerUse> choose(std::vector<bool> const& tried, base::SteadyTime now);

  void tell(std::size_t index, bool healthy, base::SteadyTime now) noexcept;
  // True: that changed whether its checks keep it out.
  bool checked(std::size_t index, bool healthy) noexcept;
  // True once, for the one that checks them.
  bool begin_checks() noexcept;
  // How many are not out.
  std::size_t in_use(base::SteadyTime now) const noexcept;
  // Those that are, as they are written in the settings; of one server nothing.
  std::vector<std::string> out(base::SteadyTime now) const;

 private:
  friend class ServerUse;
  struct Server {
    Address address;
    std::uint32_t fetches = 0;        // that have a connection
    std::uint32_t failures = 0;       // in a row
    std::uint32_t failed_checks = 0;  // in a row
    base::SteadyTime out_until{};
    base::Duration pause{};  // the last one; 0: none since it was well
    bool is_out(base::SteadyTime now) const noexcept { return failed_checks >= checks_to_eject || now < out_until; }
  };

  bool goes_before(Server const& a, Server const& b, base::SteadyTime now) const noexcept;
  void leave(std::size_t index) noexcept;

  config::Origin const settings_;
  bool const least_connections_;
  mutable std::mutex mutex_;  // guards all below, but for the addresses
  bool checks_begun_ = false;
  std::vector<Server> servers_;
  std::size_t next_ = 0;  // whose turn it is
};

}  // namespace weir::origin
