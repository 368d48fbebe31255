// links: weir_store
// Any bytes may be taken for a stored record. So that its inner checks are reached, it is also taken with the right size and
// checksum, and for the key that it names: what decodes encodes to the same bytes on every node, has a head that may be
// sent, and can be judged for reuse at any time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/assert.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/head.hpp"
#include "weir/cache/reuse.hpp"
#include "weir/store/record.hpp"

namespace {

using namespace weir;
using namespace std::chrono_literals;

constexpr std::size_t size_at = 24, checksum_at = 32, key_size_at = 112, tag_count_at = 124, tags_at = 128;

void put(std::string& record, std::size_t offset, std::uint64_t value) {
  for (std::size_t i = 0; i < sizeof value; ++i) record[offset + i] = static_cast<char>((value >> (8 * i)) & 0xFFU);
}

std::size_t number_at(std::string_view record, std::size_t offset) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= std::size_t{static_cast<unsigned char>(record[offset + i])} << (8 * i);
  return number;
}

std::string sealed(std::string_view bytes) {
  std::string record(bytes);
  std::copy_n("WR\1\0\0\0\0", 8, record.begin());
  put(record, size_at, record.size());
  put(record, checksum_at,
      base::checksum(std::string_view(record).substr(0, checksum_at),
                     std::string_view(record).substr(store::identity_size)));
  return record;
}

std::string_view key_in(std::string_view record) {
  auto const at = tags_at + number_at(record, tag_count_at) * sizeof(cache::Tag);
  return at > record.size() ? std::string_view() : record.substr(at, number_at(record, key_size_at));
}

void expect_sendable(cache::StoredResponse const& response) {
  auto const head = response.head();
  WEIR_ASSERT(head.starts_with("HTTP/1.1 ") && head.ends_with("\r\n") && head.find("\r\n\r\n") == std::string_view::npos);
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\r') WEIR_ASSERT(head[i + 1] == '\n');
    if (head[i] == '\n') WEIR_ASSERT(i > 0 && head[i - 1] == '\r');
    WEIR_ASSERT(head[i] != '\0');
  }
  auto const fields = cache::parse_head_fields(head);
  WEIR_ASSERT(std::ranges::count(head, '\n') == static_cast<std::ptrdiff_t>(fields.size()) + 1);
  for (auto const& field : fields)
    WEIR_ASSERT(field.id != http::FieldId::content_length && field.id != http::FieldId::transfer_encoding);
  for (auto const value : {response.etag(), response.last_modified()}) WEIR_ASSERT(http::is_field_value(value));
}

void expect_judgeable(cache::Facts const& facts, store::Moment const& moment) {
  for (base::Duration const since : {-24h * 365, 0h, 24h * 365}) {
    auto const reuse = cache::reuse({}, facts, {}, {base::WallTime(), moment.here + since}, cache::Mode::normal);
    WEIR_ASSERT(reuse.age >= base::Duration::zero());
    cache::nears_expiry(facts, moment.here + since);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static constexpr store::Moment here{base::SteadyTime(1h), 1'800'000'000'000'000};
  static constexpr store::Moment elsewhere{base::SteadyTime(-7ns), 1'800'000'086'400'001};
  cache::MemoryAccount account;
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  static_cast<void>(store::decode(bytes, "", 1, here, account));
  WEIR_ASSERT(store::read_identity(bytes) == store::read_identity(bytes.substr(0, store::identity_size)));
  if (size < tags_at) return 0;

  auto const record = sealed(bytes);
  for (auto const& moment : {here, elsewhere}) {
    auto const decoded = store::decode(record, key_in(record), 1, moment, account);
    if (!decoded) continue;
    WEIR_ASSERT(store::encode(*decoded->entry, decoded->keep_until, moment) == record);
    WEIR_ASSERT(store::read_identity(record) == store::identity_of(*decoded->entry, moment));
    WEIR_ASSERT(account.bytes() == decoded->entry->footprint());
    expect_sendable(*decoded->entry);
    expect_judgeable(decoded->entry->facts(), moment);
  }
  WEIR_ASSERT(account.bytes() == 0);
  return 0;
}
