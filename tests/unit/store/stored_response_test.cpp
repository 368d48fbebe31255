// MEM-1: one allocation an entry, counted to the byte; SRV-2: a refresh shares the body and never forms a chain.
#include "weir/cache/stored_response.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::cache {
namespace {

base::Ref<StoredResponse> make(MemoryAccount& account, StoredResponse::Parts const& parts, std::string_view body) {
  auto response = StoredResponse::make(parts, body.size(), account);
  std::copy(body.begin(), body.end(), response->body_area());
  return response;
}

TEST(StoredResponse, holds_its_parts) {
  MemoryAccount account;
  std::string const head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nLast-Modified: yesterday\r\n";
  StoredResponse::Parts parts{"key", "selector", head, {}};
  parts.facts.status = 200;
  parts.facts.etag = {static_cast<std::uint32_t>(head.find("\"a\"")), 3};
  parts.facts.last_modified = {static_cast<std::uint32_t>(head.find("yesterday")), 9};
  Entry const entry = make(account, parts, "body");
  EXPECT_EQ(entry->key(), "key");
  EXPECT_EQ(entry->selector(), "selector");
  EXPECT_EQ(entry->head(), head);
  EXPECT_EQ(entry->body(), "body");
  EXPECT_EQ(entry->etag(), "\"a\"");
  EXPECT_EQ(entry->last_modified(), "yesterday");
  EXPECT_EQ(entry->facts().status, 200);
  EXPECT_EQ(entry->body_owner(), entry.get());
  EXPECT_EQ(entry->hook.queue, 0);
}

TEST(StoredResponse, may_be_empty) {
  MemoryAccount account;
  Entry const entry = make(account, {"", "", "", Facts()}, "");
  EXPECT_TRUE(entry->key().empty());
  EXPECT_TRUE(entry->selector().empty());
  EXPECT_TRUE(entry->head().empty());
  EXPECT_TRUE(entry->body().empty());
  EXPECT_TRUE(entry->etag().empty());
}

// MEM-1
TEST(StoredResponse, counts_while_anyone_holds_it) {
  MemoryAccount account;
  auto first = make(account, {"k", "", "h", Facts()}, std::string(1000, 'x'));
  EXPECT_GE(account.bytes(), 1002U);
  EXPECT_LE(account.bytes(), 1002U + sizeof(StoredResponse) + 24);
  EXPECT_EQ(account.bytes(), first->footprint());
  Entry const second = first;
  first.reset();
  EXPECT_EQ(account.bytes(), second->footprint());
}

TEST(StoredResponse, gives_back_what_it_took) {
  MemoryAccount account;
  for (std::size_t const size : {0U, 1U, 15U, 16U, 17U, 100'000U})
    make(account, {"k", "s", "h", Facts()}, std::string(size, 'x'));
  EXPECT_EQ(account.bytes(), 0U);
}

// SRV-2
TEST(StoredResponse, refresh_has_a_new_head_and_the_old_body) {
  MemoryAccount account;
  Entry original = make(account, {"k", "", "old", Facts()}, std::string(5000, 'x'));
  auto const whole = original->footprint();
  Entry const refresh = StoredResponse::refreshed({"k", "", "new", Facts()}, original, account);
  EXPECT_EQ(refresh->head(), "new");
  EXPECT_EQ(refresh->body().data(), original->body().data());
  EXPECT_EQ(refresh->body().size(), 5000U);
  EXPECT_LT(refresh->footprint(), 512U);
  EXPECT_EQ(account.bytes(), whole + refresh->footprint());
  original.reset();
  EXPECT_EQ(account.bytes(), whole + refresh->footprint()) << "the refresh keeps the body";
  EXPECT_EQ(refresh->body(), std::string(5000, 'x'));
}

TEST(StoredResponse, refresh_of_a_refresh_is_no_chain) {
  MemoryAccount account;
  Entry const original = make(account, {"k", "", "1", Facts()}, "body");
  Entry second = StoredResponse::refreshed({"k", "", "2", Facts()}, original, account);
  auto const with_two = account.bytes();
  Entry const third = StoredResponse::refreshed({"k", "", "3", Facts()}, second, account);
  EXPECT_EQ(third->body_owner(), original.get());
  second.reset();
  EXPECT_EQ(account.bytes(), with_two) << "the middle one is gone";
  EXPECT_EQ(third->body(), "body");
}

TEST(StoredResponse, impossible_size_is_bad_alloc) {
  MemoryAccount account;
  EXPECT_THROW(StoredResponse::make({"k", "", "h", Facts()}, std::numeric_limits<std::size_t>::max() - 8, account),
               std::bad_alloc);
  EXPECT_EQ(account.bytes(), 0U);
}

}  // namespace
}  // namespace weir::cache
