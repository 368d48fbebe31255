// Interim responses on the last part of their way: from a flight to this exchange's requester (SRV-7).
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

// RFC 9110 15.2: none for HTTP/1.0. None either while the request's body waits for its own 100, which another coroutine
// writes.
bool Exchange::hears_interims() const noexcept {
  return request_.version >= 11 && !(request_.has_body() && request_.expects_continue);
}

asio::awaitable<void> Exchange::relay_interims(shield::SlotWaiter& waiter, Parking& parking) {
  if (waiter.interim.resume == nullptr) co_return;
  auto const heads = local_.shared.flights.interims(waiter);
  if (!heads.empty() && !co_await client_->write(heads, no_progress())) parking.interrupt();
}

}  // namespace weir::proxy
