// The flight table under threads: what must hold whatever the order.
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stage.hpp"
#include "workers.hpp"

namespace weir::shield {
namespace {

// The whole body, waiting for bytes as a session does.
std::string read_to_end(Workers& workers, std::size_t worker, Reader& reader, BodyState& end) {
  std::string bytes;
  Waiter waiter;
  waiter.worker = static_cast<std::uint16_t>(worker);
  for (;;) {
    bytes += read(reader);
    end = reader.peek().state;
    if (end != BodyState::growing) return bytes;
    if (reader.wait(waiter)) workers.wait(worker, waiter);
  }
}

// COA-1, COA-9: 8 callers, 10,000 rounds: exactly 10,000 leads, and everyone reads the same whole body.
TEST(FlightRace, eight_callers_ten_thousand_rounds_exactly_ten_thousand_leads) {
  constexpr std::size_t callers = 8, rounds = 10'000;
  Workers workers;
  cache::MemoryAccount account;
  cache::PurgeNumber purges;
  FlightTable table(workers, account, purges);
  CoalesceRules const rules;
  std::atomic<std::size_t> leads{0}, wrong{0};
  Gate all(callers);
  in_threads(callers, [&](std::size_t worker) {
    for (std::size_t round = 0; round < rounds; ++round) {
      auto const body = "body of round " + std::to_string(round);
      SlotWaiter waiter;
      waiter.worker = static_cast<std::uint16_t>(worker);
      all.arrive_and_wait();
      auto result = table.join(Stage::key("/hot"), waiter, waiter.worker, rules, at(0));
      if (result.joined == Joined::leading) {
        leads.fetch_add(1);
        auto& flight = result.ticket.flight();
        flight.set_head(make_head(cacheable), nullptr, 0, at(0));
        result.ticket.publish_head();
        grow(flight, std::string_view(body).substr(0, 7));
        grow(flight, std::string_view(body).substr(7));
        flight.finish(true);
      }
      workers.wait(worker, waiter);
      if (result.joined != Joined::read_now && waiter.told != Told::head) wrong.fetch_add(1);
      Reader reader(result.joined == Joined::read_now ? std::move(result.flight) : std::move(waiter.flight));
      auto end = BodyState::growing;
      if (read_to_end(workers, worker, reader, end) != body || end != BodyState::complete) wrong.fetch_add(1);
      all.arrive_and_wait();  // everybody has joined: now it may leave
    }
  });
  EXPECT_EQ(leads.load(), rounds);
  EXPECT_EQ(wrong.load(), 0U);
  EXPECT_EQ(table.flights(), 0U);
  EXPECT_EQ(table.waiting(), 0U);
  EXPECT_EQ(account.bytes(), 0U);
}

// Clients that join, give up, replace and leave, fetches that end in every way on any thread, and invalidations between.
class Chaos {
 public:
  static constexpr std::size_t threads = 6, keys = 3;

  void run(std::size_t steps) {
    in_threads(threads, [&](std::size_t worker) {
      std::mt19937 random(static_cast<unsigned>(worker + 1));
      for (std::size_t step = 0; step < steps; ++step) request(worker, random);
      while (fetch_one(random)) {}
    });
    std::mt19937 random(99);
    while (fetch_one(random)) {}
    EXPECT_EQ(wrong_.load(), 0U);
    EXPECT_GT(heads_.load(), 0U);
    EXPECT_GT(given_up_.load(), 0U);
    EXPECT_EQ(table_.flights(), 0U);
    EXPECT_EQ(table_.waiting(), 0U);
    EXPECT_TRUE(table_.rows(10).empty());
    EXPECT_EQ(account_.bytes(), 0U);
  }

 private:
  static bool chance(std::mt19937& random, unsigned percent) { return random() % 100 < percent; }

  void request(std::size_t worker, std::mt19937& random) {
    auto const number = random() % keys;
    auto const primary = "/" + std::to_string(number);
    if (chance(random, 5)) {
      auto const purge = purges_.next();
      table_.overrule(primary, base::hash_bytes(primary), purge);
      auto seen = overruled_[number].load();
      while (seen < purge && !overruled_[number].compare_exchange_weak(seen, purge)) {}
    }
    auto const must_see = overruled_[number].load();
    SlotWaiter waiter;
    waiter.worker = static_cast<std::uint16_t>(worker);
    auto const key = Stage::key(primary, chance(random, 30) ? "de" : "");
    auto const now = at(seconds_.fetch_add(1) / 100.0);
    auto result = chance(random, 5) ? JoinResult{Joined::leading, {}, table_.alone(key, waiter, waiter.worker)}
                                    : table_.join(key, waiter, waiter.worker, rules_, now);
    if (result.ticket) take(std::move(result.ticket), random);
    if (result.joined == Joined::read_now) return read_some(worker, std::move(result.flight), must_see, random);
    if (result.joined == Joined::overflow) return;
    if (chance(random, 30)) {
      if (auto ticket = table_.replace_overdue(waiter, waiter.worker, rules_, now + std::chrono::seconds(5)))
        take(std::move(*ticket), random);
    }
    if (chance(random, 50)) {
      for (auto patience = random() % 4; patience > 0; --patience) {
        workers_.deliver(worker);
        fetch_one(random);
      }
      if (waiter.state.load() != WaiterState::free && table_.cancel(waiter)) {
        given_up_.fetch_add(1);
        return;
      }
    }
    fetch_all(random);
    workers_.wait(worker, waiter, [&] { fetch_all(random); });
    told(worker, waiter, must_see, random);
  }

  void told(std::size_t worker, SlotWaiter& waiter, std::uint64_t must_see, std::mt19937& random) {
    if (waiter.told == Told::nothing) wrong_.fetch_add(1);
    if (waiter.told != Told::head) return;
    auto const& head = *waiter.flight->head();
    if (!head.shareable && !head.origin_error && !waiter.leader) wrong_.fetch_add(1);
    read_some(worker, std::move(waiter.flight), must_see, random);
  }

  void read_some(std::size_t worker, Interest flight, std::uint64_t must_see, std::mt19937& random) {
    heads_.fetch_add(1);
    // COA-14: not one that began before an invalidation that this request came after.
    if (flight->purge_number() < must_see) wrong_.fetch_add(1);
    if (chance(random, 20)) return;
    Reader reader(std::move(flight));
    Waiter waiter;
    waiter.worker = static_cast<std::uint16_t>(worker);
    for (auto left = random() % 20; left > 0; --left) {
      auto const chunk = reader.peek(1000);
      if (chunk.state != BodyState::growing) return;
      for (auto const c : chunk.bytes)
        if (c != 'x') wrong_.fetch_add(1);
      reader.advance(chunk.bytes.size(), at(0));
      if (!reader.wait(waiter)) continue;
      if (chance(random, 50) && reader.cancel_wait(waiter)) return;
      workers_.wait(worker, waiter, [&] { fetch_all(random); });
    }
  }

  // Runs it now or leaves it to whoever comes.
  void take(LeaderTicket ticket, std::mt19937& random) {
    ticket.flight().set_on_interest([](void* chaos) noexcept { static_cast<Chaos*>(chaos)->abandoned_.fetch_add(1); }, this);
    if (chance(random, 20)) return fetch(std::move(ticket), random);
    {
      std::lock_guard const lock(mutex_);
      tickets_.push_back(std::move(ticket));
    }
    workers_.poke();
  }
  void fetch_all(std::mt19937& random) {
    while (fetch_one(random)) {}
  }
  bool fetch_one(std::mt19937& random) {
    LeaderTicket ticket;
    {
      std::lock_guard const lock(mutex_);
      if (tickets_.empty()) return false;
      auto& any = tickets_[random() % tickets_.size()];
      ticket = std::move(any);
      any = std::move(tickets_.back());
      tickets_.pop_back();
    }
    fetch(std::move(ticket), random);
    return true;
  }

  void fetch(LeaderTicket ticket, std::mt19937& random) {
    auto const dies = [&] { return chance(random, 5); };
    if (dies()) return;
    ticket.started(at(seconds_.load() / 100.0));
    if (chance(random, 20)) ticket.also_answers("de");
    if (chance(random, 10)) return ticket.publish_by_variant();
    if (chance(random, 10)) return ticket.publish_entry(nullptr, chance(random, 50));
    if (chance(random, 10)) return ticket.publish_failure({FailureKind::dns});
    static constexpr std::array lines{cacheable, cacheable, cacheable, stale_on_arrival, set_cookie, unavailable};
    auto& flight = ticket.flight();
    flight.set_head(make_head(lines[random() % lines.size()]), nullptr, block_size, at(0));
    if (dies()) return;
    ticket.publish_head();
    std::string const bytes(random() % (2 * block_size), 'x');
    for (auto times = random() % 4; times > 0; --times) {
      if (dies()) return;
      grow(flight, bytes);
      flight.cut_off_stalled({}, at(0));
      if (chance(random, 10)) {
        ticket.close_to_newcomers();
        flight.outgrow();
      }
      (void)ticket.wanted();
    }
    flight.finish(chance(random, 80));
    if (chance(random, 50)) ticket.leave();
  }

  Workers workers_;
  cache::MemoryAccount account_;
  cache::PurgeNumber purges_;
  CoalesceRules rules_{.max_waiters = 4, .max_flights = 9, .leader_max_age = std::chrono::milliseconds(50)};
  FlightTable table_{workers_, account_, purges_};
  std::array<std::atomic<std::uint64_t>, keys> overruled_{};
  std::atomic<int> seconds_{0};
  std::atomic<std::size_t> wrong_{0}, heads_{0}, given_up_{0}, abandoned_{0};
  std::mutex mutex_;
  std::vector<LeaderTicket> tickets_;
};

// COA-2, COA-3, COA-4, COA-5, COA-6, COA-14, COA-15
TEST(FlightRace, whatever_happens_everyone_is_answered_and_all_is_given_back) {
  Chaos chaos;
  chaos.run(4000);
}

// COA-2: `clear_on_interest` returns only when no call is under way.
TEST(FlightRace, a_cleared_callback_is_not_called) {
  Workers workers;
  cache::MemoryAccount account;
  for (int round = 0; round < 2000; ++round) {
    base::Ref<Flight> const flight(new Flight(workers, account, 0, 1, 1));
    std::atomic<bool> dead{false}, late{false};
    struct Context {
      std::atomic<bool>& dead;
      std::atomic<bool>& late;
    } context{dead, late};
    flight->set_on_interest(
        [](void* c) noexcept {
          auto& seen = *static_cast<Context*>(c);
          if (seen.dead.load()) seen.late.store(true);
        },
        &context);
    Interest interest(flight);
    in_threads(2, [&](std::size_t which) {
      if (which == 0) {
        interest.reset();
      } else {
        flight->clear_on_interest();
        dead.store(true);
      }
    });
    EXPECT_FALSE(late.load());
  }
}

}  // namespace
}  // namespace weir::shield
