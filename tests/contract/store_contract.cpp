#include "store_contract.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>

#include <gmock/gmock.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "weir/cache/vary.hpp"

namespace weir::store {

using namespace std::chrono_literals;
using cache::Invalidation;
using testing::ElementsAre;
using testing::IsEmpty;

// An instantiation stands in another file.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);

namespace {

boost::asio::awaitable<bool> share(Store& store, cache::Entry entry, base::SteadyTime keep_until,
                                   std::uint32_t max_variants) {
  co_await store.share(std::move(entry), keep_until, max_variants, 0);
  co_return true;
}

}  // namespace

template <class T>
T StoreContract::wait_for(boost::asio::awaitable<T> work) {
  boost::asio::io_context own;
  std::promise<T> result;
  auto const done = [&result](std::exception_ptr error, T value) {
    EXPECT_EQ(error, nullptr);
    result.set_value(std::move(value));
  };
  auto const& context = GetParam().context;
  boost::asio::co_spawn(context ? context(*store_) : own, std::move(work), done);
  own.run();
  return result.get_future().get();
}

std::vector<http::Field> StoreContract::fields(Lines const& lines) {
  std::vector<http::Field> all;
  for (auto const& [name, value] : lines) all.push_back({http::field_id(name), name, value});
  return all;
}

cache::Entry StoreContract::entry(Given const& given) {
  cache::SelectorBytes selector;
  auto const request = fields(given.request);
  if (!given.vary.empty()) cache::append_selector(request, given.vary, rules_, selector);
  cache::StoredResponse::Parts parts{given.key, cache::view(selector), "HTTP/1.1 200 OK\r\n", {}};
  parts.facts.status = 200;
  parts.facts.response_time = now_.steady;
  parts.facts.lifetime = given.lifetime;
  parts.facts.began = given.began;
  parts.facts.purge_number = given.purge_number;
  auto response = cache::StoredResponse::make(parts, given.body.size(), account_);
  std::copy(given.body.begin(), given.body.end(), response->body_area());
  return response;
}

Put StoreContract::put(Given const& given, base::Duration keep, std::uint32_t max_variants) {
  return put_entry(entry(given), keep, max_variants);
}

// What is put is shared, where there is anyone to share with.
Put StoreContract::put_entry(cache::Entry given, base::Duration keep, std::uint32_t max_variants) {
  auto const verdict = store_->put(given, in(keep), max_variants, now());
  if (verdict == Put::stored) wait_for(share(*store_, std::move(given), in(keep), max_variants));
  return verdict;
}

Lookup StoreContract::peek(std::string_view key, Lines const& request) {
  auto const all = fields(request);
  return store_->peek({key, hash(key), all, &rules_}, now());
}

Lookup StoreContract::find(std::string_view key, Lines const& request) {
  auto const all = fields(request);
  return wait_for(store_->find({key, hash(key), all, &rules_, 1}, now()));
}

std::string StoreContract::body(std::string_view key, Lines const& request) {
  auto const found = peek(key, request);
  return found.entry ? std::string(found.entry->body()) : "-";
}

std::size_t StoreContract::invalidate(std::string_view key, Invalidation mode, std::uint64_t number,
                                      base::Duration remember) {
  return store_->invalidate(key, hash(key), mode, number, in(remember), now());
}

TEST_P(StoreContract, knows_nothing_at_first) {
  for (auto const& found : {peek("k"), find("k")}) {
    EXPECT_EQ(found.entry, nullptr);
    EXPECT_EQ(found.overrule.mode, Invalidation::none);
    EXPECT_FALSE(found.hit_for_miss);
    EXPECT_FALSE(found.has_vary_spec);
  }
  EXPECT_THAT(store_->vary_spec("k", hash("k")), IsEmpty());
  EXPECT_EQ(store_->stats().entries, 0U);
}

// KEY-1
TEST_P(StoreContract, returns_what_was_put_under_the_same_key_only) {
  EXPECT_EQ(put({.key = "a", .body = "A"}), Put::stored);
  EXPECT_EQ(put({.key = "b", .body = "B"}), Put::stored);
  EXPECT_EQ(body("a"), "A");
  EXPECT_EQ(body("b"), "B");
  EXPECT_EQ(body("c"), "-");
  EXPECT_EQ(body("aa"), "-");
  EXPECT_EQ(body(""), "-");
  EXPECT_EQ(store_->stats().entries, 2U);
}

TEST_P(StoreContract, find_answers_as_peek_does) {
  put({.body = "one"});
  auto const found = find("k");
  ASSERT_NE(found.entry, nullptr);
  EXPECT_EQ(found.entry->body(), "one");
  EXPECT_FALSE(found.has_vary_spec);
}

TEST_P(StoreContract, entry_outlives_its_store) {
  put({.body = "one"});
  auto found = peek("k");
  store_.reset();
  EXPECT_EQ(found.entry->body(), "one");
  found.entry.reset();
}

// MEM-1
TEST_P(StoreContract, drops_what_has_passed_keep_until) {
  put({}, 10s);
  turn(10s - 1ns);
  EXPECT_EQ(body("k"), "body");
  turn(1ns);
  EXPECT_EQ(body("k"), "-");
  EXPECT_EQ(store_->stats().entries, 0U);
  EXPECT_EQ(store_->stats().expired, 1U);
}

// STO-6
TEST_P(StoreContract, fetch_that_began_last_wins) {
  struct Row {
    char const* name;
    std::uint64_t there, comes;
    Put put;
    char const* left;
  };
  for (auto const& row :
       {Row{"newer", 5, 6, Put::stored, "comes"}, Row{"older", 5, 4, Put::not_newer, "there"},
        Row{"equal", 5, 5, Put::not_newer, "there"}, Row{"zero is before all", 1, 0, Put::not_newer, "there"}}) {
    SCOPED_TRACE(row.name);
    ASSERT_EQ(put({.key = row.name, .began = row.there, .body = "there"}), Put::stored);
    EXPECT_EQ(put({.key = row.name, .began = row.comes, .body = "comes"}), row.put);
    EXPECT_EQ(body(row.name), row.left);
  }
  EXPECT_EQ(store_->stats().entries, 4U);
}

// STO-6
TEST_P(StoreContract, entry_that_expired_does_not_hold_its_place) {
  put({.began = 5}, 10s);
  turn(11s);
  EXPECT_EQ(put({.began = 4, .body = "older"}), Put::stored);
  EXPECT_EQ(body("k"), "older");
}

// STO-6, SRV-2
TEST_P(StoreContract, refresh_counts_by_its_own_began) {
  auto const original = entry({.began = 1});
  put_entry(original);
  cache::StoredResponse::Parts parts{"k", "", "HTTP/1.1 200 OK\r\nAge: 0\r\n", original->facts()};
  parts.facts.began = 5;
  EXPECT_EQ(put_entry(cache::StoredResponse::refreshed(parts, original, account_)), Put::stored);
  EXPECT_EQ(put({.began = 4, .body = "late"}), Put::not_newer);
  auto const found = peek("k");
  EXPECT_EQ(found.entry->facts().began, 5U);
  EXPECT_EQ(found.entry->body(), "body");
  EXPECT_EQ(store_->stats().entries, 1U);
}

// KEY-6
TEST_P(StoreContract, variant_is_used_only_if_it_selects) {
  put({.began = 1, .vary = {"accept-language"}, .request = {{"Accept-Language", "de"}}, .body = "German"});
  put({.began = 2, .vary = {"accept-language"}, .request = {{"Accept-Language", "fr"}}, .body = "French"});
  EXPECT_EQ(body("k", {{"Accept-Language", "de"}}), "German");
  EXPECT_EQ(body("k", {{"Accept-Language", "fr"}}), "French");
  EXPECT_EQ(body("k", {{"Accept-Language", "it"}}), "-");
  EXPECT_EQ(body("k"), "-");
  EXPECT_TRUE(peek("k", {{"Accept-Language", "de"}}).has_vary_spec);
  EXPECT_TRUE(peek("k").has_vary_spec) << "a miss, too, knows that there are variants";
  EXPECT_EQ(store_->stats().entries, 2U);
}

// KEY-6, STO-6
TEST_P(StoreContract, same_selector_replaces_only_its_own_variant) {
  put({.began = 3, .vary = {"x"}, .request = {{"X", "1"}}, .body = "1 old"});
  put({.began = 4, .vary = {"x"}, .request = {{"X", "2"}}, .body = "2"});
  EXPECT_EQ(put({.began = 5, .vary = {"x"}, .request = {{"X", "1"}}, .body = "1 new"}), Put::stored);
  EXPECT_EQ(put({.began = 3, .vary = {"x"}, .request = {{"X", "2"}}, .body = "2 late"}), Put::not_newer);
  EXPECT_EQ(body("k", {{"X", "1"}}), "1 new");
  EXPECT_EQ(body("k", {{"X", "2"}}), "2");
}

// KEY-6
TEST_P(StoreContract, of_several_that_select_the_last_fetched_is_used) {
  put({.key = "a", .began = 2, .body = "plain"});
  put({.key = "a", .began = 1, .vary = {"x"}, .request = {{"X", "1"}}, .body = "selected"});
  EXPECT_EQ(body("a", {{"X", "1"}}), "plain");
  put({.key = "b", .began = 1, .body = "plain"});
  put({.key = "b", .began = 2, .vary = {"x"}, .request = {{"X", "1"}}, .body = "selected"});
  EXPECT_EQ(body("b", {{"X", "1"}}), "selected");
  EXPECT_EQ(body("b", {{"X", "2"}}), "plain");
}

// KEY-6
TEST_P(StoreContract, over_max_variants_the_least_recently_used_goes) {
  auto const put_variant = [&](std::uint64_t began, std::string_view x) {
    EXPECT_EQ(put({.began = began, .vary = {"x"}, .request = {{"X", x}}, .body = std::string(x)}, 1h, 3), Put::stored);
  };
  put_variant(1, "a");
  put_variant(2, "b");
  put_variant(3, "c");
  EXPECT_EQ(body("k", {{"X", "a"}}), "a") << "now b is the least recently used";
  put_variant(4, "d");
  EXPECT_EQ(body("k", {{"X", "b"}}), "-");
  EXPECT_EQ(store_->stats().entries, 3U);
  put_variant(5, "a");
  EXPECT_EQ(store_->stats().entries, 3U) << "a replacement is no further variant";
  EXPECT_EQ(body("k", {{"X", "c"}}), "c");
  EXPECT_EQ(body("k", {{"X", "d"}}), "d");
}

// KEY-6
TEST_P(StoreContract, lower_max_variants_applies_at_the_next_put) {
  for (std::uint64_t i = 1; i <= 5; ++i) {
    auto const x = std::to_string(i);
    put({.began = i, .vary = {"x"}, .request = {{"X", x}}, .body = x}, 1h, i < 5 ? 8 : 2);
  }
  EXPECT_EQ(store_->stats().entries, 2U);
  EXPECT_EQ(body("k", {{"X", "5"}}), "5");
  EXPECT_EQ(body("k", {{"X", "4"}}), "4");
}

// KEY-6
TEST_P(StoreContract, max_variants_zero_keeps_the_newest) {
  put({.began = 1, .vary = {"x"}, .request = {{"X", "1"}}}, 1h, 0);
  put({.began = 2, .vary = {"x"}, .request = {{"X", "2"}}}, 1h, 0);
  EXPECT_EQ(store_->stats().entries, 1U);
  EXPECT_NE(peek("k", {{"X", "2"}}).entry, nullptr);
}

TEST_P(StoreContract, vary_spec_is_the_union_of_live_and_announced_names) {
  auto const spec = [&] { return store_->vary_spec("k", hash("k")); };
  put({.began = 1, .vary = {"a", "b"}, .request = {{"A", "1"}}}, 10s);
  put({.began = 2, .vary = {"b", "c"}}, 20s);
  put({.began = 3, .body = "plain"}, 1h);
  EXPECT_THAT(spec(), ElementsAre("a", "b", "c"));
  store_->announce_vary("k", hash("k"), {"c", "d"}, in(15s));
  EXPECT_THAT(spec(), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(store_->vary_spec("other", hash("other")), IsEmpty());

  turn(10s);
  EXPECT_TRUE(peek("k").has_vary_spec);
  EXPECT_THAT(spec(), ElementsAre("b", "c", "d"));
  turn(5s);
  EXPECT_TRUE(peek("k").has_vary_spec);
  EXPECT_THAT(spec(), ElementsAre("b", "c"));
  turn(5s);
  EXPECT_FALSE(peek("k").has_vary_spec);
  EXPECT_THAT(spec(), IsEmpty());
}

TEST_P(StoreContract, announced_names_are_a_vary_spec_before_anything_is_stored) {
  store_->announce_vary("k", hash("k"), {"x"}, in(5s));
  EXPECT_TRUE(peek("k").has_vary_spec);
  EXPECT_EQ(peek("k").entry, nullptr);
  store_->announce_vary("k", hash("k"), {"y"}, in(10s));
  EXPECT_THAT(store_->vary_spec("k", hash("k")), ElementsAre("x", "y"));
  turn(10s);
  EXPECT_FALSE(peek("k").has_vary_spec);
  store_->announce_vary("k", hash("k"), {"z"}, in(5s));
  EXPECT_THAT(store_->vary_spec("k", hash("k")), ElementsAre("z")) << "what had ended does not come back";
}

TEST_P(StoreContract, announcing_nothing_or_the_past_changes_nothing) {
  peek("k");
  store_->announce_vary("k", hash("k"), {}, in(5s));
  store_->announce_vary("k", hash("k"), {"x"}, in(0s));
  EXPECT_FALSE(peek("k").has_vary_spec);
}

// STO-5
TEST_P(StoreContract, marker_stands_until_its_time) {
  store_->mark_hit_for_miss("k", hash("k"), in(30s), now());
  EXPECT_TRUE(peek("k").hit_for_miss);
  EXPECT_TRUE(find("k").hit_for_miss);
  EXPECT_FALSE(peek("other").hit_for_miss);
  turn(30s);
  EXPECT_FALSE(peek("k").hit_for_miss);
  store_->mark_hit_for_miss("k", hash("k"), in(0s), now());
  EXPECT_FALSE(peek("k").hit_for_miss);
}

// STO-5
TEST_P(StoreContract, storable_response_replaces_the_marker) {
  store_->mark_hit_for_miss("k", hash("k"), in(30s), now());
  put({}, 10s);
  EXPECT_FALSE(peek("k").hit_for_miss);
  turn(10s);
  EXPECT_FALSE(peek("k").hit_for_miss) << "gone, not hidden";
}

// NEG-1
TEST_P(StoreContract, failure_is_remembered_until_its_time_or_until_something_is_known) {
  auto const fail = [&] { store_->remember_failure("k", hash("k"), {503, 7}, in(10s), now()); };
  fail();
  EXPECT_EQ(peek("k").failed.status, 503);
  EXPECT_EQ(find("k").failed.retry_after, 7U);
  EXPECT_EQ(peek("other").failed.status, 0);
  turn(10s);
  EXPECT_EQ(peek("k").failed.status, 0);
  fail();
  invalidate("k", Invalidation::invalid, 2, 1min);
  EXPECT_EQ(peek("k").failed.status, 0);
  fail();
  put({.purge_number = 3});
  EXPECT_EQ(peek("k").failed.status, 0);
  fail();
  EXPECT_EQ(peek("k").failed.status, 0) << "something is stored";
}

// STO-5, STO-6
TEST_P(StoreContract, refused_put_leaves_the_marker) {
  invalidate("k", Invalidation::invalid, 5, 1min);
  store_->mark_hit_for_miss("k", hash("k"), in(30s), now());
  EXPECT_EQ(put({.purge_number = 4}), Put::overruled);
  EXPECT_TRUE(peek("k").hit_for_miss);
}

// STO-5
TEST_P(StoreContract, marker_never_replaces_a_live_entry) {
  put({});
  store_->mark_hit_for_miss("k", hash("k"), in(30s), now());
  EXPECT_FALSE(peek("k").hit_for_miss);
  EXPECT_NE(peek("k").entry, nullptr);
  invalidate("k", Invalidation::hard, 9);
  EXPECT_FALSE(peek("k").hit_for_miss);
}

// STO-5
TEST_P(StoreContract, marker_stands_beside_an_entry_that_is_not_live) {
  struct Row {
    char const* name;
    base::Duration lifetime, keep;
    Invalidation mode;
    bool entry;
  };
  for (auto const& row :
       {Row{"stale", 0s, 1h, Invalidation::none, true}, Row{"soft", 60s, 1h, Invalidation::soft, true},
        Row{"invalid", 60s, 1h, Invalidation::invalid, true}, Row{"gone", 60s, 0s, Invalidation::none, false}}) {
    SCOPED_TRACE(row.name);
    put({.key = row.name, .lifetime = row.lifetime}, row.keep);
    invalidate(row.name, row.mode, 2);
    store_->mark_hit_for_miss(row.name, hash(row.name), in(30s), now());
    EXPECT_TRUE(peek(row.name).hit_for_miss);
    EXPECT_EQ(peek(row.name).entry != nullptr, row.entry);
    turn(30s);
    EXPECT_FALSE(peek(row.name).hit_for_miss);
  }
}

// SRV-6
TEST_P(StoreContract, invalidation_overrules_what_began_before_it) {
  put({.purge_number = 4});
  EXPECT_EQ(invalidate("k", Invalidation::invalid, 4), 0U);
  EXPECT_EQ(peek("k").overrule.mode, Invalidation::none) << "began at the number: after it";
  turn(1s);
  EXPECT_EQ(invalidate("k", Invalidation::invalid, 5), 1U);
  auto const found = peek("k");
  ASSERT_NE(found.entry, nullptr);
  EXPECT_EQ(found.overrule.mode, Invalidation::invalid);
  EXPECT_EQ(found.overrule.at, now().steady);
  EXPECT_EQ(put({.began = 2, .purge_number = 4}), Put::overruled);
  EXPECT_EQ(put({.began = 3, .purge_number = 5}), Put::stored);
  EXPECT_EQ(peek("k").overrule.mode, Invalidation::none);
}

// SRV-6: the strongest mode with a number above the entry's
TEST_P(StoreContract, strongest_invalidation_counts) {
  put({.began = 1, .purge_number = 1, .vary = {"x"}, .request = {{"X", "1"}}});
  EXPECT_EQ(invalidate("k", Invalidation::soft, 2), 1U);
  auto const first = now().steady;
  EXPECT_EQ(peek("k", {{"X", "1"}}).overrule.mode, Invalidation::soft);
  EXPECT_EQ(peek("k", {{"X", "1"}}).overrule.at, first);
  put({.began = 2, .purge_number = 3, .vary = {"x"}, .request = {{"X", "3"}}});
  turn(1s);
  EXPECT_EQ(invalidate("k", Invalidation::invalid, 3), 1U);
  turn(1s);
  EXPECT_EQ(invalidate("k", Invalidation::soft, 4), 2U);
  EXPECT_EQ(peek("k", {{"X", "1"}}).overrule.mode, Invalidation::invalid);
  EXPECT_EQ(peek("k", {{"X", "1"}}).overrule.at, first + 1s);
  EXPECT_EQ(peek("k", {{"X", "3"}}).overrule.mode, Invalidation::soft);
  EXPECT_EQ(peek("k", {{"X", "3"}}).overrule.at, first + 2s);
  EXPECT_EQ(invalidate("k", Invalidation::soft, 2), 1U) << "a late, lower number changes nothing";
  EXPECT_EQ(peek("k", {{"X", "3"}}).overrule.at, first + 2s);
}

// SRV-6
TEST_P(StoreContract, hard_frees_at_once_what_it_overrules) {
  put({.began = 1, .purge_number = 1, .vary = {"x"}, .request = {{"X", "1"}}});
  put({.began = 2, .purge_number = 2, .vary = {"x"}, .request = {{"X", "2"}}});
  EXPECT_EQ(invalidate("k", Invalidation::hard, 2), 1U);
  EXPECT_EQ(store_->stats().entries, 1U);
  EXPECT_EQ(peek("k", {{"X", "1"}}).entry, nullptr);
  EXPECT_NE(peek("k", {{"X", "2"}}).entry, nullptr);
}

// SRV-6
TEST_P(StoreContract, hard_on_many_variants_frees_them_all) {
  for (std::uint64_t i = 1; i <= 40; ++i) {
    auto const x = std::to_string(i);
    put({.began = i, .vary = {"x"}, .request = {{"X", x}}}, 1h, 100);
  }
  EXPECT_EQ(invalidate("k", Invalidation::hard, 2), 40U);
  EXPECT_EQ(store_->stats().entries, 0U);
}

// SRV-6, COA-14
TEST_P(StoreContract, record_refuses_fetches_under_way_until_its_time) {
  for (auto const mode : {Invalidation::soft, Invalidation::invalid, Invalidation::hard}) {
    auto const key = "k" + std::to_string(static_cast<int>(mode));
    EXPECT_EQ(invalidate(key, mode, 7, 30s), 0U);
    EXPECT_EQ(put({.key = key, .purge_number = 6}), Put::overruled);
    EXPECT_EQ(body(key), "-");
    EXPECT_EQ(put({.key = key, .purge_number = 7}), Put::stored);
    EXPECT_EQ(peek(key).overrule.mode, Invalidation::none);
    EXPECT_EQ(put({.key = key + "other", .purge_number = 6}), Put::stored);
  }
}

// SRV-6
TEST_P(StoreContract, nothing_is_remembered_where_nothing_is_stored_or_under_way) {
  auto const before = store_->stats().bytes;
  EXPECT_EQ(invalidate("k", Invalidation::invalid, 7), 0U);
  if (GetParam().context) {  // a look-up that is under way must not bring back what was written before
    EXPECT_EQ(put({.purge_number = 6}), Put::overruled);
    turn(60s);
    store_->sweep(now());
  } else {
    EXPECT_EQ(store_->stats().bytes, before);
  }
  EXPECT_EQ(put({.purge_number = 6}), Put::stored);
}

// SRV-6
TEST_P(StoreContract, none_invalidates_nothing) {
  put({});
  EXPECT_EQ(invalidate("k", Invalidation::none, 7, 30s), 0U);
  EXPECT_EQ(peek("k").overrule.mode, Invalidation::none);
  EXPECT_EQ(put({.began = 2}), Put::stored);
}

// SRV-6
TEST_P(StoreContract, invalidation_takes_the_marker) {
  store_->mark_hit_for_miss("k", hash("k"), in(30s), now());
  EXPECT_EQ(invalidate("k", Invalidation::invalid, 2), 0U);
  EXPECT_FALSE(peek("k").hit_for_miss);
}

// SRV-6
TEST_P(StoreContract, invalidation_does_not_count_what_had_expired) {
  put({}, 10s);
  turn(10s);
  EXPECT_EQ(invalidate("k", Invalidation::hard, 2), 0U);
  EXPECT_EQ(store_->stats().entries, 0U);
}

// MEM-1: what the account shows is what was put
TEST_P(StoreContract, stats_count_bytes) {
  auto const before = store_->stats().bytes;
  put({.body = std::string(100'000, 'x')});
  EXPECT_GE(store_->stats().bytes, before + 100'000);
  EXPECT_LE(store_->stats().bytes, before + 110'000);
  EXPECT_GT(store_->stats().capacity, 0U);
  invalidate("k", Invalidation::hard, 2);
  EXPECT_LE(store_->stats().bytes, before + 10'000);
}

}  // namespace weir::store
