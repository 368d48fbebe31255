#include "explain_words.hpp"

#include <cmath>

namespace weir::admin {
namespace {

using observe::Forwarded;
using proxy::Explanation;
using Decision = Explanation::Decision;

std::string in_seconds(base::Duration duration) {
  auto const tenths = std::llround(std::chrono::duration<double>(duration).count() * 10);
  auto text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text.append(".").append(std::to_string(std::abs(tenths % 10)));
  return text + " s";
}

std::string why_refused(Explanation const& told) {
  if (!told.refused_for.empty()) return "the request is malformed: " + std::string(told.refused_for);
  if (told.cache_status.detail == observe::detail::negative)
    return "the origin failed a moment ago, and negative.ttl remembers it";
  switch (told.status) {
    case 200:
      return "Max-Forwards is 0: Weir answers itself";
    case 405:
      return "the method is not served";
    case 421:
      return "no site serves this host";
    case 508:
      return "CDN-Loop says that the request has been here already";
    default:
      break;
  }
  if (told.asker.only_if_cached) return "only-if-cached, and nothing is stored that may be used";
  if (told.flight && told.flight->joined == shield::Joined::overflow)
    return "too many wait for this key, or too many fetches are under way";
  if (told.breaker_refuses)
    return "the breaker is " + std::string(label(*told.breaker)) + ", and nothing stored may stand in";
  if (told.permit == shield::Acquire::queue_full) return "the limiter's queue is full, and nothing stored may stand in";
  return "only-if-cached, and this request is not answered from the store";
}

std::string why_stale(Explanation const& told) {
  auto const detail = told.cache_status.detail;
  if (detail == observe::detail::circuit_open) return "the breaker is open, and what is stored may stand in for an error";
  if (detail == observe::detail::shed) return "the fetch would be shed, and what is stored may stand in for an error";
  return "stale for " + in_seconds(-told.reuse.ttl) + ": " + std::string(sentence(told.reuse.reason));
}

std::string why_joined(shield::Foreseen const& flight) {
  std::string text = "a fetch for this key is under way, " + std::to_string(flight.waiters) + " waiting";
  return text + (flight.head ? "; its body is read as it comes" : "; its head has not come yet");
}

// Why nothing stored answers.
std::string why_missed(Explanation const& told) {
  bool const credentials = told.asker.has_authorization || told.asker.has_cookie_credential;
  if (told.found.entry && told.reuse.verdict == cache::Verdict::unusable && told.cache_status.forwarded != Forwarded::miss)
    return "what is stored is not for this request: " + std::string(sentence(told.reuse.reason));
  switch (told.cache_status.forwarded) {
    case Forwarded::bypass:
      if (told.mode == cache::Mode::bypass) return "the mode is bypass";
      return told.cached ? "this request goes past the cache" : "the route does not cache";
    case Forwarded::method:
      return "a cache does not answer this method";
    case Forwarded::miss:
      return "a hit-for-miss marker stands for another " + in_seconds(told.stored.marked_until - told.now.steady) +
             ": the last answer could not be shared";
    case Forwarded::stale:
    case Forwarded::request:
      if (told.refuses_codings) break;
      return "what is stored must be validated: " + std::string(sentence(told.reuse.reason));
    case Forwarded::vary_miss:
      if (!told.found.entry)
        return "none of the stored variants (" + std::to_string(told.stored.entries.size()) + ") is for this request";
      break;
    default:
      break;
  }
  if (told.refuses_codings) return "the client refuses every coding that Weir knows, and identity too";
  return credentials ? "nothing is stored, and the request has credentials" : "nothing is stored";
}

std::string why_fetched(Explanation const& told, bool shared_store) {
  std::string text = why_missed(told);
  bool const shares = !told.alone;
  if (told.cache_status.forwarded != Forwarded::bypass && told.cache_status.forwarded != Forwarded::method)
    text += shares ? "; others may join its fetch" : "; its fetch is its own";
  if (told.collapse == config::Collapse::off && told.alone) text += " (collapse: off)";
  if (told.breaker && *told.breaker != shield::BreakerState::closed) text += "; the breaker lets it through as its probe";
  if (told.permit == shield::Acquire::queued)
    text += "; no permit is free: it waits in the limiter's queue, " + std::to_string(told.limiter.queued) + " before it";
  if (shared_store && shares) {
    text += told.found.unchecked ? "; the near tier's copy was not checked of late, so the shared store is asked first"
                                 : "; the shared store is asked first";
    if (told.cluster) text += ", and nodes take turns";
  }
  if (told.found.entry && told.reuse.stale_if_error) text += "; if the origin fails, what is stored is served";
  return text;
}

std::string why_hit(Explanation const& told) {
  std::string text = "fresh for another " + in_seconds(told.reuse.ttl);
  if (told.refresh_chance > 0)
    text +=
        "; near its end: a refresh begins with a chance of " + std::to_string(std::lround(told.refresh_chance * 100)) + " %";
  return text;
}

}  // namespace

std::string_view word(Decision decision) noexcept {
  switch (decision) {
    case Decision::refuse:
      return "refuse";
    case Decision::redirect:
      return "redirect";
    case Decision::purge:
      return "purge";
    case Decision::gather:
      return "gather";
    case Decision::hit:
      return "hit";
    case Decision::stale:
      return "stale";
    case Decision::join:
      return "join";
    case Decision::fetch:
      return "fetch";
  }
  return "refuse";
}

std::string_view sentence(cache::ReuseReason reason) noexcept {
  using cache::ReuseReason;
  switch (reason) {
    case ReuseReason::unknown:
      return "nothing permits its use";
    case ReuseReason::fresh:
      return "it is fresh";
    case ReuseReason::expired:
      return "its lifetime is over";
    case ReuseReason::no_cache:
      return "the origin said no-cache";
    case ReuseReason::invalidated:
      return "it was invalidated by a write, or the shared store may know better";
    case ReuseReason::purged:
      return "it was purged hard";
    case ReuseReason::soft_purged:
      return "it was purged softly";
    case ReuseReason::request_no_cache:
      return "the client said no-cache";
    case ReuseReason::request_max_age:
      return "it is older than the client's max-age";
    case ReuseReason::request_min_fresh:
      return "it expires before the client's min-fresh";
    case ReuseReason::request_max_stale:
      return "the client's max-stale allows it";
    case ReuseReason::within_stale_while_revalidate:
      return "stale-while-revalidate allows it, and it is refreshed in the background";
    case ReuseReason::authorization:
      return "the request has Authorization, and the origin did not say public, s-maxage or must-revalidate";
    case ReuseReason::cookie:
      return "the request has a cookie that is a credential, and the origin did not say public or s-maxage";
    case ReuseReason::bypass_mode:
      return "the mode is bypass";
  }
  return "nothing permits its use";
}

std::string why(Explanation const& told, bool shared_store) {
  switch (told.decision) {
    case Decision::refuse:
      return why_refused(told);
    case Decision::redirect:
      return "the site's redirect sends it to https";
    case Decision::purge:
      return "the client is on purge.allow";
    case Decision::gather:
      return "the body is part of the key: it is read first";
    case Decision::hit:
      return why_hit(told);
    case Decision::stale:
      return why_stale(told);
    case Decision::join:
      return why_joined(*told.flight);
    case Decision::fetch:
      return why_fetched(told, shared_store);
  }
  return {};
}

}  // namespace weir::admin
