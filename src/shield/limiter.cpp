#include "weir/shield/limiter.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include <boost/intrusive/set.hpp>

#include "weir/base/assert.hpp"

namespace weir::shield {
namespace {

// Who waits patiently, at most: all are looked at for each permit that is left over.
constexpr std::uint32_t most_patient = 64;

// One that holds or waits for permits; gone when it does neither.
struct Partition {
  boost::intrusive::set_member_hook<> hook;  // in Lane::order while `queue` is not empty
  std::uint32_t rank = 0;
  std::uint64_t turn = 0;  // of the front of `queue`
  std::uint32_t held = 0;  // background too
  std::uint32_t background = 0;
  std::uint32_t queued = 0;
  std::uint32_t patient = 0;
  WaiterList queue;
};

struct Before {
  bool operator()(Partition const& a, Partition const& b) const noexcept {
    return a.rank != b.rank ? a.rank < b.rank : a.turn < b.turn;
  }
};

// Permits of one kind and the queue for them. Invariant between calls: nobody who waits could be given a permit. The order
// has one node for each partition that waits, so that handing on costs the logarithm of their number whatever the queue.
class Lane {
 public:
  std::uint32_t taken() const noexcept { return taken_; }
  std::uint32_t queued() const noexcept { return queued_; }
  std::uint32_t background() const noexcept { return background_; }

  void set_bounds(std::uint32_t capacity, LimiterRules const& rules) noexcept {
    auto const percent_of = [](std::uint32_t whole, std::uint32_t percent) {
      return static_cast<std::uint32_t>(std::uint64_t{whole} * std::min(percent, 100U) / 100);
    };
    auto const open_to_background = 100 - std::min(rules.foreground_reserve, 100U);
    capacity_ = capacity;
    share_ = std::max(percent_of(capacity, rules.max_partition_share), 1U);
    cap_ = std::clamp(rules.max_per_partition, 1U, share_);
    // At least one, unless everything is reserved: a small limiter still refreshes.
    for_background_ = std::max(percent_of(capacity, open_to_background), open_to_background > 0 ? 1U : 0U);
    partition_background_ = std::max(percent_of(cap_, open_to_background), 1U);
    order_.clear();
    for (auto& [_, partition] : partitions_)
      if (!partition.queue.empty()) enter(partition);
  }

  Partition& partition(std::uint64_t id) { return partitions_[id]; }
  std::uint32_t queued_of(std::uint64_t id) const noexcept {
    auto const found = partitions_.find(id);
    return found == partitions_.end() ? 0 : found->second.queued;
  }
  void forget_idle(std::uint64_t id) noexcept {
    auto const found = partitions_.find(id);
    if (found != partitions_.end() && found->second.held == 0 && found->second.queued == 0 && found->second.patient == 0)
      partitions_.erase(found);
  }

  bool has_room_for(Partition const& partition) const noexcept { return taken_ < capacity_ && partition.held < share_; }
  bool has_background_room_for(Partition const& partition) const noexcept {
    return taken_ < for_background_ && partition.background < partition_background_ && has_room_for(partition);
  }
  // As it stands; one that is not known holds nothing.
  Partition const& known(std::uint64_t id) const noexcept {
    static Partition const idle{};
    auto const found = partitions_.find(id);
    return found == partitions_.end() ? idle : found->second;
  }
  bool take(Partition& partition) noexcept {
    if (!has_room_for(partition)) return false;
    WEIR_ASSERT(partition.queue.empty());
    ++taken_;
    ++partition.held;
    return true;
  }
  bool take_background(Partition& partition) noexcept {
    if (!has_background_room_for(partition) || !take(partition)) return false;
    ++background_;
    ++partition.background;
    return true;
  }

  // WRM-1: the first of the patient ones that may be given a permit now, unlinked and chosen; the permit is counted. Those
  // whose partition is at its bound are skipped.
  PermitWaiter* choose_patient(WaiterList& chosen) noexcept {
    if (taken_ >= for_background_) return nullptr;
    for (auto& each : patient_) {
      auto& waiter = static_cast<PermitWaiter&>(each);
      auto& partition = partitions_.find(waiter.partition)->second;
      if (!take_background(partition)) continue;
      choose(patient_, waiter, chosen);
      uncount_patient(waiter);
      return &waiter;
    }
    return nullptr;
  }
  PermitWaiter* choose_any_patient(WaiterList& chosen) noexcept {
    if (patient_.empty()) return nullptr;
    auto& waiter = static_cast<PermitWaiter&>(patient_.front());
    choose(patient_, waiter, chosen);
    uncount_patient(waiter);
    forget_idle(waiter.partition);
    return &waiter;
  }
  bool cancel_patient(PermitWaiter& waiter) noexcept {
    if (!unlink_if_linked(patient_, waiter)) return false;
    uncount_patient(waiter);
    forget_idle(waiter.partition);
    return true;
  }
  void be_patient(Partition& partition, PermitWaiter& waiter, Waiter::Unlink unlink, void* where) noexcept {
    link(patient_, waiter, unlink, where);
    ++partition.patient;
    ++patients_;
  }
  std::uint32_t patients() const noexcept { return patients_; }

  void give_back(std::uint64_t id, bool background) noexcept {
    auto& partition = partitions_.find(id)->second;
    if (background) to_foreground(id);
    leave(partition);
    --taken_;
    --partition.held;
    enter(partition);
    forget_idle(id);
  }
  void to_foreground(std::uint64_t id) noexcept {
    --background_;
    --partitions_.find(id)->second.background;
  }

  void enqueue(Partition& partition, PermitWaiter& waiter, Waiter::Unlink unlink, void* where) noexcept {
    leave(partition);
    link(partition.queue, waiter, unlink, where);
    ++partition.queued;
    ++queued_;
    enter(partition);
  }
  bool cancel(PermitWaiter& waiter) noexcept {
    if (waiter.state.load(std::memory_order_relaxed) != WaiterState::linked) return false;
    auto& partition = partitions_.find(waiter.partition)->second;
    leave(partition);
    unlink_if_linked(partition.queue, waiter);
    --partition.queued;
    --queued_;
    enter(partition);
    forget_idle(waiter.partition);
    return true;
  }
  // The next to be given a permit, unlinked and chosen; the permit is counted. Null: none can be given.
  PermitWaiter* choose_next(WaiterList& chosen) noexcept {
    if (taken_ >= capacity_ || order_.empty()) return nullptr;
    auto& partition = *order_.begin();
    if (partition.held >= share_) return nullptr;
    auto& waiter = dequeue(partition, chosen);
    ++taken_;
    ++partition.held;
    enter(partition);
    return &waiter;
  }
  // Anyone who waits, unlinked and chosen.
  PermitWaiter* choose_any(WaiterList& chosen) noexcept {
    if (order_.empty()) return nullptr;
    auto& partition = *order_.begin();
    auto& waiter = dequeue(partition, chosen);
    enter(partition);
    forget_idle(waiter.partition);
    return &waiter;
  }

 private:
  PermitWaiter& dequeue(Partition& partition, WaiterList& chosen) noexcept {
    auto& waiter = static_cast<PermitWaiter&>(partition.queue.front());
    leave(partition);
    choose(partition.queue, waiter, chosen);
    --partition.queued;
    --queued_;
    return waiter;
  }
  void uncount_patient(PermitWaiter const& waiter) noexcept {
    --partitions_.find(waiter.partition)->second.patient;
    --patients_;
  }
  void enter(Partition& partition) noexcept {
    if (partition.queue.empty()) return;
    partition.rank = partition.held < cap_ ? 0 : partition.held;
    partition.turn = static_cast<PermitWaiter&>(partition.queue.front()).turn;
    order_.insert(partition);
  }
  void leave(Partition& partition) noexcept {
    if (!partition.queue.empty()) order_.erase(order_.iterator_to(partition));
  }

  std::uint32_t capacity_ = 0;
  std::uint32_t share_ = 1;           // of one partition, at most
  std::uint32_t cap_ = 1;             // of one partition, before others come first
  std::uint32_t for_background_ = 0;  // it is given none beyond so many taken
  std::uint32_t partition_background_ = 1;
  std::uint32_t taken_ = 0;
  std::uint32_t background_ = 0;
  std::uint32_t queued_ = 0;
  std::uint32_t patients_ = 0;
  WaiterList patient_;                                       // first come, first served
  std::unordered_map<std::uint64_t, Partition> partitions_;  // bounded by permits and queue
  boost::intrusive::set<Partition,
                        boost::intrusive::member_hook<Partition, boost::intrusive::set_member_hook<>, &Partition::hook>,
                        boost::intrusive::compare<Before>>
      order_;
};

bool unlink_waiter(Waiter& waiter) noexcept {
  return static_cast<Limiter*>(waiter.where)->cancel(static_cast<PermitWaiter&>(waiter));
}

}  // namespace

struct Limiter::Impl {
  Impl(Waker& w, LimiterRules const& r) noexcept : waker(w) { apply(r); }

  Waker& waker;
  mutable std::mutex mutex;  // guards all below
  LimiterRules rules;
  Lane fetches;
  Lane uploads;
  std::uint32_t streams = 0;
  std::uint32_t most_at_once = 0;
  std::uint64_t turns = 0;  // requests that were queued, ever

  void apply(LimiterRules const& r) noexcept {
    rules = r;
    fetches.set_bounds(rules.max_concurrent, rules);
    uploads.set_bounds(rules.max_uploads, rules);
  }
  Lane& lane(PermitClass permit_class) noexcept { return permit_class == PermitClass::upload ? uploads : fetches; }
  Lane const& lane(PermitClass permit_class) const noexcept {
    return permit_class == PermitClass::upload ? uploads : fetches;
  }
  bool queue_is_full(std::uint64_t id) const noexcept {
    return fetches.queued() + uploads.queued() >= rules.max_queue ||
           fetches.queued_of(id) + uploads.queued_of(id) >= std::max(rules.max_queue / 4, 1U);
  }
  void note_peak() noexcept { most_at_once = std::max(most_at_once, fetches.taken()); }

  Acquire take_stream() noexcept {
    if (streams >= rules.max_streams) return Acquire::queue_full;
    ++streams;
    return Acquire::granted;
  }
  Acquire take_or_queue(PermitWaiter& waiter, Limiter* where) {
    auto& chosen_lane = lane(waiter.permit_class);
    auto& partition = chosen_lane.partition(waiter.partition);
    if (chosen_lane.take(partition)) return Acquire::granted;
    if (queue_is_full(waiter.partition)) {
      chosen_lane.forget_idle(waiter.partition);
      return Acquire::queue_full;
    }
    waiter.turn = ++turns;
    chosen_lane.enqueue(partition, waiter, unlink_waiter, where);
    return Acquire::queued;
  }
  Acquire take_background(PermitWaiter& waiter, Limiter* where) {
    auto& partition = fetches.partition(waiter.partition);
    if (fetches.take_background(partition)) return Acquire::granted;
    if (waiter.patient && fetches.patients() < most_patient) {
      fetches.be_patient(partition, waiter, unlink_waiter, where);
      return Acquire::queued;
    }
    fetches.forget_idle(waiter.partition);
    return waiter.patient ? Acquire::queue_full : Acquire::not_now;
  }
  void give_back(PermitClass permit_class, std::uint64_t partition) noexcept {
    if (permit_class == PermitClass::stream)
      --streams;
    else
      lane(permit_class).give_back(partition, permit_class == PermitClass::background);
  }
};

Permit::Permit(Permit&& other) noexcept
    : limiter_(std::exchange(other.limiter_, nullptr)), class_(other.class_), partition_(other.partition_) {}

Permit& Permit::operator=(Permit&& other) noexcept {
  if (this == &other) return *this;
  release();
  limiter_ = std::exchange(other.limiter_, nullptr);
  class_ = other.class_;
  partition_ = other.partition_;
  return *this;
}

void Permit::release() noexcept {
  if (auto* const limiter = std::exchange(limiter_, nullptr)) limiter->give_back(class_, partition_);
}

bool Permit::move_to_stream() noexcept {
  WEIR_ASSERT(limiter_);
  if (class_ == PermitClass::stream) return true;
  {
    std::lock_guard const lock(limiter_->impl_->mutex);
    if (limiter_->impl_->take_stream() != Acquire::granted) return false;
  }
  limiter_->give_back(std::exchange(class_, PermitClass::stream), partition_);
  return true;
}

void Permit::to_foreground() noexcept {
  if (!limiter_ || class_ != PermitClass::background) return;
  std::lock_guard const lock(limiter_->impl_->mutex);
  limiter_->impl_->fetches.to_foreground(partition_);
  class_ = PermitClass::fetch;
}

Limiter::Limiter(Waker& waker, LimiterRules const& rules) : impl_(std::make_unique<Impl>(waker, rules)) {}

Limiter::~Limiter() {
  auto const& impl = *impl_;
  WEIR_ASSERT(impl.fetches.queued() + impl.uploads.queued() + impl.fetches.patients() == 0);
  WEIR_ASSERT(impl.fetches.taken() + impl.uploads.taken() + impl.streams == 0);
}

Acquire Limiter::acquire(PermitWaiter& waiter) noexcept {
  waiter.permit.release();
  waiter.refused = false;
  auto result = Acquire::queue_full;
  std::lock_guard const lock(impl_->mutex);
  try {
    switch (waiter.permit_class) {
      case PermitClass::stream:
        result = impl_->take_stream();
        break;
      case PermitClass::background:
        result = impl_->take_background(waiter, this);
        break;
      case PermitClass::fetch:
      case PermitClass::upload:
        result = impl_->take_or_queue(waiter, this);
        break;
    }
  } catch (std::bad_alloc const&) {
    return Acquire::queue_full;  // nothing was changed, and a process without memory sheds
  }
  if (result == Acquire::granted) grant(waiter);
  return result;
}

Acquire Limiter::foresee(PermitClass permit_class, std::uint64_t partition) const noexcept {
  auto const& impl = *impl_;
  std::lock_guard const lock(impl.mutex);
  auto const& lane = impl.lane(permit_class);
  switch (permit_class) {
    case PermitClass::stream:
      return impl.streams < impl.rules.max_streams ? Acquire::granted : Acquire::queue_full;
    case PermitClass::background:
      return lane.has_background_room_for(lane.known(partition)) ? Acquire::granted : Acquire::not_now;
    case PermitClass::fetch:
    case PermitClass::upload:
      break;
  }
  if (lane.has_room_for(lane.known(partition))) return Acquire::granted;
  return impl.queue_is_full(partition) ? Acquire::queue_full : Acquire::queued;
}

void Limiter::grant(PermitWaiter& waiter) noexcept {
  waiter.permit.limiter_ = this;
  waiter.permit.class_ = waiter.permit_class;
  waiter.permit.partition_ = waiter.partition;
  impl_->note_peak();
}

bool Limiter::cancel(PermitWaiter& waiter) noexcept {
  std::lock_guard const lock(impl_->mutex);
  if (waiter.permit_class == PermitClass::background) return impl_->fetches.cancel_patient(waiter);
  return impl_->lane(waiter.permit_class).cancel(waiter);
}

void Limiter::hand_on(WaiterList& chosen) noexcept {
  for (auto* lane : {&impl_->fetches, &impl_->uploads})
    while (auto* waiter = lane->choose_next(chosen)) grant(*waiter);
  while (auto* waiter = impl_->fetches.choose_patient(chosen)) grant(*waiter);
}

void Limiter::give_back(PermitClass permit_class, std::uint64_t partition) noexcept {
  WaiterList chosen;
  {
    std::lock_guard const lock(impl_->mutex);
    impl_->give_back(permit_class, partition);
    hand_on(chosen);
  }
  if (!chosen.empty()) impl_->waker.wake(chosen);
}

void Limiter::refuse_all() noexcept {
  WaiterList chosen;
  {
    std::lock_guard const lock(impl_->mutex);
    for (auto* lane : {&impl_->fetches, &impl_->uploads})
      while (auto* waiter = lane->choose_any(chosen)) waiter->refused = true;
    while (auto* waiter = impl_->fetches.choose_any_patient(chosen)) waiter->refused = true;
  }
  if (!chosen.empty()) impl_->waker.wake(chosen);
}

void Limiter::set_rules(LimiterRules const& rules) noexcept {
  WaiterList chosen;
  {
    std::lock_guard const lock(impl_->mutex);
    impl_->apply(rules);
    hand_on(chosen);
  }
  if (!chosen.empty()) impl_->waker.wake(chosen);
}

Limiter::Stats Limiter::stats() const noexcept {
  std::lock_guard const lock(impl_->mutex);
  auto const& impl = *impl_;
  Stats stats;
  stats.background = impl.fetches.background();
  stats.fetches = impl.fetches.taken() - stats.background;
  stats.uploads = impl.uploads.taken();
  stats.streams = impl.streams;
  stats.queued = impl.fetches.queued() + impl.uploads.queued();
  stats.patient = impl.fetches.patients();
  stats.most_at_once = impl.most_at_once;
  stats.queued_ever = impl.turns;
  return stats;
}

}  // namespace weir::shield
