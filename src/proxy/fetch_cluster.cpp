// One fetch for all nodes that share a store (COA-11): whose turn it is, and what the others have found meanwhile.
#include "fetch_impl.hpp"

namespace weir::proxy {

using shield::FailureKind;
using What = store::Turn::What;

namespace {

// What a failure at another node's fetch is here.
FailureKind failure_with(int status) noexcept {
  return status == 503 ? FailureKind::elsewhere : status == 504 ? FailureKind::read_timeout : FailureKind::bad_response;
}

}  // namespace

bool Fetch::takes_turns() const noexcept { return order_.shared && order_.policy->coalesce.cluster; }

// True: who waits was told. Before the permit, as who waits for another node takes none.
asio::awaitable<bool> Fetch::answered_elsewhere() {
  auto const from = base::Clock::now();
  auto const longest = order_.policy->coalesce.cluster_max_wait;
  for (auto left = longest; left > base::Duration::zero(); left = longest - (base::Clock::now() - from)) {
    store::TurnRequest request{order_.key, order_.selector, left, local_.worker, [this] { return !nobody_wants_it(); }};
    auto turn = co_await shared_.store.take_turn(std::move(request));
    switch (turn.what) {
      case What::taken:
        lease_ = std::move(turn.lease);
        co_return co_await answered_by_store();
      case What::stored:
        if (co_await answered_by_store()) co_return true;
        if (order_.refreshes) break;
        continue;  // not for those who wait here
      case What::not_shareable:
        mark_hit_for_miss(base::read_clock());
        order_.ticket.publish_by_variant();
        order_.ticket.leave();
        co_return true;
      case What::failed:
        fail(failure_with(turn.failure));
        co_return true;
      case What::hedged:
        break;
      case What::without:
        co_return false;
    }
    break;
  }
  if (order_.why != observe::FetchClass::background) order_.why = observe::FetchClass::hedge;
  co_return false;
}

// STO-5: nobody waits for such an answer again, here or elsewhere.
void Fetch::mark_hit_for_miss(base::Now now) noexcept {
  shared_.store.mark_hit_for_miss(order_.key, order_.hash, now.steady + order_.policy->coalesce.hit_for_miss_ttl, now);
  lease_.end(store::LeaseOutcome::not_shareable);
}

}  // namespace weir::proxy
