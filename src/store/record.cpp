#include "weir/store/record.hpp"

#include <limits>
#include <utility>
#include <vector>

#include "little_endian.hpp"
#include "number_limit.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/head.hpp"
#include "weir/http/cache_control.hpp"

// Behind the first 40 bytes: keep_until, initial_age, lifetime, stale_while_revalidate, stale_if_error, date (8 each),
// fetch_time (4), status (2), flags (1), source of the lifetime (1), offset and size of etag and last_modified, sizes of
// key, selector and head, number of tags (4 each), the tags (8 each), key, selector, head, body.

namespace weir::store {
namespace {

using cache::Facts;
using cache::Slice;
using std::chrono::microseconds;

constexpr std::string_view magic = "WR";
constexpr std::uint8_t version = 1;
constexpr std::size_t version_at = 2, reserved_at = 3, purge_number_at = 8, request_time_at = 16, size_at = 24,
                      checksum_at = 32;
constexpr std::size_t fixed_size = 128;  // in front of the tags
constexpr std::size_t key_size_at = 112, tag_count_at = 124;

// What Weir itself can make of fields and settings, fetches of up to 50 days and times this far from the moment, and not
// more: so no sum of them overflows.
constexpr base::Duration longest_window = std::chrono::seconds(http::max_delta);
constexpr base::Duration longest_age = longest_window + std::chrono::hours(24 * 50);
constexpr base::Duration longest_lifetime = longest_age + longest_window;
constexpr microseconds farthest_response = std::chrono::seconds(http::max_delta);
constexpr microseconds farthest_end = 4 * farthest_response;

// Takes one part after the other. The bytes are there: whoever takes has compared sizes.
class Reader {
 public:
  explicit Reader(std::string_view rest) noexcept : rest_(rest) {}
  template <class T>
  T take() noexcept {
    return read_number<T>(take(sizeof(T)), 0);
  }
  std::string_view take(std::size_t size) noexcept {
    auto const part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  base::Duration duration() noexcept { return base::Duration(take<std::int64_t>()); }
  Slice slice() noexcept {
    auto const offset = take<std::uint32_t>();
    return {.offset = offset, .size = take<std::uint32_t>()};
  }
  std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
};

std::uint64_t checksum_of(std::string_view record) noexcept {
  return base::checksum(record.substr(0, checksum_at), record.substr(identity_size));
}

std::uint8_t flags_of(Facts const& facts) noexcept {
  unsigned flags = 0;
  unsigned bit = 1;
  for (bool const flag : {facts.no_cache, facts.must_revalidate, facts.forbids_incident_stale, facts.shared_explicitly,
                          facts.authorized, facts.heuristic, facts.immutable, facts.policy_not_in_head}) {
    if (flag) flags |= bit;
    bit <<= 1U;
  }
  return static_cast<std::uint8_t>(flags);
}

void set_flags(Facts& facts, std::uint8_t flags) noexcept {
  auto const next = [&flags] {
    bool const flag = (flags & 1U) != 0;
    flags = static_cast<std::uint8_t>(flags >> 1U);
    return flag;
  };
  facts.no_cache = next();
  facts.must_revalidate = next();
  facts.forbids_incident_stale = next();
  facts.shared_explicitly = next();
  facts.authorized = next();
  facts.heuristic = next();
  facts.immutable = next();
  facts.policy_not_in_head = next();
}

bool is_record(std::string_view bytes) noexcept { return bytes.size() >= identity_size && bytes.starts_with(magic); }
bool is_of_this_version(std::string_view bytes) noexcept { return read_number<std::uint8_t>(bytes, version_at) == version; }

std::optional<DecodeError> fault_of_envelope(std::string_view bytes) noexcept {
  if (bytes.size() < identity_size) return DecodeError::too_short;
  if (!is_record(bytes)) return DecodeError::not_a_record;
  if (!is_of_this_version(bytes)) return DecodeError::other_version;
  if (bytes.size() < fixed_size || read_number<std::uint64_t>(bytes, size_at) != bytes.size())
    return DecodeError::wrong_size;
  if (read_number<std::uint64_t>(bytes, checksum_at) != checksum_of(bytes)) return DecodeError::wrong_checksum;
  for (auto at = reserved_at; at < purge_number_at; ++at)
    if (bytes[at] != '\0') return DecodeError::malformed;
  return std::nullopt;
}

// Nothing if it is farther than `reach` from the moment, or cannot be told here.
std::optional<base::SteadyTime> time_here(Moment const& moment, std::int64_t there, microseconds reach) noexcept {
  std::int64_t distance = 0;
  if (__builtin_sub_overflow(there, moment.there, &distance)) return std::nullopt;
  if (distance < -reach.count() || distance > reach.count()) return std::nullopt;
  auto const here = to_here(moment, there);
  if (to_there(moment, here) != there) return std::nullopt;
  return here;
}

bool is_within(base::Duration duration, base::Duration longest) noexcept {
  return duration >= base::Duration::zero() && duration <= longest;
}

// A header line as cache::build_head leaves it. Framing fields would be a second opinion on where the body ends.
bool is_field_line(std::string_view line) noexcept {
  auto const colon = line.find(':');
  if (colon == std::string_view::npos || !http::is_token(line.substr(0, colon))) return false;
  auto const id = http::field_id(line.substr(0, colon));
  return id != http::FieldId::content_length && id != http::FieldId::transfer_encoding &&
         http::is_field_value(line.substr(colon + 1));
}

// A final response's head, which may go out as it is.
bool is_head(std::string_view head, std::uint16_t status) noexcept {
  static constexpr std::string_view start = "HTTP/1.1 ";
  static constexpr std::size_t digits = 3;
  auto end = head.find("\r\n");
  if (end == std::string_view::npos || end <= start.size() + digits || !head.starts_with(start)) return false;
  if (head[start.size() + digits] != ' ' || !http::is_field_value(head.substr(0, end))) return false;
  if (status < 200 || cache::parse_head_status(head) != status) return false;
  for (head.remove_prefix(end + 2); !head.empty(); head.remove_prefix(end + 2)) {
    end = head.find("\r\n");
    if (end == std::string_view::npos || !is_field_line(head.substr(0, end))) return false;
  }
  return true;
}

// A part of the head that may stand in a request to the origin.
bool is_value_in(std::string_view head, Slice slice) noexcept {
  return slice.offset <= head.size() && slice.size <= head.size() - slice.offset &&
         http::is_field_value(head.substr(slice.offset, slice.size));
}

// All but the slices and the status, which belong to the head.
std::optional<Facts> read_facts(std::string_view record, Reader& reader, Moment const& moment) noexcept {
  Facts facts;
  facts.purge_number = read_number<std::uint64_t>(record, purge_number_at);
  if (facts.purge_number >= number_limit) return std::nullopt;  // PRG-1: no purge would be above it
  facts.initial_age = reader.duration();
  facts.lifetime = reader.duration();
  facts.stale_while_revalidate = reader.duration();
  facts.stale_if_error = reader.duration();
  if (!is_within(facts.initial_age, longest_age) || !is_within(facts.lifetime, longest_lifetime)) return std::nullopt;
  for (auto const window : {facts.stale_while_revalidate, facts.stale_if_error})
    if (!is_within(window, longest_window)) return std::nullopt;

  microseconds const date(reader.take<std::int64_t>());
  static constexpr auto latest = std::chrono::floor<microseconds>(base::WallTime::duration::max());
  if (date < -latest || date > latest) return std::nullopt;
  facts.date = base::WallTime(date);

  facts.fetch_time = decltype(facts.fetch_time)(reader.take<std::uint32_t>());
  std::int64_t response_time = 0;
  if (__builtin_add_overflow(read_number<std::int64_t>(record, request_time_at), microseconds(facts.fetch_time).count(),
                             &response_time))
    return std::nullopt;
  auto const here = time_here(moment, response_time, farthest_response);
  if (!here) return std::nullopt;
  facts.response_time = *here;

  facts.status = reader.take<std::uint16_t>();
  set_flags(facts, reader.take<std::uint8_t>());
  auto const source = reader.take<std::uint8_t>();
  if (source > static_cast<std::uint8_t>(cache::LifetimeSource::conflict)) return std::nullopt;
  facts.lifetime_source = static_cast<cache::LifetimeSource>(source);
  facts.etag = reader.slice();
  facts.last_modified = reader.slice();
  return facts;
}

bool may_have_body(std::uint16_t status) noexcept { return status != 204 && status != 304; }

}  // namespace

std::string_view label(DecodeError error) noexcept {
  switch (error) {
    case DecodeError::too_short:
      return "too-short";
    case DecodeError::not_a_record:
      return "not-a-record";
    case DecodeError::other_version:
      return "other-version";
    case DecodeError::wrong_size:
      return "wrong-size";
    case DecodeError::wrong_checksum:
      return "wrong-checksum";
    case DecodeError::malformed:
      return "malformed";
    case DecodeError::other_key:
      return "other-key";
  }
  return "malformed";
}

Identity identity_of(cache::StoredResponse const& response, Moment const& moment) noexcept {
  auto const& facts = response.facts();
  auto const fetch_time = microseconds(facts.fetch_time).count();
  auto time = to_there(moment, facts.response_time);
  if (__builtin_sub_overflow(time, fetch_time, &time)) time = std::numeric_limits<std::int64_t>::min();
  return {.purge_number = facts.purge_number, .request_time = time};
}

std::optional<Identity> read_identity(std::string_view bytes) noexcept {
  if (!is_record(bytes) || !is_of_this_version(bytes)) return std::nullopt;
  return Identity{.purge_number = read_number<std::uint64_t>(bytes, purge_number_at),
                  .request_time = read_number<std::int64_t>(bytes, request_time_at)};
}

std::string_view key_in(std::string_view record) noexcept {
  if (record.size() < fixed_size) return {};
  auto const tags = std::uint64_t{read_number<std::uint32_t>(record, tag_count_at)} * sizeof(cache::Tag);
  if (tags > record.size() - fixed_size) return {};
  return record.substr(fixed_size + static_cast<std::size_t>(tags), read_number<std::uint32_t>(record, key_size_at));
}

std::string encode(cache::StoredResponse const& response, base::SteadyTime keep_until, Moment const& moment) {
  auto const& facts = response.facts();
  auto const identity = identity_of(response, moment);
  auto const body = response.body();
  auto const size = fixed_size + response.tags().size_bytes() + response.key().size() + response.selector().size() +
                    response.head().size() + body.size();
  std::string out;
  out.reserve(size);
  out.append(magic);
  append_number(out, version);
  out.append(purge_number_at - reserved_at, '\0');
  append_number(out, identity.purge_number);
  append_number(out, identity.request_time);
  append_number(out, std::uint64_t{size});
  append_number(out, std::uint64_t{0});  // the checksum, below

  append_number(out, to_there(moment, keep_until));
  for (auto const duration : {facts.initial_age, facts.lifetime, facts.stale_while_revalidate, facts.stale_if_error})
    append_number(out, std::int64_t{duration.count()});
  append_number(out, std::int64_t{std::chrono::floor<microseconds>(facts.date.time_since_epoch()).count()});
  append_number(out, facts.fetch_time.count());
  append_number(out, facts.status);
  append_number(out, flags_of(facts));
  append_number(out, static_cast<std::uint8_t>(facts.lifetime_source));
  for (auto const slice : {facts.etag, facts.last_modified}) {
    append_number(out, slice.offset);
    append_number(out, slice.size);
  }
  for (auto const count :
       {response.key().size(), response.selector().size(), response.head().size(), response.tags().size()})
    append_number(out, static_cast<std::uint32_t>(count));
  for (auto const tag : response.tags()) append_number(out, tag);
  out.append(response.key()).append(response.selector()).append(response.head()).append(body);

  std::string checksum;
  append_number(checksum, checksum_of(out));
  return out.replace(checksum_at, checksum.size(), checksum);
}

boost::system::result<Decoded, DecodeError> decode(std::string_view bytes, std::string_view key, std::uint64_t began,
                                                   Moment const& moment, cache::MemoryAccount& account) {
  if (auto const fault = fault_of_envelope(bytes)) return *fault;
  Reader reader(bytes.substr(identity_size));
  auto const keep_until = time_here(moment, reader.take<std::int64_t>(), farthest_end);
  auto facts = read_facts(bytes, reader, moment);
  if (!keep_until || !facts) return DecodeError::malformed;
  facts->began = began;

  auto const key_size = reader.take<std::uint32_t>();
  auto const selector_size = reader.take<std::uint32_t>();
  auto const head_size = reader.take<std::uint32_t>();
  auto const tag_count = reader.take<std::uint32_t>();
  auto const in_front_of_body =
      std::uint64_t{tag_count} * sizeof(cache::Tag) + std::uint64_t{key_size} + selector_size + head_size;
  if (in_front_of_body > reader.rest().size()) return DecodeError::malformed;
  std::vector<cache::Tag> tags(tag_count);
  for (auto& tag : tags) tag = reader.take<cache::Tag>();
  if (reader.take(key_size) != key) return DecodeError::other_key;
  auto const selector = reader.take(selector_size);
  auto const head = reader.take(head_size);
  auto const body = reader.rest();
  if (!is_head(head, facts->status) || !is_value_in(head, facts->etag) || !is_value_in(head, facts->last_modified))
    return DecodeError::malformed;
  if (!body.empty() && !may_have_body(facts->status)) return DecodeError::malformed;

  auto entry = cache::StoredResponse::make({key, selector, head, *facts, tags}, body.size(), account);
  body.copy(entry->body_area(), body.size());
  return Decoded{.entry = std::move(entry), .keep_until = *keep_until};
}

}  // namespace weir::store
