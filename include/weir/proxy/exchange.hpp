// The story of one request (DESIGN "The story of one request"; SPEC sections 2 to 7). Two acts: `answer_at_once` takes the
// steps that need no waiting, on the stack of the session, and writes a hit; everything else is `answer`, one coroutine.
// Owner: the session. Threads: its worker.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/cache/key.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/proxy/answer.hpp"
#include "weir/proxy/context.hpp"
#include "weir/proxy/explanation.hpp"
#include "weir/proxy/fetch.hpp"
#include "weir/proxy/routing.hpp"

namespace weir::proxy {

enum class After : std::uint8_t { close, keep_alive };

class Exchange {
 public:
  explicit Exchange(Local& local);
  ~Exchange();
  Exchange(Exchange const&) = delete;
  Exchange& operator=(Exchange const&) = delete;

  // A request to answer. One exchange takes any number of requests that are answered at once, one after the other, and ends
  // with the first that is not. `request` and the bytes that it points into stay valid until `hold_request`.
  void begin(Client& client, http::Request const& request, base::Now now) noexcept;
  // True: the answer is in the socket. False: `answer` must follow.
  bool answer_at_once();
  // Once, behind the answer: to the access log, if there is one (OBS-4).
  void log_access() const noexcept {
    if (local_.logs_access) tell_access();
  }
  // What the connection is good for after `answer_at_once` said true.
  After after() const noexcept { return ends_ || close_ ? After::close : After::keep_alive; }
  // Copies the request out of the client's read buffer, which then may go.
  void hold_request();
  bool has_body() const noexcept { return request_.has_body(); }

  asio::awaitable<After> answer();
  // Its coroutine has ended, perhaps by an exception: what it began ends too.
  void give_up() noexcept;

  // WRM-1: instead of an answer, the entry that this request would be given is fetched if it is not fresh. `why`: a word on
  // what was not done.
  struct Warmed {
    enum What : std::uint8_t { failed, left, skipped, done } what = failed;  // left: a drain came first
    std::string_view why;
  };
  asio::awaitable<Warmed> warm();

  // OBS-3: what would become of the request that began, by the very functions that answer it. Nothing is joined, fetched,
  // waited for or changed, and no use is counted; the exchange is good for nothing else after it.
  Explanation explain();
  // After it: what this process holds under a key of the same URL, with all that was said about it, and whether there may be
  // other such keys.
  store::Variants held(std::string_view key);
  bool keys_more_than_url() const noexcept {
    return cache::keys_more_than_url(routed_.policy->key) || routed_.policy->collapse_body.key_body;
  }

 private:
  // gather: the body is keyed, read it first
  enum class What : std::uint8_t { refuse, redirect, purge, hit, gather, join, alone };
  // What to do about this request, and what to tell about it.
  struct Decision {
    What what = What::refuse;
    int status = 500;      // refuse
    store::Failed failed;  // refuse: because of that
    shield::FailureKind failure = shield::FailureKind::internal;
    ForwardAs forward = ForwardAs::whole;  // join, alone
    observe::FetchClass why = observe::FetchClass::bypass;
    observe::CacheStatus cache_status;
    observe::Outcome outcome = observe::Outcome::error;
    cache::Entry entry;  // hit; or the stale one that may be validated, or served when the origin fails
    cache::Overrule overrule;
    cache::Reuse reuse;
    bool may_store = false;
    bool refresh = false;   // hit: it is stale, or will be soon
    bool upgrades = false;  // asks for a websocket
  };
  struct Own {  // a request that outlives the read buffer
    std::string bytes;
    std::vector<http::Field> fields;
  };

  // What became of a wait.
  struct News {
    // too_large: the whole of what a part was asked of
    enum What : std::uint8_t { look_again, too_large, adopted, answered } what = look_again;
    After after = After::close;  // for `answered`
  };
  // A hit in pieces: stored head (empty where `compose_hit` wrote one of its own), then what it wrote, then the body.
  struct HitParts {
    std::string_view head, body;
  };

  Decision decide(base::Now now);
  Decision decide_cacheable(base::Now now);
  bool may_stand_for_get() const noexcept;
  void key_as_get();
  Decision refuse(int status) const;
  Decision bypass(observe::Forwarded why, bool upgrades = false) const;
  void believe_scheme() noexcept;
  void edit_request();
  void normalise_host();
  void see_as_forwarded();
  bool is_selected_for_nobody() const;
  void note_cookies() noexcept;
  void note_stripped_cookies() noexcept;
  bool is_credentialed() const noexcept { return asker_.has_authorization || asker_.has_cookie_credential; }
  bool refreshes_early() const noexcept { return !digest_ && routed_.policy->freshness.early_refresh; }
  void go_alone();
  store::Lookup look_up(base::Now now);
  cache::Place place() const noexcept;
  cache::Mode mode(base::Now now) const noexcept { return local_.shared.mode.at(now.steady); }
  bool was_purged(shield::SlotWaiter const& waiter, std::span<cache::Tag const> tags, std::uint64_t began);

  bool opted_in() const noexcept;
  bool keys_body() const noexcept;
  asio::awaitable<BodyRead> gather_body();
  void carry_body(FetchOrder& order) const;

  void explain_stored(Explanation& told);
  void foresee(Explanation& told);
  void foresee_fetch(Explanation& told);
  void foresee_failure(shield::FailureKind failure, Explanation& told);

  std::string selector();
  shield::FlightKey flight_key();
  bool goes_alone_after(shield::Joined joined) const noexcept;
  shield::JoinResult join(shield::SlotWaiter& waiter);
  asio::awaitable<News> join_or_fetch();
  void start_upload();
  void refresh_in_background() noexcept;
  bool start_refresh(base::SteadyTime now);
  std::optional<FetchOrder> order_for_nobody(shield::Permit permit, observe::FetchClass why);
  asio::awaitable<bool> wait_for_leftover(shield::PermitWaiter& permit);
  std::uint64_t partition() const;
  bool hears_interims() const noexcept;
  asio::awaitable<void> relay_interims(shield::SlotWaiter& waiter, Parking& parking);
  FetchOrder make_order(shield::LeaderTicket ticket, observe::FetchClass why) const;
  asio::awaitable<std::optional<News>> wait_for_head(shield::SlotWaiter& waiter, Parking& parking);
  asio::awaitable<News> take(shield::SlotWaiter& waiter);
  bool suits(shield::FlightHead const& head) const;
  bool wants_own_range(shield::FlightHead const& head) const;
  cache::Selection select(shield::FlightHead const& head) const;
  bool adopt_entry(shield::SlotWaiter& waiter);
  void adopt_hit(cache::Entry entry, cache::Reuse const& reuse);
  bool adopt_stale_for(shield::FailureKind failure);
  struct StandIn {
    cache::Entry entry;
    cache::Reuse reuse;
    bool fresh = false;  // a hit after all
  };
  std::optional<StandIn> stand_in();
  bool adopt_stale(observe::StaleReason reason, std::string_view detail, int received_status = 0);

  HitParts compose_hit(std::string& out);
  asio::awaitable<After> send_hit();
  asio::awaitable<After> send_flight(shield::SlotWaiter& waiter);
  observe::Outcome compose_flight(shield::FlightHead const& head, bool leader, cache::Selection const& selection,
                                  BodyFraming framing, std::string& out);
  asio::awaitable<bool> send_body(shield::Reader& reader, BodyFraming framing, std::uint64_t first, std::uint64_t last);
  asio::awaitable<shield::Reader::Chunk> next_chunk(shield::Reader& reader, Parking& parking);
  asio::awaitable<After> send_tunnel(shield::SlotWaiter& waiter);
  asio::awaitable<After> send_refusal();
  bool must_go_by_https() const noexcept;
  asio::awaitable<After> send_redirect();
  std::string_view who(http::Fields fields) const;  // the client's address, as far as it may be believed
  bool may_purge() const;
  asio::awaitable<After> send_purge();
  int status_for(shield::FailureKind failure) const noexcept;
  asio::awaitable<After> send_failure(shield::FailureKind failure);
  asio::awaitable<After> send_body_fault(BodyRead fault);
  asio::awaitable<After> send_own(OwnAnswer answer, observe::Outcome outcome);
  asio::awaitable<After> leave();
  asio::awaitable<void> end_upload();
  void count(observe::Outcome outcome) noexcept;
  void tell_access() const noexcept;
  bool is_last() noexcept;
  base::Duration no_progress() const noexcept { return settings().limits.body_timeout; }
  config::Settings const& settings() const noexcept { return *settings_; }

  Local& local_;
  Client* client_ = nullptr;
  http::Request request_;
  http::Fields as_it_came_;             // the fields of `request_` before edits
  std::vector<http::Field> edited_;     // and after, if there are any (HDR-1)
  std::vector<http::Field> forwarded_;  // as the origin gets them; empty until `see_as_forwarded`
  std::string authority_;               // normalised; storage for `request_.authority`
  bool is_edited_ = false;
  bool identity_forbidden_ = false;  // KEY-5
  bool seen_ = false;                // edited and counted: `decide` may be called again
  bool looks_only_ = false;          // `explain`
  base::Now came_;
  Snapshot const* snapshot_ = nullptr;
  config::Settings const* settings_ = nullptr;  // of `snapshot_`; both kept alive by `settings_hold_` from `hold_request` on
  std::shared_ptr<config::Settings const> settings_hold_;
  Routed routed_;
  OriginState* origin_ = nullptr;
  std::string rewritten_;  // storage for `target_`
  cache::ForwardTarget target_;
  cache::KeyBytes key_;
  std::uint64_t hash_ = 0;
  std::uint64_t must_see_ = 0;  // COA-14: a purge that it learned of from an answer
  cache::Asker asker_;
  Decision decision_;
  std::unique_ptr<Own> own_;
  base::Ref<Upload> upload_;
  base::Ref<Tunnel> tunnel_;
  std::shared_ptr<std::string> body_;        // read by `gather_body`: whole if there is a `digest_`, else its begin
  std::optional<cache::BodyDigest> digest_;  // COA-12
  std::size_t written_ = 0;                  // of a hit, by `answer_at_once`
  std::string begun_;                        // what `compose_hit` wrote for it
  std::string joined_selector_;              // of the slot that was waited on last
  std::uint8_t turned_away_ = 0;             // COA-5: how often an answer could not be shared with this request
  std::uint8_t rounds_ = 0;
  bool close_ = false;
  bool ends_ = true;  // the answer's head said that it is the connection's last
  // For the access log: the answer as it was begun, and when.
  struct Sent {
    observe::Outcome outcome = observe::Outcome::error;
    base::SteadyTime began{};
    int status = 0;
    std::uint64_t body_bytes = 0;
    bool whole = true;
  } sent_;
};

}  // namespace weir::proxy
