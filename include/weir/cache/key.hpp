// The primary key (KEY-1 to KEY-4) and the forwarded target. What is keyed is what is forwarded: `rewrite_target` is called
// once a request and its result is used for both. Threads: pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "weir/cache/cookies.hpp"
#include "weir/cache/rules.hpp"
#include "weir/http/message.hpp"

namespace weir::cache {

// Key bytes; up to 512 of them without an allocation.
using KeyBytes = boost::container::small_vector<char, 512>;
inline std::string_view view(KeyBytes const& bytes) noexcept { return {bytes.data(), bytes.size()}; }

// Path and query as keyed and forwarded. Views into the request if nothing was rewritten, else into `storage`.
struct ForwardTarget {
  std::string_view path;
  std::string_view query;
  bool has_query = false;
};
ForwardTarget rewrite_target(http::Request const& request, KeyRules const& rules, std::string& storage);

// As `key.normalize_path` has it. The path itself if nothing in it is an escape, else a view into `storage`.
std::string_view normalized_path(std::string_view path, std::string& storage);

using BodyDigest = std::array<unsigned char, 32>;

// Every part tagged and length-prefixed: injective (KEY-1). Appends to `out`. GET and HEAD share a key; any other method is
// its own class. Absent and empty keyed fields differ. `digest` is COA-12's. `fields` are the request's as it is forwarded.
void append_primary_key(http::Request const& request, http::Fields fields, ForwardTarget const& target,
                        KeyRules const& rules, BodyDigest const* digest, KeyBytes& out);
inline void append_primary_key(http::Request const& request, ForwardTarget const& target, KeyRules const& rules,
                               BodyDigest const* digest, KeyBytes& out) {
  append_primary_key(request, request.fields, target, rules, digest, out);
}

// The key of `scheme://authority path?query` for GET, as purges, invalidations and `/v1/entries` name it. `rules` must not
// key headers or cookies (those parts are left out).
void append_url_key(std::string_view scheme, std::string_view authority, ForwardTarget const& target, KeyBytes& out);

// The part of a GET's primary key that `append_url_key` makes: everything before keyed headers and cookies.
std::string_view url_part(std::string_view key) noexcept;
inline bool keys_more_than_url(KeyRules const& rules) noexcept { return !rules.headers.empty() || !rules.cookies.empty(); }

// The URL of a primary key; views into it. For purges and listings, which begin with entries.
struct KeyUrl {
  std::string_view scheme, authority, path, query;
  bool has_query = false;
};
KeyUrl url_of(std::string_view key) noexcept;

// For /v1/flights, logs and explain: "GET http://host/path?query" with keyed fields behind it. Never parsed.
std::string describe_key(std::string_view key);
// The same in pieces: "host" and its value, "header x-tenant" and its value, or nothing where the request had none.
std::vector<std::pair<std::string, std::optional<std::string>>> key_parts(std::string_view key);
// The partition of LIM-2: scheme, host and path without the query, as a slice-free copy.
std::string partition_of(std::string_view key);

// The preset of KEY-3 ("tracking").
std::vector<NamePattern> const& tracking_parameters();

// Authorization that is not keyed: a credential (KEY-4, COA-8).
bool has_authorization_credential(http::Fields request, KeyRules const& rules) noexcept;

}  // namespace weir::cache
