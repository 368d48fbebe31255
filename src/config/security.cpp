// The security page of the operator's reference: what is trusted, and what each setting gives away that can weaken a
// default.
#include <utility>

#include "weir/config/reference.hpp"

namespace weir::config {
namespace {

constexpr char trusted[] =
    R"(## Security

What is trusted, as shipped:

- The origin, entirely: whatever it marks as shareable is everybody's. It is reached without TLS where its address says `http://`.
- The configuration, the files it names, and whoever may send the process signals.
- Whoever reaches the admin listener: as shipped every user and program of this machine. It has no TLS of its own. Calls that
  change something cannot be made by a web page, but by an application here that fetches what a stranger tells it to. A page
  reads `/metrics` and the probes at most, if its name leads here: without a token all else has to be asked for by an address
  or as `localhost`, and another Host gets 421; through a unix socket, or with the token, any name will do.
- With `store.type: valkey`: the server, the way to it, and everyone who may write to it. Records have a checksum against
  accidents and no signature, and the connection has no TLS: keep it in a network of its own, with a password.
- Not the clients, in nothing they send: what they say of who they are is dropped, what is malformed is refused, answers to
  requests with credentials are shared only where the origin says so, and what they can make grow or last has a bound
  (`tests/README.md` says which test reaches it). In `forward.mode: guarded` one thing is asked of the origin: that an answer for
  everyone does not depend on a field that neither the key nor `Vary` names. `strict` does not ask even that.

What these settings give away. Sites without `hosts` take every Host that a client thinks of and pass it on, keyed: name them
and others get 421. That holds for names: whatever port a client writes behind one of them is passed on, and keyed, too.

)";

}  // namespace

std::vector<Weakening> const& weakenings() {
  static std::vector<Weakening> const rows{
      {{"trusted_proxies"},
       "a network with others than your proxies",
       "whoever connects from there says which address, host and scheme a client has: `purge.allow`, `limiter.partition: "
       "client` and the logs believe it; and an X-Forwarded-Host that pages show poisons them unless it is keyed"},
      {{"listen[].proxy_protocol"},
       "`true`",
       "who may open the unix socket, or connects from `trusted_proxies`, says who the client is, for "
       "`limits.connections_per_address` too"},
      {{"listen[].mode"}, "`0666`", "every local user is a client, with `proxy_protocol` any client"},
      {{"listen[].tls"},
       "`off`, as shipped",
       "the way to the client reads and changes everything; `sites[].redirect: https` helps only where somebody speaks TLS"},
      {{"listen[].tls.min_version"},
       "`1.2`, as shipped",
       "clients that cannot do 1.3, with what 1.2 lacks; `1.3` refuses them"},
      {{"sites[].hosts"}, "empty, as shipped", "any Host reaches the origin and takes room in the store"},
      {{"sites[].redirect"}, "`off`, as shipped", "pages go out without TLS where a listener has none"},
      {{"admin.listen"},
       "an address that others reach",
       "whoever has the token purges, switches modes, reads URLs and names of cookies; the token crosses the network in "
       "clear"},
      {{"admin.metrics_listen"},
       "an address that others reach",
       "counters, names of sites and the version, without a token; whoever holds all of its 32 connections keeps probes and "
       "scrapes out"},
      {{"admin.token", "store.password"},
       "a text in the file",
       "whoever reads the file has it; `${NAME}` or the `_file` key keeps it out"},
      {{"purge.allow"},
       "networks",
       "any client in them empties the cache with the method PURGE, without a token, and the origin pays for it"},
      {{"origins.*.url", "origins.*.servers"},
       "`http://`",
       "the way to the origin reads requests and writes answers, which are stored for all"},
      {{"origins.*.tls.verify"}, "`false`", "whoever is on the way may be the origin, and what he says is stored for all"},
      {{"origins.*.tls.ca_file"}, "more authorities than needed", "each of them may be the origin"},
      {{"origins.*.tls.server_name", "origins.*.host_header"},
       "another name",
       "a certificate for that name is enough; all hosts look like one to the origin, while each has its own key"},
      {{"origins.*.retries", "origins.*.health_check"}, "more, on", "more requests at an origin that fails"},
      {{"key.headers", "key.cookies"},
       "names whose values clients make up",
       "each value has its own entries and fetches; of a credential: equal ones share an answer, and it stands in memory "
       "for as long"},
      {{"key.vary_allow"},
       "`cookie`, `authorization`",
       "answers for one login are stored, for requests with the same value"},
      {{"key.max_variants", "key.max_vary_headers"},
       "more",
       "a client that varies a field fills that much more of the store with one URL"},
      {{"key.normalize_path", "key.query_drop", "key.query_keep", "key.query_sort", "key.accept_encoding", "key.languages"},
       "anything",
       "nothing to others, as the origin gets what is keyed, and routes match by a path that is normalised if anything in "
       "their site normalises; a page that depends on what is left out or reordered is wrong"},
      {{"forward.mode"},
       "`all`",
       "every field that clients send reaches the origin, X-Forwarded-* and known poison too: what pages make of it is "
       "stored for all"},
      {{"forward.allow"},
       "names",
       "strict mode: pages that depend on one of them, without `Vary`, are one client's choice for all; with `cookie` or "
       "`authorization` the origin sees logins, and answers it marks as shareable are shared"},
      {{"forward.expose_tags"}, "`true`", "clients see the tags, and so what a page is made of"},
      {{"cookies.mode", "cookies.ignore"},
       "`ignore`, or more names",
       "no page to others, as the origin does not get these cookies either: who is logged in by one is not"},
      {{"headers.request.set", "headers.request.remove"},
       "a field that decides who may see a page",
       "the origin sees all clients alike: with an `Authorization` that is set, what it lets pass is served to everyone it "
       "marks as shareable for"},
      {{"headers.response.set", "headers.response.remove"},
       "a field that protects",
       "what the origin wanted of browsers: their caches, frames and other sites' scripts"},
      {{"client.honor_revalidation"}, "`true`", "clients make the origin work at will, within `limiter`"},
      {{"storable.set_cookie"},
       "`store`, `strip`",
       "`store`: one visitor's cookie, such as his session, goes to all. `strip`: nobody gets it, and a page made for one "
       "visitor is stored for all"},
      {{"storable.request_errors"},
       "`true`",
       "who provokes a 400, a 403 or a 431 that the origin lets be stored gives it to everyone who asks for that URL. At "
       "`false` "
       "that takes a request with nothing odd about it, and a status that does not tell of the request: a field that no "
       "cache "
       "knows, answered with a 400"},
      {{"storable.targeted"}, "other names", "who can make the origin send one of these decides over `Cache-Control`"},
      {{"storable.targeted_strict"},
       "`false`",
       "a targeted field that a framework sets everywhere overrules `private` and `no-store`"},
      {{"storable.ignore_cache_control"},
       "`true`",
       "with `freshness.override_ttl`: pages marked `private` or `no-store` are stored for all"},
      {{"storable.max_object", "storable.error_max_ttl"},
       "more",
       "a fetch may hold so much of the store; an error that somebody provoked stays for so long"},
      {{"freshness.override_ttl", "freshness.default_ttl", "freshness.heuristic_percent", "freshness.heuristic_max"},
       "longer",
       "pages of which the origin did not say that they are for all are stored: those that depend on an address, or on a "
       "field without `Vary`, go to others"},
      {{"freshness.keep", "freshness.default_stale_while_revalidate", "freshness.default_stale_if_error"},
       "longer",
       "what was withdrawn at the origin without a purge is served for longer"},
      {{"sites[].routes[].collapse.key_body", "sites[].routes[].collapse.ttl", "sites[].routes[].collapse.errors",
        "sites[].routes[].methods"},
       "on, for a POST",
       "requests that count as reads: repeated, shared and kept by their body. For one that writes, that is a write lost or "
       "done twice"},
      {{"sites[].routes[].cache", "sites[].routes[].collapse", "sites[].routes[].path"},
       "off for more, or a wider path",
       "every request to these paths is one to the origin, within `limiter`; other settings of the route hold for all that "
       "the path matches"},
      {{"negative.ttl", "negative.default_ttl"},
       "longer than 0",
       "a client that can make a URL fail makes it fail for everybody, for so long"},
      {{"coalesce.max_waiters", "coalesce.max_flights", "coalesce.max_bytes", "coalesce.hold"},
       "more",
       "memory that clients can make waiting requests and unfinished bodies hold"},
      {{"coalesce.on_overflow"}, "`fetch`", "what is beyond `max_waiters` goes to the origin, within `limiter`"},
      {{"limiter.max_concurrent", "limiter.max_streams", "limiter.max_uploads", "limiter.max_queue",
        "limiter.max_queue_wait"},
       "more",
       "the load that clients can put on the origin, and how many of them wait"},
      {{"limiter.max_per_partition", "limiter.max_partition_share", "limiter.foreground_reserve"},
       "more, or no reserve",
       "a flood of one path takes more of the origin from others"},
      {{"limiter.partition"},
       "`path` as shipped, or `client`",
       "`path`: one client that reads, or sends, very slowly on several paths can hold the permits of answers that are not "
       "stored, or of uploads; hits go on. `client`: who has many addresses has many shares; those behind one share one"},
      {{"breaker.enabled"}, "`false`", "an origin that fails is asked on by everybody"},
      {{"breaker.count_500", "breaker.failure_percent", "breaker.min_requests"},
       "on, or less",
       "a client that can provoke failures takes the origin from all for a while"},
      {{"timeouts.connect", "timeouts.origin", "timeouts.stream_idle", "timeouts.store"},
       "longer",
       "a request that hangs holds its permit, and who waits for it, for so long"},
      {{"limits.header_bytes", "limits.header_count", "limits.target_bytes"},
       "more",
       "memory for each connection, before anything is known of it"},
      {{"limits.body_bytes"}, "more", "how long one upload may hold its permit"},
      {{"limits.header_timeout", "limits.idle_timeout", "limits.body_timeout"},
       "longer",
       "a client that does nothing holds its connection, and an upload its permit, for so long"},
      {{"limits.connections"},
       "more",
       "some 2 KiB for an idle connection, 29 KiB for one with half a head, over TLS 16 and 43 KiB, up to 0.5 MiB of the "
       "kernel's for one that does not read"},
      {{"limits.connections_per_address", "limits.requests_per_connection"},
       "`off`, as shipped",
       "one address may take all connections, for ever"},
      {{"store.address"},
       "a server that others reach",
       "see above: who writes there decides what everybody gets, who reads there has every page that is stored"},
      {{"store.prefix", "store.database"}, "one that others use too", "their keys and ours are one another's"},
      {{"store.allow_evictable"}, "`true`", "the server may drop records of purges: what was purged may come back"},
      {{"store.near.ttl", "store.near.offline_ttl"},
       "longer",
       "a node that hears no news serves for so long what others have purged"},
      {{"store.snapshot"},
       "a file",
       "pages on a disk, readable by the daemon's user; who can write it decides what is served after the next start"},
      {{"errors"}, "files", "whatever is in them goes to any client"},
      {{"log.access_file"}, "a file", "addresses, and URLs with what their queries tell, on a disk"},
      {{"log.level"}, "`error`, `off`", "warnings of attacks and of mistakes in these settings are not seen"},
      {{"instance"},
       "a name that another node has",
       "requests that pass both are refused as loops; who guesses it can only have his own refused"},
  };
  return rows;
}

std::string security_markdown() {
  std::string out = trusted;
  out += "| key | weaker with | what that gives away |\n|---|---|---|\n";
  for (auto const& row : weakenings()) {
    std::string names;
    for (auto const& key : row.keys) names += (names.empty() ? "`" : ", `") + key + "`";
    out += "| " + names + " | " + row.with + " | " + row.gives_away + " |\n";
  }
  return out;
}

}  // namespace weir::config
