// What the transcripts of this room share: a waker that keeps chosen waiters until they are delivered by hand, clients that
// wait on slots, and heads in a line.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weir/base/hash.hpp"
#include "weir/shield/flight_table.hpp"

namespace weir::shield {

inline base::SteadyTime at(double seconds) {
  return base::SteadyTime(std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(1000.0 + seconds)));
}

class HeldWaker final : public Waker {
 public:
  void wake(WaiterList& chosen) noexcept override {
    std::lock_guard const lock(mutex_);
    ++posts_;
    held_.splice(held_.end(), chosen);
  }
  // Resumes all in the order in which they were chosen; returns how many.
  std::size_t deliver() noexcept {
    std::lock_guard const lock(mutex_);
    std::size_t count = 0;
    while (!held_.empty()) {
      auto& waiter = held_.front();
      held_.pop_front();
      waiter.state.store(WaiterState::free, std::memory_order_release);
      if (waiter.resume) waiter.resume(waiter);
      ++count;
    }
    return count;
  }
  std::size_t posts() const noexcept { return posts_; }

 private:
  std::mutex mutex_;
  WaiterList held_;
  std::size_t posts_ = 0;
};

struct HeadLine {
  int status = 200;
  bool shareable = true;
  bool joinable = true;
  bool stored = true;
  bool origin_error = false;
  std::optional<std::uint64_t> length{};
};

inline constexpr HeadLine cacheable{};
inline constexpr HeadLine stale_on_arrival{.joinable = false};
inline constexpr HeadLine set_cookie{.shareable = false, .joinable = false, .stored = false};
inline constexpr HeadLine unavailable{
    .status = 503, .shareable = false, .joinable = false, .stored = false, .origin_error = true};

inline std::unique_ptr<FlightHead const> make_head(HeadLine const& line) {
  auto head = std::make_unique<FlightHead>();
  head->status = line.status;
  head->head = "HTTP/1.1 " + std::to_string(line.status) + " \r\n";
  head->shareable = line.shareable;
  head->joinable = line.joinable;
  head->stored = line.stored;
  head->origin_error = line.origin_error;
  head->length = line.length;
  return head;
}

// A request at the table. Declared after the stage.
struct Client {
  SlotWaiter waiter;
  Joined joined = Joined::overflow;
  LeaderTicket ticket;
  Interest flight;
  WaiterState state() const { return waiter.state.load(); }
  bool waits() const { return state() == WaiterState::linked; }
};

struct Stage {
  HeldWaker waker;
  cache::MemoryAccount account;
  cache::PurgeNumber purges;
  CoalesceRules rules;
  FlightTable table{waker, account, purges};

  static FlightKey key(std::string_view primary, std::string_view selector = {}, std::uint64_t must_see = 0) {
    return {.primary = primary, .hash = base::hash_bytes(primary), .selector = selector, .must_see = must_see};
  }
  Joined join(Client& client, double seconds, FlightKey const& k) {
    auto result = table.join(k, client.waiter, 0, rules, at(seconds));
    client.joined = result.joined;
    client.ticket = std::move(result.ticket);
    client.flight = std::move(result.flight);
    return client.joined;
  }
  Joined join(Client& client, double seconds = 0, std::string_view primary = "/a") {
    return join(client, seconds, key(primary));
  }
  bool replace(Client& client, double seconds) {
    auto ticket = table.replace_overdue(client.waiter, 0, rules, at(seconds));
    if (!ticket) return false;
    client.ticket = std::move(*ticket);
    return true;
  }
  void head(LeaderTicket& ticket, HeadLine const& line, double seconds = 0) {
    ticket.flight().set_head(make_head(line), nullptr, 1 << 20, at(seconds));
    ticket.publish_head();
  }
  // An invalidation of the key, as SRV-6 makes it.
  std::size_t invalidate(std::string_view primary = "/a") {
    auto const number = purges.next();
    return table.overrule(primary, base::hash_bytes(primary), number);
  }
  std::uint32_t waiters(std::string_view primary = "/a") const {
    return table.waiters_of(primary, base::hash_bytes(primary));
  }
  // Everything was given back.
  bool quiet() const {
    return table.flights() == 0 && table.waiting() == 0 && table.rows(10).empty() && account.bytes() == 0;
  }
};

inline void grow(Flight& flight, std::string_view bytes, double seconds = 0) {
  while (!bytes.empty()) {
    auto const room = flight.room();
    if (room.empty()) return;
    auto const size = std::min(room.size(), bytes.size());
    bytes.copy(room.data(), size);
    flight.commit(size, at(seconds));
    bytes.remove_prefix(size);
  }
}

// All that is there, in steps of at most `limit`.
inline std::string read(Reader& reader, std::size_t limit = 256 * 1024) {
  std::string bytes;
  for (auto chunk = reader.peek(limit); !chunk.bytes.empty(); chunk = reader.peek(limit)) {
    bytes.append(chunk.bytes.data(), chunk.bytes.size());
    reader.advance(chunk.bytes.size(), at(0));
  }
  return bytes;
}

}  // namespace weir::shield
