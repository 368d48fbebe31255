// The whole configuration as one immutable value (SPEC section 12). Defaults stand here or in the room whose rule it is;
// `config/load` fills it from YAML, environment and flags. A reload makes a new one; a request keeps the one it began with.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/cache/rules.hpp"
#include "weir/shield/flight_table.hpp"
#include "weir/shield/limiter.hpp"
#include "weir/store/memory_store.hpp"

namespace weir::config {

using base::Duration;
using namespace std::chrono_literals;

// An IP network, "10.0.0.0/8" or a single address; IPv4 is kept as IPv4-mapped IPv6.
struct Network {
  std::array<unsigned char, 16> address{};
  unsigned prefix = 128;
};

// Where a value stands, for what is found to be wrong with it only when it is used.
struct Where { std::string file; int line = 0, column = 0; std::string path; };

struct Certificate { std::string cert, key; Where where; };            // files, PEM: the chain, its own first; the key
enum class TlsVersion : std::uint8_t { v1_2, v1_3 };
struct TlsServer {
  std::vector<Certificate> certificates;                               // the first is for clients that name no host we have
  TlsVersion min_version = TlsVersion::v1_2;
};
struct Listen {
  std::string address;                                                 // "0.0.0.0:8080", "[::]:8080", "unix:/run/weir.sock"
  std::optional<TlsServer> tls;
  bool proxy_protocol = false;
  std::uint32_t mode = 0660;                                           // of a unix socket's file
};

struct Admin {
  std::string listen = "127.0.0.1:9640";                               // or "off"
  std::string metrics_listen;                                          // empty: none
  std::string token;                                                   // given, or read from token_file; empty: none
  std::string token_file;
  Duration ready_grace = 10s;
};

struct Timeouts {
  Duration connect = 3s, origin = 30s, stream_idle = 60s;
  Duration store = 50ms;
};

struct Pool { std::uint32_t idle = 32; Duration idle_time = 30s; };

struct OriginTls { bool verify = true; std::string ca_file, server_name; Where ca_where; };

struct Breaker {
  bool enabled = true;
  std::uint32_t failure_percent = 50, min_requests = 20;
  Duration window = 10s, open = 5s, open_max = 60s;
  bool count_500 = false;
};

struct HealthCheck { std::string path; Duration interval = 5s, timeout = 2s; };

enum class Partition : std::uint8_t { path, client };                  // LIM-2: the unit of fairness

struct Origin {
  std::string name;
  std::vector<std::string> servers;                                    // URLs: http://host:port, https://..., unix:/path
  std::string balance = "round_robin";
  std::optional<HealthCheck> health_check;
  OriginTls tls;
  std::string host_header;                                             // empty: the client's Host is passed on
  Pool pool;
  std::optional<std::uint32_t> retries;                                // not given: 1 where there are several servers
  shield::LimiterRules limiter;                                        // from the top-level group unless given here
  Duration max_queue_wait = 5s;                                        // limiter.max_queue_wait
  Partition partition = Partition::path;                               // limiter.partition
  Breaker breaker;
  Timeouts timeouts;
};

enum class ForwardMode : std::uint8_t { guarded, strict, all };
struct Forward {
  ForwardMode mode = ForwardMode::guarded;
  std::vector<std::string> allow;                                      // strict: field names, lower case
  bool expose_tags = false;
};

struct HeaderEdits {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> remove;
};
struct Headers { HeaderEdits request, response; };

enum class Overflow : std::uint8_t { shed, fetch };
struct Coalesce {
  shield::CoalesceRules table;                                         // max_waiters, max_flights, leader_max_age
  Duration follower_max_wait = 10s;
  Overflow on_overflow = Overflow::shed;
  Duration hit_for_miss_ttl = 30s;
  std::uint64_t hold = 64 << 10;
  Duration hold_time = 1s;
  Duration window_stall = 1s;
  std::uint64_t max_bytes = 0;                                         // 0: a quarter of the memory budget
  bool cluster = false;
  Duration cluster_max_wait = 3s;
};

struct Negative { Duration ttl{}; Duration default_ttl{}; };

enum class Collapse : std::uint8_t { on, off, strict };
struct CollapseBody {                                                  // COA-12
  bool key_body = false;
  Duration ttl{};
  bool errors = false;
  std::uint64_t max_body = 64 << 10;
};

// Everything that a site or a route may override, resolved: what one request needs to know.
struct Policy {
  bool cache = true;                                                   // route's `cache: off`: bypass
  Collapse collapse = Collapse::on;
  CollapseBody collapse_body;
  cache::KeyRules key;
  Forward forward;
  cache::CookieRules cookies;
  Headers headers;
  cache::ClientRules client;
  cache::StorableRules storable;
  cache::FreshnessRules freshness;
  Coalesce coalesce;
  Negative negative;
};

struct Route {
  std::string path;                                                    // exact, or with a trailing '*' a prefix
  std::vector<std::string> methods;                                    // empty: all
  Policy policy;
};

struct Site {
  std::string name;                                                    // first host, or "default"; the metrics' label
  std::vector<std::string> hosts;                                      // exact or "*.suffix"; empty: every host
  std::string origin;                                                  // name
  std::string redirect;                                                // "" or "https"
  std::vector<Route> routes;
  bool normalizes = false;                                             // its own policy or a route's has key.normalize_path
  Policy policy;                                                       // where no route matches
};

struct Limits {
  static constexpr std::uint32_t most_header_count = 256;              // what `wire` has room for
  std::uint64_t header_bytes = 16 << 10;
  std::uint32_t header_count = 100;
  std::uint64_t target_bytes = 8 << 10;
  std::uint64_t body_bytes = 64ULL << 20;
  Duration header_timeout = 10s, idle_timeout = 60s, body_timeout = 30s;
  std::uint64_t requests_per_connection = 0;                           // 0: no bound
  std::uint64_t connections = 0;                                       // 0: descriptor limit less 1,024, or half of it
  std::uint64_t connections_per_address = 0;                           // 0: off
};

enum class StoreType : std::uint8_t { memory, valkey };
struct Near { std::uint64_t max_bytes = 64ULL << 20; Duration ttl = 1s, offline_ttl = 60s; };
struct Store {
  StoreType type = StoreType::memory;
  store::MemoryRules memory;                                           // max_bytes
  std::string snapshot;
  std::string address, username, prefix = "weir:";
  std::string password;                                                // given, or read from password_file; empty: none
  std::string password_file;
  std::uint32_t database = 0;
  std::uint64_t max_object = 1 << 20;
  bool allow_evictable = false;
  Near near;
};

struct ErrorPage { std::string file, type, body; };                     // Content-Type by the file's name; read when loaded
struct Purge { std::vector<Network> allow; std::uint32_t max_epochs = 100'000; };
struct MissRate { bool enabled = true; Duration window = 60s; std::uint32_t threshold_percent = 50; };
struct Drain { Duration timeout = 30s; };
enum class LogFormat : std::uint8_t { text, json };
struct Log {
  std::string level = "info";
  LogFormat format = LogFormat::text;
  std::string file;                                                    // empty: standard error
  std::string access_file;                                             // empty: off
  LogFormat access_format = LogFormat::text;                           // text: combined
};

struct Settings {
  std::vector<Listen> listen{{"0.0.0.0:8080", std::nullopt}};
  Admin admin;
  std::uint32_t workers = 0;                                           // 0: one a core that this process may use
  std::vector<Network> trusted_proxies;
  std::map<std::string, Origin> origins;
  std::vector<Site> sites;                                             // never empty after loading
  Policy defaults;                                                     // the top-level groups: what a site starts from
  Origin origin_defaults;                                              // top-level limiter and breaker; the rest is unused
  Limits limits;
  Timeouts timeouts;                                                   // also what an origin starts from
  Store store;
  Purge purge;
  std::map<int, ErrorPage> errors;                                     // by status
  MissRate miss_rate;
  Drain drain;
  Log log;
  std::string instance;                                                // for CDN-Loop and lease owners; made at start if empty
};

}  // namespace weir::config
