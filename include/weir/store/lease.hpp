// COA-11: whose turn it is to fetch among nodes that share a store. A lease is held on a key and a variant, renewed by its
// owner, and gone by itself soon after its owner died. Owner: the fetch. Threads: the worker that took it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "weir/base/clock.hpp"

namespace weir::store {

// What the owner of a lease tells those who wait for it.
enum class LeaseOutcome : std::uint8_t {
  released,       // nothing: whoever wants it fetches
  stored,         // look into the store
  not_shareable,  // what came is for one requester each: do not wait for it
  failed,         // the origin failed, as `failure` says: nobody tries again now
};
std::string_view label(LeaseOutcome outcome) noexcept;

// Move-only; its destructor releases it.
class Lease {
 public:
  Lease() noexcept = default;
  explicit Lease(std::function<void(LeaseOutcome, int)> give_back) : give_back_(std::move(give_back)) {}
  Lease(Lease&& other) noexcept : give_back_(std::exchange(other.give_back_, nullptr)) {}
  Lease& operator=(Lease&& other) noexcept {
    end(LeaseOutcome::released);
    give_back_ = std::exchange(other.give_back_, nullptr);
    return *this;
  }
  ~Lease() { end(LeaseOutcome::released); }

  explicit operator bool() const noexcept { return give_back_ != nullptr; }
  // Given back, and told. `failure`: an HTTP status. Does nothing the second time.
  void end(LeaseOutcome outcome, int failure = 0) noexcept {
    if (auto const give_back = std::exchange(give_back_, nullptr)) give_back(outcome, failure);
  }

 private:
  std::function<void(LeaseOutcome, int)> give_back_;
};

// Asks for the turn to fetch a variant of a key.
struct TurnRequest {
  std::string_view key;       // primary key
  std::string_view selector;  // empty: no variants known
  base::Duration longest{};   // wait for another node (coalesce.cluster_max_wait)
  std::uint16_t worker = 0;
  std::function<bool()> wanted;  // asked now and then: whether anybody still waits for it
};

struct Turn {
  enum class What : std::uint8_t {
    without,        // there are no other nodes, the store does not answer, or nobody wants it any more: go on alone
    hedged,         // the wait was too long: go on alone
    taken,          // `lease`: look into the store once more, then fetch
    stored,         // look into the store
    not_shareable,  // do not wait for others
    failed,         // `failure`
  };
  What what = What::without;
  int failure = 0;  // HTTP status
  Lease lease;
};

enum class LeaseResult : std::uint8_t { acquired, refused, announced, hedged, failed };  // for the metric
inline constexpr std::size_t lease_result_count = 5;

}  // namespace weir::store
