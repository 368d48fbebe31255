// The whole file: what belongs to the process, and the rest by its groups.
#include "description.hpp"

namespace weir::config {
namespace {

constexpr std::uint64_t kib = 1 << 10, mib = 1 << 20, gib = 1 << 30;

Text file_or_off() { return {check_any, "file", "off", false}; }

Certificate make_certificate(TlsServer const&) { return {}; }

Group<Certificate> const& certificate_group() {
  static Group<Certificate> const group = [] {
    Group<Certificate> g("certificate", Certificate{"/etc/weir/tls.crt", "/etc/weir/tls.key", {}});
    g.add("cert", &Certificate::cert, Text{.takes = "file"}, "PEM: the certificate, then those that vouch for it").required =
        true;
    g.add("key", &Certificate::key, Text{.takes = "file"}, "PEM: its private key").required = true;
    g.check([](Reader& reader, Item const& item, Certificate& given) {
      auto const& place = item.place;
      given.where = {place.source ? *place.source : "", place.line, place.column, reader.path()};
    });
    return g;
  }();
  return group;
}

Group<Listen> const& listen_group() {
  static Group<TlsServer> const tls = [] {
    Group<TlsServer> g("listen_tls");
    g.add_groups("certificates", &TlsServer::certificates, certificate_group(), make_certificate,
                 "chosen by the host that a client names; else the first")
        .required = true;
    g.add("min_version", &TlsServer::min_version, Choice<TlsVersion>{{{"1.2", TlsVersion::v1_2}, {"1.3", TlsVersion::v1_3}}},
          "the oldest TLS that is spoken");
    g.check([](Reader& reader, Item const& item, TlsServer& given) {
      if (item.find("certificates") && given.certificates.empty()) reader.mistake(item, "`certificates` is an empty list");
    });
    return g;
  }();
  static Group<Listen> const group = [] {
    Text const address{check_listen, "address", "", true};
    Group<Listen> g("listen", Listen{"0.0.0.0:8080", std::nullopt});
    g.add("address", &Listen::address, address, "IP address and port, or unix:/path").required = true;
    g.add_optional("tls", &Listen::tls, tls, "speak TLS; certificates are read again at a reload");
    g.add("proxy_protocol", &Listen::proxy_protocol, Boolean{},
          "a PROXY header opens each connection; believed from `trusted_proxies` and through unix sockets; who is not named "
          "by it (UNKNOWN) is a stranger");
    g.add("mode", &Listen::mode, FileMode{}, "rights on a unix socket's file; clients need to write");
    g.stands_for(
        [address](Reader& reader, Item const& item, Listen& listen) {
          if (item.is_scalar()) address.read(reader, item, listen.address);
          return item.is_scalar();
        },
        address.describe().schema);
    g.write_short([address](Listen const& listen) -> std::optional<Item> {
      if (listen.tls || listen.proxy_protocol || listen.mode != Listen{}.mode) return std::nullopt;
      return address.write(listen.address);
    });
    g.check([](Reader& reader, Item const& item, Listen& listen) {
      if (listen.mode != Listen{}.mode && !listen.address.starts_with("unix:"))
        reader.mistake(item, "`mode` is for unix sockets");
    });
    return g;
  }();
  return group;
}

// A secret, or the file that holds it.
template <class T>
void add_secret(Group<T>& g, std::string const& name, std::string T::*secret, std::string T::*file,
                std::string const& help) {
  auto& key = g.add(name, secret, Secret{}, help);
  // Where a file holds it, the dump names the file alone.
  key.write = [=](T const& owner, T const*) { return Secret{}.write(owner.*file == "" ? owner.*secret : ""); };
  auto& file_key = g.add(name + "_file", file, file_or_off(), "a file that holds it, in place of `" + name + "`");
  auto const read = file_key.read;
  file_key.read = [=](Reader& reader, Item const& item, T& owner) {
    read(reader, item, owner);
    if (owner.*file == "") return;
    if (owner.*secret != "") return reader.mistake(item, "given beside `" + name + "`; one of them is enough");
    reader.read_secret(item, owner.*file, owner.*secret);
  };
}

Group<Admin> const& admin_group() {
  static Group<Admin> const group = [] {
    Group<Admin> g("admin");
    g.add("listen", &Admin::listen, Text{check_admin_listen, "address, or `off`", "", true}, "where it listens");
    g.add("metrics_listen", &Admin::metrics_listen, Text{check_listen, "address", "off", true},
          "/metrics, /healthz and /readyz alone");
    add_secret(g, "token", &Admin::token, &Admin::token_file,
               "bearer token; required where `listen` can be reached from elsewhere");
    g.add("ready_grace", &Admin::ready_grace, Span{}, "/readyz waits so long for each origin to be reached once");
    g.check([](Reader& reader, Item const& item, Admin& admin) {
      bool const open = admin.listen != "off" && !is_local(admin.listen);
      bool const guarded = !admin.token.empty() || !admin.token_file.empty();
      if (open && !guarded)
        reader.mistake(item, ticked(admin.listen) + " can be reached from elsewhere: `token_file` is required");
    });
    return g;
  }();
  return group;
}

Group<Store> const& store_group() {
  static Group<Near> const near = [] {
    Group<Near> g("near");
    g.add("max_bytes", &Near::max_bytes, Size{1 * mib, 1024 * gib, "off"}, "memory tier in front of Valkey");
    g.add("ttl", &Near::ttl, Span{0s, 1h}, "how long an entry is used without asking Valkey again");
    g.add("offline_ttl", &Near::offline_ttl, Span{0s, 24h}, "the same while Valkey cannot be asked");
    return g;
  }();
  static Group<Store> const group = [] {
    auto const max_bytes = [](auto& s) -> auto& { return s.memory.max_bytes; };
    Group<Store> g("store");
    g.add("type", &Store::type, Choice<StoreType>{{{"memory", StoreType::memory}, {"valkey", StoreType::valkey}}},
          "in this process, or in a Valkey that nodes share");
    g.add("max_bytes", max_bytes, Size{1 * mib, 1024 * gib, "auto"},
          "memory: budget; `auto`: a quarter of the memory there is, at most 8GiB");
    g.add("snapshot", &Store::snapshot, file_or_off(),
          "memory: written at a graceful stop, within another `drain.timeout`; loaded, stale, at the next start, once");
    g.add("address", &Store::address, Text{check_store_address, "address", "off", true}, "valkey: host:port or unix:/path");
    g.add("username", &Store::username, Text{check_any, "name", "off", true}, "valkey: AUTH");
    add_secret(g, "password", &Store::password, &Store::password_file, "valkey: AUTH");
    g.add("database", &Store::database, Count{0, 65'535, ""}, "valkey: SELECT");
    g.add("prefix", &Store::prefix, Text{.check = check_prefix}, "valkey: stands before every key");
    g.add("max_object", &Store::max_object, Size{1, 512 * mib, ""},
          "valkey: larger entries stay near, while asked for within `near.offline_ttl`");
    g.add("allow_evictable", &Store::allow_evictable, Boolean{},
          "valkey: run although its eviction policy may drop our records");
    g.add_group("near", &Store::near, near, "valkey: the near tier");
    g.check([](Reader& reader, Item const& item, Store& store) {
      if (store.type == StoreType::valkey && store.address.empty())
        reader.mistake(item, "`type: valkey` needs an `address`");
      if (store.type == StoreType::valkey && !store.snapshot.empty())
        reader.mistake(item, "a `snapshot` is of `type: memory`: a Valkey keeps what it has");
    });
    return g;
  }();
  return group;
}

Group<Limits> const& limits_group() {
  static Group<Limits> const group = [] {
    Group<Limits> g("limits");
    g.add("header_bytes", &Limits::header_bytes, Size{1 * kib, 1 * mib, ""}, "a request's head");
    g.add("header_count", &Limits::header_count, Count{1, Limits::most_header_count, ""}, "its fields");
    g.add("target_bytes", &Limits::target_bytes, Size{64, 1 * mib, ""}, "its target");
    g.add("body_bytes", &Limits::body_bytes, Size{0, 1024 * gib, ""}, "its body");
    g.add("header_timeout", &Limits::header_timeout, Span{10ms, 1h}, "time to send the head");
    g.add("idle_timeout", &Limits::idle_timeout, Span{10ms, 24h}, "an idle connection is kept");
    g.add("body_timeout", &Limits::body_timeout, Span{10ms, 1h}, "no progress on a body, in either direction");
    g.add("requests_per_connection", &Limits::requests_per_connection, Count{1, 1'000'000'000, "off"},
          "then the connection is closed");
    g.add("connections", &Limits::connections, Count{1, 10'000'000, "auto"},
          "clients in all; `auto`: the descriptor limit less 1,024, or half of it up to 2,048");
    g.add("connections_per_address", &Limits::connections_per_address, Count{1, 10'000'000, "off"}, "of one client address");
    return g;
  }();
  return group;
}

Group<Purge> const& purge_group() {
  static Group<Purge> const group = [] {
    Group<Purge> g("purge");
    g.add("allow", &Purge::allow, ListOf<NetworkText>{{}, "list of networks"},
          "clients that may use the method PURGE; soft, or hard with `Weir-Purge: hard`");
    g.add("max_epochs", &Purge::max_epochs, Count{1, 10'000'000, ""}, "purges remembered one by one");
    return g;
  }();
  return group;
}

Group<MissRate> const& miss_rate_group() {
  static Group<MissRate> const group = [] {
    Group<MissRate> g("miss_rate");
    g.add_switch(&MissRate::enabled);
    g.add("window", &MissRate::window, Span{1s, 24h}, "the paths with the most misses are found in each");
    g.add("threshold_percent", &MissRate::threshold_percent, percent(1, 100), "share of misses that is worth a warning");
    return g;
  }();
  return group;
}

Group<Drain> const& drain_group() {
  static Group<Drain> const group = [] {
    Group<Drain> g("drain");
    g.add("timeout", &Drain::timeout, Span{0s, 24h}, "time to finish requests at a stop; `off`: they are cut off at once");
    return g;
  }();
  return group;
}

Group<Log> const& log_group() {
  static Group<Log> const group = [] {
    Choice<std::string> levels;
    for (char const* level : {"debug", "info", "warning", "error", "off"}) levels.words.emplace_back(level, level);
    Group<Log> g("log");
    g.add("level", &Log::level, levels, "the least that is logged");
    g.add("format", &Log::format, Choice<LogFormat>{{{"text", LogFormat::text}, {"json", LogFormat::json}}}, "of the log");
    g.add("file", &Log::file, Text{check_log_file, "file", "stderr", false}, "of the log");
    g.add("access_file", &Log::access_file, file_or_off(), "a line for each request; `stdout` is that and no file");
    g.add("access_format", &Log::access_format, Choice<LogFormat>{{{"text", LogFormat::text}, {"json", LogFormat::json}}},
          "of these lines; `text` is the combined format with host, outcome, Cache-Status and seconds behind it");
    return g;
  }();
  return group;
}

Origin make_origin(Settings const& settings, std::string const& name) {
  Origin origin = settings.origin_defaults;
  origin.timeouts = settings.timeouts;
  origin.name = name;
  return origin;
}

Site make_site(Settings const& settings) {
  Site site;
  site.policy = settings.defaults;
  return site;
}

Listen make_listen(Settings const&) { return {}; }

void add_process(Group<Settings>& g) {
  auto& version = g.add("version", &Settings::workers, Count{1, 1, ""}, "of this format");
  version.read = [](Reader& reader, Item const& item, Settings&) {
    unsigned number = 0;
    Count{1, 1, ""}.read(reader, item, number);
  };
  version.write = [](Settings const&, Settings const*) { return Count{1, 1, ""}.write(1); };
  g.add_groups("listen", &Settings::listen, listen_group(), make_listen, "where clients connect");
  g.add_group("admin", &Settings::admin, admin_group(), "the operator's door");
  g.add("workers", &Settings::workers, Count{1, 1024, "auto"}, "threads; `auto`: one a core that the process may use");
  g.add("instance", &Settings::instance, Text{check_instance, "name", "auto", false},
        "this node's name in CDN-Loop; `auto`: made at start");
  g.add(
      "trusted_proxies", &Settings::trusted_proxies, ListOf<NetworkText>{{}, "list of networks"},
      "from these, Forwarded and X-Forwarded-* are believed: they must set them; key x-forwarded-host where pages show it");
}

}  // namespace

Group<Settings> const& settings_group() {
  static Group<Settings> const group = [] {
    Settings initial;
    initial.defaults = policy_group().initial();
    Group<Settings> g("settings", initial);
    add_process(g);
    g.add_named_groups("origins", &Settings::origins, origin_group(), make_origin, check_origin_name,
                       "the servers that are protected");
    g.add_groups("sites", &Settings::sites, site_group(), make_site,
                 "absent: one site for every host, in front of the first origin");
    g.adopt(&Settings::defaults, policy_group());
    g.add_group("limiter", &Settings::origin_defaults, limiter_group(), "how many fetches an origin gets");
    g.add_group(
        "breaker", [](auto& s) -> auto& { return s.origin_defaults.breaker; }, breaker_group(),
        "when an origin is left alone");
    g.add_group("timeouts", &Settings::timeouts, timeouts_group(), "how long origins and store may take");
    g.add_group("store", &Settings::store, store_group(), "where entries live");
    g.add_group("purge", &Settings::purge, purge_group(), "removing entries");
    g.add_group("limits", &Settings::limits, limits_group(), "bounds on clients");
    g.add("errors", &Settings::errors, ErrorPages{}, "pages in place of Weir's own short texts, at most 256 KiB each");
    g.add_group("miss_rate", &Settings::miss_rate, miss_rate_group(), "warning of unusual misses");
    g.add_group("drain", &Settings::drain, drain_group(), "stopping");
    g.add_group("log", &Settings::log, log_group(), "logs");
    return g;
  }();
  return group;
}

}  // namespace weir::config
