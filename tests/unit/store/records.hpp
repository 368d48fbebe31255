// Makes records, damaged ones too, for the tests of this folder.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "unit/store/entries.hpp"
#include "weir/store/record.hpp"

namespace weir::store {

// What the record tests store unless they say otherwise.
struct Shape {
  std::string key = "a key";
  std::string selector;
  std::string head = "HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 00:00:00 GMT\r\nETag: \"a\"\r\nVia: 1.1 weir\r\n";
  std::string body = "body";
  std::vector<cache::Tag> tags;
  cache::Facts facts;
  bool refreshed = false;
  base::SteadyTime keep_until = far_away;

  Shape() {
    facts.status = 200;
    facts.response_time = at({});
    facts.fetch_time = std::chrono::milliseconds(70);
    facts.initial_age = std::chrono::seconds(2);
    facts.lifetime = std::chrono::minutes(10);
    facts.lifetime_source = cache::LifetimeSource::expires;
    facts.stale_while_revalidate = std::chrono::seconds(30);
    facts.stale_if_error = std::chrono::hours(1);
    facts.purge_number = 7;
    facts.began = 11;
    facts.date = base::WallTime(std::chrono::hours(500'000));
    point(facts.etag, "\"a\"");
  }
  void point(cache::Slice& slice, std::string_view value) const {
    slice = {static_cast<std::uint32_t>(head.find(value)), static_cast<std::uint32_t>(value.size())};
  }
};

inline cache::Entry make_entry(cache::MemoryAccount& account, Shape const& shape) {
  auto original = cache::StoredResponse::make({shape.key, shape.selector, shape.head, shape.facts, shape.tags},
                                              shape.body.size(), account);
  shape.body.copy(original->body_area(), shape.body.size());
  if (!shape.refreshed) return original;
  return cache::StoredResponse::refreshed({shape.key, shape.selector, shape.head, shape.facts, shape.tags}, original,
                                          account);
}

inline Moment const here{at({}), 1'800'000'000'000'000};

inline std::string record_of(Shape const& shape, Moment const& moment = here) {
  cache::MemoryAccount account;
  return encode(*make_entry(account, shape), shape.keep_until, moment);
}

// Writes `value` little endian.
inline void put(std::string& record, std::size_t offset, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i) record[offset + i] = static_cast<char>((value >> (8 * i)) & 0xFFU);
}

// As if an encoder had written these bytes: whatever else is wrong with them, size and checksum are right.
inline std::string sealed(std::string record) {
  static constexpr std::size_t size_at = 24, checksum_at = 32;
  put(record, size_at, 8, record.size());
  std::string_view const bytes = record;
  put(record, checksum_at, 8, base::checksum(bytes.substr(0, checksum_at), bytes.substr(identity_size)));
  return record;
}

// "fine", or why it was refused.
inline std::string verdict_on(std::string_view record, std::string_view key = Shape().key, Moment const& moment = here) {
  cache::MemoryAccount account;
  auto const decoded = decode(record, key, 1, moment, account);
  return decoded ? "fine" : std::string(label(decoded.error()));
}

}  // namespace weir::store
