// A stored response as bytes, for stores outside the process (VAL-1). A version byte and a checksum over every other bit:
// what another version, a foreign program or a flipped bit made does not decode. Times are the server's (server_clock.hpp),
// so that no node's clock matters. Threads: pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/system/result.hpp>

#include "weir/cache/stored_response.hpp"
#include "weir/store/server_clock.hpp"

namespace weir::store {

// What tells two responses under one name apart, and orders them between nodes (STO-6).
struct Identity {
  std::uint64_t purge_number = 0;
  std::int64_t request_time = 0;  // µs of the server
  auto operator<=>(Identity const&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy takes <=> for a pointer's
};

// A record begins with: "WR", version (1), zero (5), purge number (8), request time (8), size of it all (8), XXH3 of all
// else (8); little endian. So the first bytes tell two versions apart, and a script in the store can compare them there.
inline constexpr std::size_t identity_size = 40;

enum class DecodeError : std::uint8_t {
  too_short,       // less than `identity_size`
  not_a_record,    // it begins like none
  other_version,   // an older or a newer Weir wrote it
  wrong_size,      // it was cut, or something stands behind it
  wrong_checksum,  // it was damaged
  malformed,       // it is whole, but Weir would not write this: a size, a time, or a head that may not be sent
  other_key,       // it is whole, but of another primary key than was asked for
};
std::string_view label(DecodeError error) noexcept;  // "other-version"

struct Decoded {
  base::Ref<cache::StoredResponse> entry;
  base::SteadyTime keep_until{};
};

Identity identity_of(cache::StoredResponse const& response, Moment const& moment) noexcept;
// Of a record's first `identity_size` bytes; nothing if they are no such.
std::optional<Identity> read_identity(std::string_view bytes) noexcept;

// The primary key that a record names, for who has none to ask for. Whether the record is sound says `decode`.
std::string_view key_in(std::string_view record) noexcept;

std::string encode(cache::StoredResponse const& response, base::SteadyTime keep_until, Moment const& moment);
// `began` becomes Facts::began, which does not leave a process. Throws std::bad_alloc.
boost::system::result<Decoded, DecodeError> decode(std::string_view bytes, std::string_view key, std::uint64_t began,
                                                   Moment const& moment, cache::MemoryAccount& account);

}  // namespace weir::store
