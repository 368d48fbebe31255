// What a store under test is, and the fixture that asks it questions. To run the suite on one more store, add a file with
// an INSTANTIATE_TEST_SUITE_P like memory.cpp.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

#include "weir/base/hash.hpp"
#include "weir/store/store.hpp"

namespace weir::store {

struct StoreFactory {
  std::string name;
  std::function<std::unique_ptr<Store>(cache::MemoryAccount&)> make;  // with room for some MiB
  // Where its questions run, on a thread of its own; null: anywhere.
  std::function<boost::asio::io_context&(Store&)> context = nullptr;
};
inline std::string name_of(testing::TestParamInfo<StoreFactory> const& info) { return info.param.name; }

using Lines = std::vector<std::pair<std::string_view, std::string_view>>;

struct Given {
  std::string key = "k";
  std::uint64_t began = 1;
  std::uint64_t purge_number = 1;
  std::vector<std::string> vary = {};  // names, sorted
  Lines request = {};                  // that selected it
  base::Duration lifetime = std::chrono::seconds(60);
  std::string body = "body";
};

class StoreContract : public testing::TestWithParam<StoreFactory> {
 protected:
  void SetUp() override { store_ = GetParam().make(account_); }
  void TearDown() override {
    store_.reset();
    EXPECT_EQ(account_.bytes(), 0U) << "MEM-1: a store gives back all that it took";
  }

  static std::uint64_t hash(std::string_view key) { return base::hash_bytes(key); }
  static std::vector<http::Field> fields(Lines const& lines);
  base::Now now() const { return now_; }
  base::SteadyTime in(base::Duration d) const { return now_.steady + d; }
  void turn(base::Duration by) { now_.steady += by, now_.wall += by; }

  // Runs a coroutine of the store's to its end.
  template <class T>
  T wait_for(boost::asio::awaitable<T> work);
  cache::Entry entry(Given const& given);
  Put put(Given const& given, base::Duration keep = std::chrono::hours(1), std::uint32_t max_variants = 8);
  Put put_entry(cache::Entry given, base::Duration keep = std::chrono::hours(1), std::uint32_t max_variants = 8);
  Lookup peek(std::string_view key, Lines const& request = {});
  Lookup find(std::string_view key, Lines const& request = {});
  // The body of the entry found, or "-".
  std::string body(std::string_view key, Lines const& request = {});
  std::size_t invalidate(std::string_view key, cache::Invalidation mode, std::uint64_t number, base::Duration remember = {});

  cache::MemoryAccount account_;
  cache::KeyRules rules_;
  base::Now now_ = base::read_clock();  // the test turns it on; what stores compare it with stands still
  std::unique_ptr<Store> store_;
};

}  // namespace weir::store
