// A WebSocket connection through Weir (REQ-4): once the origin has agreed to change protocols, bytes go both ways as they
// come, past the cache, until both ends have said their last. Owner: exchange and fetch together; the fetch keeps connection
// and permit as long as the exchange keeps its interest in the flight. Threads: their one worker.
#pragma once

#include <memory>
#include <string>

#include "weir/base/intrusive.hpp"
#include "weir/proxy/client.hpp"
#include "weir/proxy/forward.hpp"

namespace weir::proxy {

class Tunnel : public base::Counted<Tunnel> {
 public:
  // The exchange: puts the question into the request that is forwarded.
  base::Ref<Tunnel> asked_for_in(ForwardRequest& request);
  // The fetch: the origin said 101, and `early` came behind it.
  void open(std::shared_ptr<wire::Stream> origin, std::string_view early);

  // The exchange: runs until both directions have ended, one of them is broken, or nothing came from either end for `idle`.
  // Both streams are closed then.
  asio::awaitable<void> run(Client& client, InboxPool& inboxes, base::Duration idle);

 private:
  std::shared_ptr<wire::Stream> origin_;
  std::string early_;
};

// A GET that asks for this protocol and no other.
bool wants_websocket(http::Request const& request) noexcept;
// The answer that agrees.
bool agrees_to_websocket(http::Response const& response) noexcept;

}  // namespace weir::proxy
