#include "weir/proxy/tunnel.hpp"

#include <exception>

#include <boost/asio/co_spawn.hpp>

#include "fetch_impl.hpp"
#include "weir/observe/log.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {
namespace {

using http::FieldId;

constexpr std::string_view protocol = "websocket";

// Both directions of one tunnel, as each of them sees it.
struct Ends {
  Ends(std::shared_ptr<wire::Stream> const& c, std::shared_ptr<wire::Stream> const& o, base::Duration i)
      : client(c), origin(o), client_idle(c), origin_idle(o), idle(i), other_over(c->executor()) {
    moved();
  }

  // Something came or went: both ends may be silent for as long again.
  void moved() {
    client_idle.expires_after(idle);
    origin_idle.expires_after(idle);
  }
  void close() noexcept {
    client->close();
    origin->close();
  }

  std::shared_ptr<wire::Stream> client, origin;
  wire::Deadline client_idle, origin_idle;
  base::Duration idle;
  Event other_over;
};

// One direction, from what was read already to the end of the input. An end is passed on and is the end of this direction
// alone; a break ends both.
asio::awaitable<void> carry(Ends& ends, wire::Stream& from, wire::Stream& to, Inbox& inbox) {
  for (;;) {
    if (auto const bytes = inbox.unread(); !bytes.empty()) {
      auto const sent = co_await to.write(asio::buffer(bytes));
      if (sent.error) co_return ends.close();
      inbox.begin = inbox.end = 0;
      ends.moved();
    }
    auto const got = co_await from.read_some(inbox.room());
    if (got.error == asio::error::eof && !co_await to.finish()) co_return;
    if (got.error) co_return ends.close();
    inbox.end += got.bytes;
    ends.moved();
  }
}

// What hears the end of a direction; destroyed unheard is an end too.
struct DirectionEnd {
  explicit DirectionEnd(std::shared_ptr<Ends> e) noexcept : ends(std::move(e)) {}
  DirectionEnd(DirectionEnd&&) noexcept = default;
  DirectionEnd& operator=(DirectionEnd&&) = delete;
  ~DirectionEnd() {
    if (!ends) return;
    if (!well) ends->close();
    ends->other_over.set();
  }
  void operator()(std::exception_ptr const& failure) {
    well = !failure;
    if (failure) observe::log_error("tunnel-failed");
  }
  std::shared_ptr<Ends> ends;
  bool well = false;
};

asio::awaitable<void> carry_up(std::shared_ptr<Ends> ends, std::unique_ptr<Inbox> inbox) {
  co_await carry(*ends, *ends->client, *ends->origin, *inbox);
}

}  // namespace

bool wants_websocket(http::Request const& request) noexcept {
  return request.method_id == http::Method::get && request.version == 11 && !request.has_body() &&
         request.fields.list_contains(FieldId::upgrade, protocol) &&
         request.fields.list_contains(FieldId::connection, "upgrade");
}

bool agrees_to_websocket(http::Response const& response) noexcept {
  auto const chosen = response.fields.only(FieldId::upgrade);
  return response.status == 101 && chosen && http::equal_ignoring_case(http::trim(*chosen), protocol);
}

base::Ref<Tunnel> Tunnel::asked_for_in(ForwardRequest& request) {
  request.fields.add(FieldId::connection, "Upgrade");
  request.fields.add(FieldId::upgrade, protocol);
  return base::Ref<Tunnel>(this);
}

void Tunnel::open(std::shared_ptr<wire::Stream> origin, std::string_view early) {
  origin_ = std::move(origin);
  early_ = early;
}

asio::awaitable<void> Tunnel::run(Client& client, InboxPool& inboxes, base::Duration idle) {
  if (!origin_->socket().is_open() || !co_await client.write(early_, idle)) {
    origin_->close();
    co_return;
  }
  auto const ends = std::make_shared<Ends>(client.stream_ref(), origin_, idle);
  if (!client.inbox) client.inbox = inboxes.take();
  auto const closed_in_the_end = std::unique_ptr<Ends, void (*)(Ends*)>(ends.get(), [](Ends* both) { both->close(); });
  asio::co_spawn(client.stream().executor(), carry_up(ends, std::move(client.inbox)), DirectionEnd(ends));
  auto down = inboxes.take();
  co_await carry(*ends, *ends->origin, *ends->client, *down);
  inboxes.give(std::move(down));
  co_await ends->other_over.wait();
}

// The origin agreed: its connection is the tunnel's now, and the permit one of those that streams have (LIM-1).
asio::awaitable<void> Fetch::hand_over() {
  tell_breaker(true);
  permit_.permit.move_to_stream();
  connection_->deadline.clear();
  order_.tunnel->open(connection_->stream, inbox_->unread());
  auto head = std::make_unique<shield::FlightHead>();
  head->status = response_.status;
  head->no_body = true;
  cache::HeadOptions options;
  options.for_store = false;
  options.expose_tags = order_.policy->forward.expose_tags;
  head->head = cache::build_head(response_, options, times_.response.wall, nullptr);
  local_.inboxes.give(std::move(inbox_));
  flight().set_head(std::move(head), nullptr, 0, base::Clock::now());
  order_.ticket.publish_head();
  note(observe::FetchResult::ok);
  shield::Waiter nobody;
  parking_.attach(nobody);
  while (flight().interest() > 0) co_await parking_.until(base::SteadyTime::max());  // interrupted by the last to leave
  connection_->stream->close();
  permit_.permit.release();
  flight().finish(true);
  order_.ticket.leave();
}

// Exchange: the 101 and then everything that both ends have to say. The client's connection is used up by it.
asio::awaitable<After> Exchange::send_tunnel(shield::SlotWaiter& waiter) {
  close_ = true;
  auto& status = decision_.cache_status;
  status.forwarded_status = 101;
  AnswerTail tail;
  tail.cache_status = status;
  std::string out = waiter.flight->head()->head;
  out += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  append_tail(out, tail);
  sent_.status = 101;
  count(decision_.outcome);
  auto const tunnel = tunnel_;
  if (co_await client_->write(out, no_progress()))
    co_await tunnel->run(*client_, local_.inboxes, origin_->settings.timeouts.stream_idle);
  waiter.flight.reset();
  co_return After::close;
}

}  // namespace weir::proxy
