// `redirect: https` of a site: who asked without TLS is sent to the same URL by https, before anything is looked up.
#include "weir/cache/vary.hpp"
#include "weir/http/target.hpp"
#include "weir/proxy/exchange.hpp"

namespace weir::proxy {

using http::Method;

// `OPTIONS *` asks about no URL.
bool Exchange::must_go_by_https() const noexcept { return request_.scheme != "https" && request_.path != "*"; }

// To the host that was asked, on https's own port: the port of the plain listener speaks no TLS. Path and query byte for
// byte. 308 keeps method and body where 301 would let a client make a GET of it (RFC 9110 15.4.2). Nobody stores it:
// `no-store`.
asio::awaitable<After> Exchange::send_redirect() {
  cache::SelectorBytes normalised;
  http::append_normalized_host(request_.authority, request_.scheme, normalised);
  auto host = cache::view(normalised);
  if (auto const colon = host.rfind(':'); colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos)
    host = host.substr(0, colon);
  std::string location = "https://";
  location.append(host).append(request_.path);
  if (request_.has_query) location.append("?").append(request_.query);
  OwnAnswer answer;
  bool const reads = request_.method_id == Method::get || request_.method_id == Method::head;
  answer.status = host.empty() ? 400 : reads ? 301 : 308;  // HTTP/1.0 without a Host: nobody can say where to
  if (!host.empty())
    answer.location = location;
  else
    answer.proxy_error = "http_request_error";
  if (request_.has_body()) close_ = true;
  co_return co_await send_own(answer, host.empty() ? observe::Outcome::refused : observe::Outcome::redirect);
}

}  // namespace weir::proxy
