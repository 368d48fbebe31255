// PURGE on the front listener (PRG-3): the request's own URL, for clients on `purge.allow`.
#include "weir/proxy/client_address.hpp"
#include "weir/proxy/exchange.hpp"
#include "weir/proxy/purge.hpp"

namespace weir::proxy {

bool Exchange::may_purge() const { return !client_->unnamed && in_networks(who(request_.fields), settings().purge.allow); }

asio::awaitable<After> Exchange::send_purge() {
  PurgeOrder order;
  std::string url(request_.scheme);
  url.append("://").append(request_.authority).append(request_.path);
  if (request_.has_query) url.append("?").append(request_.query);
  order.urls.push_back(std::move(url));
  for (auto const& field : request_.fields)
    if (http::equal_ignoring_case(field.name, "weir-purge") && http::equal_ignoring_case(field.value, "hard"))
      order.mode = cache::Invalidation::hard;
  auto const result = purge(local_.shared, settings(), order);
  OwnAnswer answer;
  answer.status = result.mistakes.empty() ? 200 : 400;
  config::ErrorPage told;
  told.type = "text/plain; charset=utf-8";
  if (result.mistakes.empty()) {  // PRG-1
    told.body = "purge " + std::to_string(result.number) +
                (order.mode == cache::Invalidation::hard ? ", hard: " : ", soft: ") + result.applied_to.front() + "\n";
    answer.page = &told;
  }
  if (request_.has_body()) close_ = true;
  co_return co_await send_own(answer, observe::Outcome::purge);
}

}  // namespace weir::proxy
