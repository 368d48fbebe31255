// One fetch from inside; fetch.hpp says what it is for. fetch.cpp tells its story, fetch_admission.cpp has the limiter and
// the breaker, fetch_ask.cpp asks the origin, fetch_body.cpp receives the body, fetch_resume.cpp the rest of one that broke
// off. Threads: its one worker.
#pragma once

#include <optional>
#include <span>

#include "weir/cache/storability.hpp"
#include "weir/proxy/fetch.hpp"

namespace weir::proxy {

// SPEC section 1: no connection, a broken transfer, a timeout.
bool is_origin_health_failure(shield::FailureKind kind) noexcept;
observe::FetchResult result_of(shield::FailureKind kind) noexcept;

class Fetch {
 public:
  Fetch(Local& local, FetchOrder order);
  ~Fetch();
  asio::awaitable<void> run();
  // Once it has run: what the store has now was put there, confirmed or found by it.
  bool has_entry() const noexcept { return has_entry_; }

 private:
  // A head that nobody was told of yet. Shared with its timer's pending wait, which may outlive the fetch.
  struct HeldBack {
    HeldBack(asio::any_io_executor const& executor, Fetch* f) : timer(executor), fetch(f) {}
    asio::basic_waitable_timer<base::Clock> timer;
    Fetch* fetch;  // null: told, or over
  };
  using MaybeFailure = std::optional<shield::FailureKind>;

  asio::awaitable<bool> answered_by_store();
  asio::awaitable<bool> answered_elsewhere();
  bool takes_turns() const noexcept;
  void mark_hit_for_miss(base::Now now) noexcept;
  asio::awaitable<MaybeFailure> be_admitted();
  asio::awaitable<MaybeFailure> take_permit();
  void tell_breaker(bool healthy) noexcept;
  void tell_breaker_of_head() noexcept;
  void tell_breaker_of_body(bool whole) noexcept;
  void tell_breaker_of_failure(shield::FailureKind kind) noexcept;
  asio::awaitable<MaybeFailure> ask();
  // `broke_off`: the server that just did; another is asked where there is one.
  asio::awaitable<MaybeFailure> attempt(origin::Want want, base::SteadyTime due,
                                        std::optional<std::size_t> broke_off = std::nullopt);
  asio::awaitable<origin::Connected> connect(origin::Want want, base::SteadyTime due, std::optional<std::size_t> broke_off);
  asio::awaitable<MaybeFailure> read_head();
  // RFC 9110 15.5.9: a 408 on a connection that was idle is the origin's last word on it and answers nothing.
  bool is_farewell(int status) const noexcept {
    return status == 408 && connection_->reused && !order_.upload && http::is_idempotent(order_.request.method_id);
  }
  void tell_interim(http::Response const& interim);
  asio::awaitable<void> hand_over();
  asio::awaitable<bool> freshen();
  base::Ref<cache::StoredResponse> refreshed(cache::Entry const& stored);
  void update_stored();
  http::Request as_asked() const noexcept;
  asio::awaitable<void> invalidate();
  void invalidate(http::Request request, std::uint64_t number, std::vector<std::string>& keys);
  void invalidate(std::string_view key, std::uint64_t number);
  cache::Storability judge();
  asio::awaitable<void> withdraw();
  void publish();
  cache::Place place() const noexcept;
  cache::Mode mode() const noexcept { return shared_.mode.at(base::Clock::now()); }
  bool stale_may_stand_in() const noexcept;
  void hold_back();
  void let_go_of_head() noexcept;
  void tell_head() noexcept;
  void select_by_coding_if_others_are();
  asio::awaitable<bool> receive();
  asio::awaitable<bool> receive_length(std::uint64_t left);
  asio::awaitable<bool> receive_chunked();
  asio::awaitable<bool> receive_until_close();
  asio::awaitable<std::span<char>> room();
  asio::awaitable<wire::Transferred> read(std::span<char> into);
  void took(std::size_t bytes);
  bool may_resume() const noexcept;
  bool continues_body() const;
  asio::awaitable<bool> resume();
  bool store_it();
  asio::awaitable<void> share_it();
  asio::awaitable<void> settle(bool whole);
  void fail(shield::FailureKind kind);
  void remember_failure(int status) noexcept;
  void note(observe::FetchResult result);

  // COA-2: it goes on without a requester: an unsafe one whose request is whole, and a shared one that may be stored.
  bool goes_on_alone() const noexcept {
    bool const cut = order_.upload && order_.upload->client_fault() != BodyRead::end;
    return (order_.unsafe && !cut) || (storing_ && order_.shared);
  }
  bool nobody_wants_it() const noexcept { return abandoned_ && !order_.ticket.wanted() && !goes_on_alone(); }
  // That it ended early is Weir's doing: nobody wanted it, or it had gone on alone for long enough.
  bool was_given_up() const noexcept {
    bool const cut = order_.upload && order_.upload->client_fault() != BodyRead::end;  // its client's doing (REQ-3)
    return nobody_wants_it() || cut || (gave_up_ && !order_.ticket.wanted());
  }
  void give_up_later() noexcept;
  void give_up() noexcept;
  void on_interest() noexcept;
  shield::Flight& flight() const noexcept { return *flight_; }
  base::SteadyTime give_up_at() const noexcept { return started_ + order_.origin->settings.timeouts.origin; }

  Local& local_;
  Shared& shared_;
  FetchOrder order_;
  base::Ref<shield::Flight> flight_;  // outlives the ticket's places
  Parking parking_;
  AbandonSignal& signal_;
  shield::PermitWaiter permit_;
  shield::Probe probe_;
  store::Lease lease_;                // among nodes (COA-11)
  std::optional<bool> told_healthy_;  // what the breaker was told when the head came
  std::unique_ptr<origin::Connection> connection_;
  std::unique_ptr<Inbox> inbox_;
  http::Response response_;
  cache::FetchTimes times_;
  cache::Storability verdict_;
  base::Ref<cache::StoredResponse> place_;
  std::shared_ptr<HeldBack> held_back_;
  std::shared_ptr<HeldBack> giving_up_;  // COA-2: at `give_up_at`, if nobody wants it then
  cache::Overrule basis_overrule_;       // of what is stored
  cache::Entry stand_in_;                // what was the basis, where a 304 told of something else
  base::SteadyTime started_{};
  std::uint64_t began_ = 0;        // its place among the fetches of this process: after its look-up
  base::SteadyTime keep_until_{};  // of what was stored
  std::uint64_t held_ = 0;         // bytes counted in shared_.flight_bytes
  bool in_background_ = false;     // began with a permit of its own; a permit that is waited for is the limiter's to touch
  bool resumed_ = false;
  bool withdrawn_ = false;  // by a 304: what is stored is not for others any more
  bool storing_ = false;    // the answer may still end in the store
  bool gave_up_ = false;    // it had gone on alone for long enough
  bool abandoned_ = false;  // nobody waits or reads (now)
  bool any_byte_ = false;   // of the response in the last attempt
  bool at_origin_ = false;  // counted as in flight
  bool has_entry_ = false;  // the store has what it was for
  bool used_up_ = false;    // the connection of the last attempt: what comes next on it may belong to this exchange
};

}  // namespace weir::proxy
