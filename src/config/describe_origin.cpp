// Origins, and the top-level groups that are their defaults.
#include "description.hpp"

namespace weir::config {
namespace {

constexpr Duration soonest = 1ms;

Group<Pool> const& pool_group() {
  static Group<Pool> const group = [] {
    Group<Pool> g("pool");
    g.add("idle", &Pool::idle, Count{0, 65'535, "off"}, "idle connections kept by each worker");
    g.add("idle_time", &Pool::idle_time, Span{soonest, 1h}, "and for how long");
    return g;
  }();
  return group;
}

Group<OriginTls> const& origin_tls_group() {
  static Group<OriginTls> const group = [] {
    Group<OriginTls> g("origin_tls");
    g.add("verify", &OriginTls::verify, Boolean{}, "check the origin's certificate");
    g.add("ca_file", &OriginTls::ca_file, Text{check_ca_file, "file", "system", false}, "authorities that are trusted, PEM");
    g.add("server_name", &OriginTls::server_name, Text{check_server_name, "name", "auto", false},
          "name in the handshake and the certificate; `auto`: the address's host");
    g.check([](Reader& reader, Item const& item, OriginTls& tls) {
      auto const* const given = item.find("ca_file");
      auto const& place = given ? given->place : item.place;
      tls.ca_where = {place.source ? *place.source : "", place.line, place.column, reader.path() + ".ca_file"};
    });
    return g;
  }();
  return group;
}

Group<HealthCheck> const& health_check_group() {
  static Group<HealthCheck> const group = [] {
    Group<HealthCheck> g("health_check", HealthCheck{.path = "/healthz"});
    g.add("path", &HealthCheck::path, Text{.check = check_path, .takes = "path"}, "asked with GET; 2xx and 3xx are healthy")
        .required = true;
    g.add("interval", &HealthCheck::interval, Span{100ms, 1h}, "time between two checks");
    g.add("timeout", &HealthCheck::timeout, Span{soonest, 1min}, "time for an answer");
    return g;
  }();
  return group;
}

// Without `store`, which is no origin's.
Group<Timeouts> const& origin_timeouts_group() {
  static Group<Timeouts> const group = [] {
    Group<Timeouts> g("origin_timeouts");
    g.add("connect", &Timeouts::connect, Span{soonest, 5min}, "time to connect to an origin, TLS included");
    g.add("origin", &Timeouts::origin, Span{soonest, 1h}, "from permit to head");
    g.add("stream_idle", &Timeouts::stream_idle, Span{soonest, 24h}, "between two bytes of a body");
    return g;
  }();
  return group;
}

Text const url_text{.check = check_origin_url, .takes = "address", .substituted = true};

void add_servers(Group<Origin>& g) {
  ListOf<Text> const servers{.element = url_text, .takes = "list of addresses", .may_be_empty = false};
  auto& url = g.add("url", &Origin::servers, servers, "http://host:port, https://host or unix:/path");
  url.read = [](Reader& reader, Item const& item, Origin& origin) {
    std::string address;
    url_text.read(reader, item, address);
    origin.servers = {address};
  };
  url.write = [](Origin const& origin, Origin const*) -> std::optional<Item> {
    if (origin.servers.size() != 1) return std::nullopt;
    return url_text.write(origin.servers.front());
  };
  url.describe = [] { return url_text.describe(); };
  auto& list =
      g.add("servers", &Origin::servers, servers, "several addresses, in place of `url`, as in [\"http://10.0.0.1:9000\"]");
  list.write = [servers](Origin const& origin, Origin const*) -> std::optional<Item> {
    if (origin.servers.size() == 1) return std::nullopt;
    return servers.write(origin.servers);
  };
}

void check_origin(Reader& reader, Item const& item, Origin& origin) {
  bool const has_url = item.find("url") != nullptr, has_servers = item.find("servers") != nullptr;
  if (has_url == has_servers) reader.mistake(item, "expected `url`, or `servers` in its place");
  bool const tls = !origin.servers.empty() && origin.servers.front().starts_with("https:");
  for (std::string const& server : origin.servers)
    if (!server.empty() && server.starts_with("https:") != tls && !server.starts_with("unix:"))
      return reader.mistake(item, "http and https among the servers of one origin");
}

}  // namespace

Group<Timeouts> const& timeouts_group() {
  static Group<Timeouts> const group = [] {
    Group<Timeouts> g("timeouts");
    g.adopt(
        [](auto& t) -> auto& { return t; }, origin_timeouts_group(), false);
    g.add("store", &Timeouts::store, Span{soonest, 10s}, "an operation of the Valkey store, and 1 ms for each 64 KiB");
    return g;
  }();
  return group;
}

Group<Origin> const& limiter_group() {
  static Group<Origin> const group = [] {
    using Rules = shield::LimiterRules;
    auto const rule = [](std::uint32_t Rules::*m) {
      return [m](auto& origin) -> auto& { return origin.limiter.*m; };
    };
    Group<Origin> g("limiter");
    g.add("max_concurrent", rule(&Rules::max_concurrent), Count{1, 1'000'000, ""}, "fetches at an origin at once");
    g.add("max_streams", rule(&Rules::max_streams), Count{1, 1'000'000, ""},
          "event streams, tunnels and answers that are not stored");
    g.add("max_uploads", rule(&Rules::max_uploads), Count{1, 1'000'000, ""}, "requests with a body");
    g.add("max_queue", rule(&Rules::max_queue), Count{0, 10'000'000, "off"},
          "fetches that wait for a permit; one partition has a quarter of it");
    g.add("max_queue_wait", &Origin::max_queue_wait, Span{soonest, 10min}, "and for how long");
    g.add("max_per_partition", rule(&Rules::max_per_partition), Count{1, 1'000'000, ""},
          "permits of one partition while another one waits");
    g.add("max_partition_share", rule(&Rules::max_partition_share), percent(1, 100),
          "percent of the permits that one partition may hold");
    g.add("foreground_reserve", rule(&Rules::foreground_reserve), percent(0, 99, "off"),
          "percent of the permits that background work leaves free");
    g.add("partition", &Origin::partition, Choice<Partition>{{{"path", Partition::path}, {"client", Partition::client}}},
          "between whom the limiter is fair");
    return g;
  }();
  return group;
}

Group<Breaker> const& breaker_group() {
  static Group<Breaker> const group = [] {
    Group<Breaker> g("breaker");
    g.add_switch(&Breaker::enabled);
    g.add("failure_percent", &Breaker::failure_percent, percent(1, 100), "share of failures that opens it");
    g.add("min_requests", &Breaker::min_requests, Count{1, 1'000'000, ""}, "of at least so many fetches");
    g.add("window", &Breaker::window, Span{1s, 10min}, "within so long");
    g.add("open", &Breaker::open, Span{100ms, 1h},
          "how long it stays open at first; then one request probes, one with a body only after as long again");
    g.add("open_max", &Breaker::open_max, Span{100ms, 1h}, "and at most, doubling");
    g.add("count_500", &Breaker::count_500, Boolean{}, "a 500 is a failure too");
    g.check([](Reader& reader, Item const& item, Breaker& breaker) {
      if (breaker.open_max < breaker.open) reader.mistake(item, "`open_max` is shorter than `open`");
    });
    return g;
  }();
  return group;
}

Group<Origin> const& origin_group() {
  static Group<Origin> const group = [] {
    auto const itself = [](auto& origin) -> auto& { return origin; };
    Origin example;
    example.servers = {"http://127.0.0.1:9000"};
    Group<Origin> g("origin", example);
    add_servers(g);
    g.add("balance", &Origin::balance,
          Choice<std::string>{{{"round_robin", "round_robin"}, {"least_connections", "least_connections"}}},
          "who of several servers is next");
    g.add_optional("health_check", &Origin::health_check, health_check_group(), "active checks of several servers");
    g.add_group("tls", &Origin::tls, origin_tls_group(), "for https addresses");
    g.add("host_header", &Origin::host_header, Text{check_host, "host", "off", false},
          "Host that the origin sees; `off`: the client's");
    g.add_group("pool", &Origin::pool, pool_group(), "connections that are kept");
    g.add("retries", &Origin::retries, Count{.least = 0, .most = 10, .zero = "off", .automatic = true},
          "further tries of a request that is idempotent and got no byte; `auto`: 1 where there are several servers");
    g.add_group("limiter", itself, limiter_group(), "how many fetches it gets").inherits = true;
    g.add_group("breaker", &Origin::breaker, breaker_group(), "when it is left alone").inherits = true;
    g.add_group("timeouts", &Origin::timeouts, origin_timeouts_group(), "how long it may take").inherits = true;
    g.check(check_origin);
    return g;
  }();
  return group;
}

}  // namespace weir::config
