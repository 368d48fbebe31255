// One fetch under way as others see it: a head (or an error) and a body that only grows. The fetch (proxy/fetch) is its only
// writer; readers hold a Ref and a Reader. Bodies of known length that will be stored grow in their final place
// (`StoredResponse::body_area`), others in 16 KiB blocks. Threads: the writer's calls from its worker, the rest from any;
// one mutex a flight, never held across a call out; a caller may hold a shard's mutex of the flight table.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/cache/stored_response.hpp"
#include "weir/cache/vary.hpp"
#include "weir/shield/waiter.hpp"

namespace weir::shield {

struct Slot;  // the flight table's own
struct SlotWaiter;

// Why a fetch ended without a usable answer. The labels are Proxy-Status error types (RFC 9209) where one fits.
enum class FailureKind : std::uint8_t {
  internal,  // our own mistake, an exception, no memory
  dns,
  connect_refused,
  connect_timeout,
  tls,
  connection_broken,
  read_timeout,
  bad_response,
  response_too_large,
  queue_full,
  queue_timeout,
  breaker_open,
  shutting_down,
  abandoned,
  loop,
  elsewhere,  // another node that fetches for all was told 503 (COA-11)
};
struct Failure {
  FailureKind kind = FailureKind::internal;
};
// "connection_refused"; RFC 9209 2.3.
std::string_view proxy_error(FailureKind kind) noexcept;
// 502, 503 or 504; 508 for a loop (FWD-6).
int status_of(FailureKind kind) noexcept;

// What a fetch publishes once its response's head is there. Immutable after `publish`.
struct FlightHead {
  int status = 0;
  std::string head;                     // as cache::build_head made it: no framing fields
  std::string leader_only;              // field lines that only the requester who caused the fetch gets (private="f")
  std::optional<std::uint64_t> length;  // complete length, if the origin said it
  bool no_body = false;                 // HEAD, 204, 304: length is information only
  cache::Facts facts;                   // meaningful when `shareable`
  std::vector<cache::Tag> tags;         // what purges may name it by (PRG-1)
  std::string selector;                 // of the request that was sent, for the response's Vary; empty: no Vary
  bool shareable = false;               // to those who joined before it came
  bool joinable = false;                // to those who come later (COA-17); counts only with `shareable` and `stored`
  bool stored = false;                  // will be stored if it arrives whole
  bool kept = true;                     // false: held whole as if it were to be stored, and gone with its flight (COA-12)
  bool origin_error = false;            // 500, 502, 503, 504 (COA-5): goes to every waiter
  std::string_view etag() const noexcept { return std::string_view(head).substr(facts.etag.offset, facts.etag.size); }
  std::string_view last_modified() const noexcept {
    return std::string_view(head).substr(facts.last_modified.offset, facts.last_modified.size);
  }
};

inline constexpr std::size_t block_size = std::size_t{16} * 1024;

// A piece of body, counted: a reader that writes from it keeps it alive.
struct Block : base::Counted<Block> {
  explicit Block(cache::MemoryAccount& a) noexcept : account(&a) { account->add(sizeof(Block)); }
  ~Block() { account->subtract(sizeof(Block)); }
  cache::MemoryAccount* account;
  std::size_t size = 0;     // bytes written; only the writer changes it, under the flight's mutex
  std::size_t readers = 0;  // whose cursor is in it; under the flight's mutex
  char bytes[block_size];
};

enum class BodyState : std::uint8_t {
  broken,   // the fetch ended before the body did: the reader must break its message (COA-10)
  cut_off,  // this reader fell a whole window behind (COA-9)
  growing,
  complete,
};

class Flight;

// A unit of interest in a flight: as long as somebody holds one, the fetch is wanted (COA-2). The table gives one to each
// waiter it tells `head` and to each request that may `read_now`; a Reader takes it over. The flight's own ticket holds one
// until it has published. When the last one goes, the fetch is told (`Flight::set_on_interest`).
class Interest {
 public:
  Interest() = default;
  Interest(base::Ref<Flight> flight) noexcept;  // NOLINT: a counted pointer and a unit of interest are one thing to a reader
  Interest(Interest&& other) noexcept = default;
  Interest& operator=(Interest&& other) noexcept;
  ~Interest() { reset(); }
  void reset() noexcept;

  explicit operator bool() const noexcept { return flight_ != nullptr; }
  Flight* operator->() const noexcept { return flight_.get(); }
  Flight& operator*() const noexcept { return *flight_; }
  base::Ref<Flight> const& flight() const noexcept { return flight_; }

 private:
  base::Ref<Flight> flight_;
};

// One reader's place in one body. Owned by the reading coroutine; registers in its constructor, departs in its destructor.
class Reader {
 public:
  explicit Reader(Interest interest) noexcept;
  ~Reader();
  Reader(Reader const&) = delete;
  Reader& operator=(Reader const&) = delete;

  struct Chunk {
    BodyState state = BodyState::growing;
    std::span<char const> bytes;  // may be empty while growing; valid until the next call of `peek` or `advance`
  };
  // What is there at the cursor, at most `limit` bytes. `complete` only once the cursor is at the end. `broken` comes at
  // once, with what is there: whoever has sent nothing yet need not begin. `cut_off` comes without bytes.
  Chunk peek(std::size_t limit = std::size_t{256} * 1024) noexcept;
  // Moves the cursor over bytes that were written to the client; may free blocks and wake the writer. `now`: what this
  // reader has delayed the writer by (COA-9) is counted up to it.
  void advance(std::size_t bytes, base::SteadyTime now) noexcept;
  std::uint64_t cursor() const noexcept { return cursor_; }
  // Links `waiter` if there is nothing new at the cursor and the body still grows; false: call `peek` again.
  bool wait(Waiter& waiter) noexcept;
  // For a waiter whose timer came first: true if it was still linked (and now is free).
  bool cancel_wait(Waiter& waiter) noexcept;
  // Links `waiter` until this reader is cut off, whatever its owner does meanwhile; false: it is cut off already. One.
  bool wait_for_cut_off(Waiter& waiter) noexcept;
  bool cancel_wait_for_cut_off(Waiter& waiter) noexcept;  // true: it was still linked (and now is free)

 private:
  friend class Flight;
  Interest flight_;
  base::ListHook hook_;
  base::Ref<Block> pinned_;
  std::uint64_t cursor_ = 0;   // changed under the flight's mutex, by its owner only
  Waiter* waiting_ = nullptr;  // linked; under the flight's mutex
  WaiterList cut_off_waiter_;  // under the flight's mutex
  base::Duration delay_{};     // of the writer by this reader, in all; under the flight's mutex
  bool cut_off_ = false;       // under the flight's mutex
};

class Flight : public base::Counted<Flight> {
 public:
  // `worker`: of the fetch. `began`: its place in the order in which this process's fetches began. Throws std::bad_alloc.
  Flight(Waker& waker, cache::MemoryAccount& account, std::uint16_t worker, std::uint64_t purge_number, std::uint64_t began);
  ~Flight();

  std::uint16_t worker() const noexcept { return worker_; }
  std::uint64_t purge_number() const noexcept { return purge_number_; }
  std::uint64_t began() const noexcept { return began_; }

  // ---- the writer ----
  // Once, before the head is published through the table. With `place` (known length, to be stored) the body grows in
  // place->body_area(), else in blocks. `window`: bytes that may be held for readers once the body is not (any more) to be
  // stored; one block more may be held. A body that is to be stored is held whole, bounded by its writer (`outgrow`).
  void set_head(std::unique_ptr<FlightHead const> head, base::Ref<cache::StoredResponse> place, std::uint64_t window,
                base::SteadyTime now) noexcept;
  // Where to put the next bytes (1 to block_size, or up to the rest of the place). Empty: the window is full, link a waiter
  // with `wait_for_room`. Throws std::bad_alloc.
  std::span<char> room();
  // They are there: wakes those who wait for bytes. `now` is COA-3's "last body byte".
  void commit(std::size_t bytes, base::SteadyTime now) noexcept;
  bool wait_for_room(Waiter& waiter, base::SteadyTime now) noexcept;  // false: there is room
  bool cancel_wait_for_room(Waiter& waiter) noexcept;
  void finish(bool whole) noexcept;  // once; complete or broken
  // COA-9: it outgrew max_object and is not stored. First `LeaderTicket::close_to_newcomers`, then this; then look at
  // `interest`, as the last may have gone while it was still to be stored. Blocks before the slowest reader are freed, and
  // `room` may be refused.
  void outgrow() noexcept;
  // Each reader a whole window behind may delay the writer by `allowance` in all: those who did are cut off; returns how
  // many. Who was given the head and does not begin to read for so long is cut off when it does. While the writer waits for
  // room `next_cut_off` is when this may change next.
  std::size_t cut_off_stalled(base::Duration allowance, base::SteadyTime now) noexcept;
  base::SteadyTime next_cut_off(base::Duration allowance) const noexcept;
  std::uint64_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  // For storing a body of unknown length: copies all blocks. By the writer, when all bytes are there (before `finish` says
  // so, COA-1) and it was never outgrown.
  void copy_to(char* out) const noexcept;
  // Set by the fetch before it starts; called from any thread (also from inside `publish_head`), outside every mutex, when
  // the last interest goes, or the only one who waits for a head that nobody may join, or when somebody joins what was begun
  // in the background. It must be quick and not throw, and looks again on the fetch's own worker: newcomers may have joined
  // a body that is to be stored, and it may be called more than once. `clear` waits for a call that is under way; the
  // ticket's destructor clears too, so `context` outlives the ticket.
  void set_on_interest(void (*call)(void*) noexcept, void* context) noexcept;
  void clear_on_interest() noexcept;

  // SRV-7: what is kept of the interim responses of one fetch.
  static constexpr std::size_t max_interims = 8;
  static constexpr std::size_t max_interim_bytes = std::size_t{16} * 1024;

  // ---- everyone ----
  FlightHead const* head() const noexcept { return head_.load(std::memory_order_acquire); }
  BodyState body_state() const noexcept { return state_.load(std::memory_order_acquire); }  // never cut_off
  // Units of interest: readers, those who are about to read, and the ticket until it has published. The fetch looks at this
  // when its answer cannot be stored.
  std::size_t interest() const noexcept { return interest_.load(std::memory_order_acquire); }
  // When the permit was taken; when the last bytes (or the head) came.
  std::optional<base::SteadyTime> started() const noexcept { return read_time(started_); }
  std::optional<base::SteadyTime> progressed() const noexcept { return read_time(progressed_); }

  // An invalidation came after it began (COA-14): it takes no newcomers and its entry is not stored. Set by the table.
  bool overruled() const noexcept { return overruled_.load(std::memory_order_acquire); }
  void overrule() noexcept { overruled_.store(true, std::memory_order_release); }
  // FWD-7: begun for nobody, and nobody has joined since. Changed by the table.
  bool in_background() const noexcept { return background_.load(std::memory_order_acquire); }

 private:
  friend class Reader;
  friend class Interest;
  friend class LeaderTicket;
  friend class FlightTable;
  friend void offer_interims(Slot const& slot, SlotWaiter& waiter) noexcept;
  using Time = std::atomic<base::SteadyTime::rep>;
  static constexpr auto no_time = std::numeric_limits<base::SteadyTime::rep>::min();
  static std::optional<base::SteadyTime> read_time(Time const& time) noexcept;
  static bool unlink_room_waiter(Waiter& waiter) noexcept;

  void begin_in_background() noexcept { background_.store(true, std::memory_order_release); }
  bool take_from_background() noexcept {  // true: it was
    return background_.load(std::memory_order_relaxed) && background_.exchange(false, std::memory_order_acq_rel);
  }
  void drop_interest() noexcept;
  void tell_interest() noexcept;
  // All below: under the mutex.
  std::size_t block_of(std::uint64_t offset) const noexcept { return (offset - first_offset_) / block_size; }
  std::size_t& readers_at(std::uint64_t offset) noexcept;
  bool full() const noexcept;
  void release_passed_blocks(bool wait_for_late) noexcept;
  void choose_byte_waiters(WaiterList& chosen) noexcept;
  void choose_room_waiter(WaiterList& chosen) noexcept;
  base::Duration stalled_for(base::SteadyTime now) const noexcept;

  Waker& waker_;
  cache::MemoryAccount& account_;
  std::uint16_t worker_;
  std::uint64_t purge_number_;
  std::uint64_t began_;
  std::atomic<FlightHead const*> head_{nullptr};
  std::atomic<std::uint64_t> size_{0};  // bytes of body there
  std::atomic<std::size_t> interest_{0};
  std::atomic<bool> overruled_{false};
  std::atomic<bool> background_{false};
  std::atomic<BodyState> state_{BodyState::growing};  // written under the mutex
  Time started_{no_time};
  Time progressed_{no_time};
  std::atomic<std::uint32_t> interest_calls_{0};  // under way
  std::vector<std::string> interims_;             // SRV-7; under the mutex of the table's shard, like purge_number_

  mutable std::mutex mutex_;  // guards all below
  std::unique_ptr<FlightHead const> head_owner_;
  base::Ref<cache::StoredResponse> place_;
  std::deque<base::Ref<Block>> blocks_;  // all but the last are full
  std::uint64_t first_offset_ = 0;       // of blocks_.front()
  std::size_t window_blocks_ = 0;
  bool windowed_ = false;       // blocks may be dropped
  std::size_t registered_ = 0;  // readers
  std::size_t at_end_ = 0;      // of these: at a block that is not there yet
  base::List<Reader, &Reader::hook_> readers_;
  WaiterList byte_waiters_;
  WaiterList room_waiter_;
  std::optional<base::SteadyTime> stalled_since_;  // the writer waits for those in the first block
  void (*on_interest_)(void*) noexcept = nullptr;
  void* interest_context_ = nullptr;
};

}  // namespace weir::shield
