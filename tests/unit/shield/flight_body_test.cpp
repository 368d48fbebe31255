// Bodies: one writer, many readers at their own speed, a window once the body is not stored.
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "stage.hpp"

namespace weir::shield {
namespace {

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + (i * 7 + i / block_size) % 26);
  return bytes;
}

struct Body {
  HeldWaker waker;
  cache::MemoryAccount account;
  base::Ref<Flight> flight{new Flight(waker, account, 0, 1, 1)};

  void head(HeadLine const& line, std::uint64_t window = 1 << 20) {
    flight->set_head(make_head(line), nullptr, window, at(0));
  }
  std::size_t blocks() const { return account.bytes() / sizeof(Block); }
};

constexpr HeadLine not_stored{.joinable = false, .stored = false};

// COA-9: bytes as they come, from the start for a late one, each at its own speed.
TEST(FlightBody, readers_at_their_own_speed) {
  Body body;
  body.head(cacheable);
  Reader early(body.flight);
  EXPECT_EQ(early.peek().state, BodyState::growing);
  EXPECT_TRUE(early.peek().bytes.empty());
  auto const whole = pattern(3 * block_size + 100);
  grow(*body.flight, whole.substr(0, 10));
  EXPECT_EQ(read(early), whole.substr(0, 10));
  grow(*body.flight, whole.substr(10));
  Reader late(body.flight);
  EXPECT_EQ(read(late, 1000), whole);
  EXPECT_EQ(read(early), whole.substr(10));
  EXPECT_EQ(early.peek().state, BodyState::growing);
  body.flight->finish(true);
  EXPECT_EQ(early.peek().state, BodyState::complete);
  EXPECT_EQ(early.cursor(), whole.size());
  Reader after_the_end(body.flight);
  EXPECT_EQ(after_the_end.peek().state, BodyState::growing);  // not at its end yet
  EXPECT_EQ(read(after_the_end), whole);
  EXPECT_EQ(after_the_end.peek().state, BodyState::complete);
  std::string copy(whole.size(), '\0');
  body.flight->copy_to(copy.data());
  EXPECT_EQ(copy, whole);
}

// COA-9: a body of known length grows in its final place and is never copied.
TEST(FlightBody, in_its_final_place) {
  Body body;
  auto const whole = pattern(100'000);
  auto place = cache::StoredResponse::make({"/a", "", "HTTP/1.1 200 \r\n", cache::Facts()}, whole.size(), body.account);
  auto const before = body.account.bytes();
  body.flight->set_head(make_head({.length = whole.size()}), place, 0, at(0));
  Reader reader(body.flight);
  EXPECT_EQ(body.flight->room().size(), whole.size());
  grow(*body.flight, whole.substr(0, 60'000));
  EXPECT_EQ(body.flight->room().data(), place->body_area() + 60'000);
  EXPECT_EQ(reader.peek(1'000'000).bytes.size(), 60'000U);
  EXPECT_EQ(reader.peek(1'000'000).bytes.data(), place->body_area());
  reader.advance(59'999, at(0));
  EXPECT_EQ(reader.peek(1'000'000).bytes.size(), 1U);
  reader.advance(1, at(0));
  Waiter room;
  EXPECT_FALSE(body.flight->wait_for_room(room, at(0)));
  grow(*body.flight, whole.substr(60'000));
  body.flight->outgrow();  // not stored after all: what is there stays
  EXPECT_EQ(read(reader), whole.substr(60'000));
  body.flight->finish(true);
  EXPECT_EQ(reader.peek().state, BodyState::complete);
  EXPECT_EQ(place->body(), whole);
  EXPECT_EQ(body.account.bytes(), before);
}

// COA-9, COA-16: only those who wait for bytes are woken.
TEST(FlightBody, waiting_for_bytes) {
  Body body;
  body.head(cacheable);
  Reader ahead(body.flight), behind(body.flight);
  Waiter first, second;
  EXPECT_TRUE(ahead.wait(first));
  EXPECT_EQ(first.state.load(), WaiterState::linked);
  grow(*body.flight, "xy");
  EXPECT_EQ(first.state.load(), WaiterState::chosen);
  EXPECT_FALSE(ahead.cancel_wait(first));
  EXPECT_EQ(body.waker.deliver(), 1U);
  EXPECT_FALSE(behind.wait(second));  // there is something
  EXPECT_EQ(read(ahead), "xy");
  EXPECT_TRUE(ahead.wait(first));
  EXPECT_TRUE(ahead.cancel_wait(first));
  grow(*body.flight, "z");
  EXPECT_EQ(body.waker.deliver(), 0U);
  EXPECT_EQ(read(ahead), "z");
  EXPECT_EQ(read(behind), "xyz");
  EXPECT_TRUE(ahead.wait(first));
  EXPECT_TRUE(behind.wait(second));
  body.flight->finish(true);
  EXPECT_EQ(body.waker.deliver(), 2U);
  EXPECT_FALSE(ahead.wait(first));
}

// COA-10: a broken body is never complete, and says so at once with what is there.
TEST(FlightBody, broken) {
  Body body;
  body.head(cacheable);
  Reader reader(body.flight), waiting(body.flight);
  grow(*body.flight, "half");
  EXPECT_EQ(read(waiting), "half");
  Waiter waiter;
  EXPECT_TRUE(waiting.wait(waiter));
  body.flight->finish(false);
  EXPECT_EQ(body.waker.deliver(), 1U);
  EXPECT_EQ(body.flight->body_state(), BodyState::broken);
  EXPECT_EQ(reader.peek().state, BodyState::broken);
  EXPECT_EQ(reader.peek().bytes.size(), 4U);
  EXPECT_EQ(read(reader), "half");
  EXPECT_EQ(reader.peek().state, BodyState::broken);
  EXPECT_EQ(waiting.peek().state, BodyState::broken);
}

// COA-10
TEST(FlightBodyDeathTest, a_short_body_is_not_whole) {
  Body body;
  body.head({.length = 5});
  grow(*body.flight, "four");
  EXPECT_DEATH(body.flight->finish(true), "size\\(\\) == \\*head_owner_->length");
}

// HEAD and 304: the length is information.
TEST(FlightBody, no_body) {
  Body body;
  auto head = std::make_unique<FlightHead>();
  head->length = 5;
  head->no_body = true;
  body.flight->set_head(std::move(head), nullptr, 0, at(3));
  body.flight->finish(true);
  EXPECT_EQ(body.flight->progressed(), at(3));
  Reader reader(body.flight);
  EXPECT_EQ(reader.peek().state, BodyState::complete);
}

// COA-9: what is not stored is held within the window; the slowest reader holds the writer, and its departure frees it.
TEST(FlightBody, a_window_for_what_is_not_stored) {
  Body body;
  body.head(not_stored, 2 * block_size);
  auto const whole = pattern(8 * block_size);
  auto fast = std::make_unique<Reader>(body.flight), slow = std::make_unique<Reader>(body.flight);
  grow(*body.flight, whole);
  EXPECT_EQ(body.flight->size(), 3 * block_size);  // the window and one block
  EXPECT_TRUE(body.flight->room().empty());
  Waiter room;
  EXPECT_TRUE(body.flight->wait_for_room(room, at(0)));
  EXPECT_EQ(read(*fast), whole.substr(0, 3 * block_size));
  EXPECT_EQ(room.state.load(), WaiterState::linked);
  EXPECT_EQ(body.blocks(), 3U);
  slow->advance(block_size - 1, at(0));
  EXPECT_EQ(room.state.load(), WaiterState::linked);
  slow->advance(1, at(0));
  EXPECT_EQ(room.state.load(), WaiterState::chosen);
  EXPECT_EQ(body.waker.deliver(), 1U);
  EXPECT_EQ(body.blocks(), 2U);
  EXPECT_FALSE(body.flight->wait_for_room(room, at(0)));
  grow(*body.flight, whole.substr(3 * block_size));
  EXPECT_EQ(body.flight->size(), 4 * block_size);
  EXPECT_TRUE(body.flight->wait_for_room(room, at(0)));
  EXPECT_TRUE(body.flight->cancel_wait_for_room(room));
  EXPECT_TRUE(body.flight->wait_for_room(room, at(0)));
  EXPECT_EQ(read(*fast), whole.substr(3 * block_size, block_size));
  slow.reset();
  EXPECT_EQ(room.state.load(), WaiterState::chosen);
  EXPECT_EQ(body.waker.deliver(), 1U);
  EXPECT_EQ(body.blocks(), 0U);
  grow(*body.flight, whole.substr(4 * block_size, 10));
  EXPECT_EQ(read(*fast), whole.substr(4 * block_size, 10));
  fast.reset();
  // Nobody reads: it may grow for ever without holding anything.
  for (int i = 0; i < 100; ++i) grow(*body.flight, whole);
  EXPECT_LE(body.blocks(), 1U);
}

// COA-9: it outgrows max_object in the middle and stays correct for all who joined.
TEST(FlightBody, outgrown) {
  Body body;
  body.head(cacheable, 4 * block_size);
  auto const whole = pattern(9 * block_size);
  Reader fast(body.flight), slow(body.flight);
  grow(*body.flight, whole.substr(0, 5 * block_size));
  EXPECT_EQ(read(fast), whole.substr(0, 5 * block_size));
  slow.advance(2 * block_size, at(0));
  EXPECT_EQ(body.blocks(), 5U);  // it is to be stored
  body.flight->outgrow();
  EXPECT_EQ(body.blocks(), 3U);
  grow(*body.flight, whole.substr(5 * block_size, 2 * block_size));
  EXPECT_TRUE(body.flight->room().empty());
  EXPECT_EQ(read(slow), whole.substr(2 * block_size, 5 * block_size));
  EXPECT_EQ(read(fast), whole.substr(5 * block_size, 2 * block_size));
  grow(*body.flight, whole.substr(7 * block_size));
  body.flight->finish(true);
  EXPECT_EQ(read(slow), whole.substr(7 * block_size));
  EXPECT_EQ(slow.peek().state, BodyState::complete);
  // Who was not there in time cannot have it.
  Reader late(body.flight);
  EXPECT_EQ(late.peek().state, BodyState::cut_off);
}

// COA-9: the stall allowance is used up.
TEST(FlightBody, readers_a_whole_window_behind_are_cut_off) {
  Body body;
  body.head(not_stored, 2 * block_size);
  auto const whole = pattern(6 * block_size);
  Reader fast(body.flight), slow(body.flight), slower(body.flight);
  EXPECT_EQ(body.flight->cut_off_stalled({}, at(0)), 0U);
  grow(*body.flight, whole);
  read(fast);
  slow.advance(block_size, at(0));
  slower.advance(block_size - 1, at(0));
  auto const in_hand = slower.peek().bytes;  // it is being written to a client
  Waiter room;
  EXPECT_TRUE(body.flight->wait_for_room(room, at(0)));
  EXPECT_EQ(body.flight->cut_off_stalled({}, at(0)), 1U);
  EXPECT_EQ(body.waker.deliver(), 1U);
  EXPECT_EQ(body.blocks(), 3U);  // the one in hand is still there
  EXPECT_EQ(in_hand[0], whole[block_size - 1]);
  slower.advance(1, at(0));
  EXPECT_EQ(slower.peek().state, BodyState::cut_off);
  EXPECT_TRUE(slower.peek().bytes.empty());
  Waiter waiter;
  EXPECT_FALSE(slower.wait(waiter));
  EXPECT_EQ(body.blocks(), 2U);
  grow(*body.flight, whole.substr(3 * block_size));
  EXPECT_EQ(body.flight->cut_off_stalled({}, at(0)), 1U);
  EXPECT_EQ(slow.peek().state, BodyState::cut_off);
  EXPECT_EQ(read(fast), whole.substr(3 * block_size, block_size));
}

// COA-9: a delay is charged to whoever causes it, over all its delays, and ends with the block that was waited for.
TEST(FlightBody, each_reader_may_delay_the_writer_for_so_long_in_all) {
  Body body;
  body.head(not_stored, 2 * block_size);
  auto const whole = pattern(6 * block_size);
  auto const allowance = at(10) - at(0);
  Reader fast(body.flight), slow(body.flight), slower(body.flight);
  Waiter room, told, other;
  EXPECT_TRUE(slower.wait_for_cut_off(told));
  EXPECT_TRUE(slow.wait_for_cut_off(other));
  grow(*body.flight, whole);
  read(fast);
  EXPECT_EQ(body.flight->next_cut_off(allowance), base::SteadyTime::max());  // nobody waits yet
  EXPECT_TRUE(body.flight->wait_for_room(room, at(100)));
  slow.advance(block_size, at(104));
  EXPECT_EQ(body.flight->next_cut_off(allowance), at(110));
  EXPECT_EQ(body.flight->cut_off_stalled(allowance, at(109)), 0U);
  slower.advance(block_size, at(109));
  EXPECT_EQ(body.waker.deliver(), 1U);  // the writer
  grow(*body.flight, whole.substr(3 * block_size));
  read(fast);
  EXPECT_TRUE(body.flight->wait_for_room(room, at(200)));
  EXPECT_EQ(body.flight->next_cut_off(allowance), at(201));  // what is left to the slower one
  EXPECT_EQ(body.flight->cut_off_stalled(allowance, at(201)), 1U);
  EXPECT_EQ(told.state.load(), WaiterState::chosen);
  EXPECT_EQ(body.flight->next_cut_off(allowance), at(206));
  EXPECT_EQ(body.flight->cut_off_stalled(allowance, at(205)), 0U);
  EXPECT_EQ(other.state.load(), WaiterState::linked);
  EXPECT_EQ(body.waker.deliver(), 1U);
  EXPECT_FALSE(slower.wait_for_cut_off(told));
  slow.advance(block_size, at(205));
  EXPECT_EQ(body.waker.deliver(), 1U);
  EXPECT_TRUE(slow.cancel_wait_for_cut_off(other));
}

// COA-9: who was given the head and has not begun to read finds the first byte, up to the stall allowance.
TEST(FlightBody, a_late_reader_finds_the_first_byte) {
  Body body;
  body.head(not_stored, 2 * block_size);
  auto const whole = pattern(6 * block_size);
  Interest given(body.flight), given_up(body.flight), too_late(body.flight);
  Reader fast(body.flight);
  grow(*body.flight, whole.substr(0, 3 * block_size));
  EXPECT_EQ(read(fast), whole.substr(0, 3 * block_size));
  EXPECT_EQ(body.blocks(), 3U);
  Reader late(std::move(given));
  EXPECT_EQ(read(late), whole.substr(0, 3 * block_size));
  EXPECT_EQ(body.blocks(), 3U);
  Waiter room;
  EXPECT_TRUE(body.flight->wait_for_room(room, at(0)));
  given_up.reset();
  EXPECT_EQ(room.state.load(), WaiterState::linked);  // one more
  EXPECT_EQ(body.flight->cut_off_stalled({}, at(0)), 0U);
  EXPECT_EQ(room.state.load(), WaiterState::chosen);
  body.waker.deliver();
  Reader reader(std::move(too_late));
  EXPECT_EQ(reader.peek().state, BodyState::cut_off);

  Body other;
  other.head(not_stored, block_size);
  Interest only(other.flight);
  grow(*other.flight, whole.substr(0, 2 * block_size));
  EXPECT_TRUE(other.flight->wait_for_room(room, at(0)));
  only.reset();  // goes without reading: nothing is held any more
  EXPECT_EQ(other.waker.deliver(), 1U);
  EXPECT_EQ(other.blocks(), 0U);
}

// MEM-1: blocks count as long as anybody holds them.
TEST(FlightBody, memory_is_counted) {
  Body body;
  body.head(cacheable);
  EXPECT_EQ(body.account.bytes(), 0U);
  {
    Reader reader(body.flight);
    grow(*body.flight, "x");
    EXPECT_EQ(body.account.bytes(), sizeof(Block));
    body.flight->finish(true);
  }
  body.flight.reset();
  EXPECT_EQ(body.account.bytes(), 0U);
}

// COA-3's clock.
TEST(FlightBody, progress) {
  Body body;
  EXPECT_FALSE(body.flight->progressed());
  EXPECT_FALSE(body.flight->started());
  EXPECT_EQ(body.flight->head(), nullptr);
  body.head(cacheable);
  EXPECT_EQ(body.flight->progressed(), at(0));
  EXPECT_EQ(body.flight->head()->status, 200);
  grow(*body.flight, "x", 4);
  EXPECT_EQ(body.flight->progressed(), at(4));
}

// Frames die in any order at shutdown.
TEST(FlightBody, waiters_and_readers_that_are_destroyed_while_waiting) {
  Body body;
  body.head(not_stored, 0);
  {
    Waiter outer;
    Reader reader(body.flight);
    Waiter inner;
    EXPECT_TRUE(reader.wait(inner));
    inner.let_go();
    EXPECT_EQ(inner.state.load(), WaiterState::free);
    EXPECT_TRUE(reader.wait(outer));
  }
  {
    Waiter room;
    Reader const reader(body.flight);
    grow(*body.flight, pattern(3 * block_size));
    EXPECT_TRUE(body.flight->wait_for_room(room, at(0)));
  }
  // A flight that dies before the waiter for its room.
  Waiter room;
  body.flight = base::Ref<Flight>(new Flight(body.waker, body.account, 0, 1, 1));
  body.head(not_stored, 0);
  Interest held(body.flight);
  grow(*body.flight, pattern(3 * block_size));
  EXPECT_TRUE(body.flight->wait_for_room(room, at(0)));
  body.flight->cut_off_stalled({}, at(0));
  EXPECT_EQ(room.state.load(), WaiterState::chosen);
  body.waker.deliver();
  grow(*body.flight, pattern(block_size * 2));
  held.reset();
  body.flight.reset();
  EXPECT_EQ(body.account.bytes(), 0U);
}

}  // namespace
}  // namespace weir::shield
