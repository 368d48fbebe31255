// Requests that are to change what others get: an attacker's own, for a page that everybody may have.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/client.hpp"

namespace weir::test {

// From which mode of forwarding on a trick does nothing. What an origin makes of a field that no cache has heard of is
// nobody's knowledge: `guarded` forwards it and keys it only where the origin's Vary says so.
enum class Safe { always, guarded, strict };

struct Trick {
  std::string name;
  Safe safe = Safe::always;
  std::string method = "GET", target = "/page";  // "/page": the page, under a name of its own for each run
  Fields fields{};
  std::string body{}, version = "HTTP/1.1", host = "weir.test";

  // Its bytes, with `page` in place of "/page".
  std::string bytes(std::string const& page) const {
    auto asked = target;
    if (auto const at = asked.find("/page"); at != std::string::npos) asked.replace(at, 5, page);
    auto all = fields;
    if (!host.empty()) all.insert(all.begin(), {"Host", host});
    if (!body.empty()) all.push_back({"Content-Length", std::to_string(body.size())});
    return method + " " + asked + " " + version + "\r\n" + write_fields(all) + "\r\n" + body;
  }
};

inline Trick by_field(Safe safe, std::string const& field, std::string const& value = "evil") {
  return {.name = "field " + field + ": " + value.substr(0, 40), .safe = safe, .fields = {{field, value}}};
}

// Claims about the host, the client and the target.
inline std::vector<Trick> forwarding_tricks() {
  std::vector<Trick> tricks;
  for (auto const* const field :
       {"X-Forwarded-Host", "X-Forwarded-Server", "X-Forwarded-Scheme", "X-Forwarded-Proto", "X-Forwarded-Port",
        "X-Forwarded-Prefix", "X-Forwarded-Path", "X-Forwarded-Uri", "X-Forwarded-Ssl", "X-Forwarded-By", "X-Forwarded",
        "X-Forwarded-Context", "X-Forwarded-Protocol", "X-Forwarded-Url", "X-Forwarded-Client-Cert", "X-Forward-Host",
        "X-Host", "X-Original-Host", "X-Backend-Host", "X-Real-Host", "X-HTTP-Host-Override", "X-Original-URL",
        "X-Original-Path", "X-Rewrite-URL", "X-Override-URL", "X-HTTP-Path-Override", "X-Invoke-Path", "X-Invoke-Status",
        "X-HTTP-Status-Code-Override", "X-URL-Scheme", "Front-End-Https", "X-Wap-Profile", "Proxy", "Forwarded",
        "X-Forwarded-For", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "Client-IP", "X-Client-IP",
        // as CGI reads them
        "X_Forwarded_Host", "X_Forwarded_Proto", "X_Forwarded-For", "X_Original_URL", "X_Rewrite_URL", "X_Host", "X_Real_IP",
        "x_http_method_override", "Accept_Language", "Accept_Encoding", "User_Agent", "If_None_Match"})
    tricks.push_back(by_field(Safe::guarded, field));
  for (auto const* const field : {"Transfer_Encoding", "Content_Length", "X_Request_Id", "Proxy_Authorization"})
    tricks.push_back(by_field(Safe::always, field));
  auto twice = by_field(Safe::guarded, "X-Forwarded-Host");
  twice.name = "X-Forwarded-Host twice";
  twice.fields.push_back({"x-forwarded-host", "evil"});
  tricks.push_back(twice);
  for (auto const* const named :
       {"X-Forwarded-Host", "Host", "Cookie", "Cache-Control", "Via", "CDN-Loop", "Accept-Encoding",
        "close, X-Forwarded-Host", "Age", "Authorization", "X-Forwarded-For, X-Forwarded-Proto"})
    tricks.push_back(by_field(Safe::always, "Connection", named));
  return tricks;
}

inline std::vector<Trick> host_and_target_tricks() {
  std::vector<Trick> tricks;
  for (std::string const host :
       {"evil.test", "weir.test:81", "WEIR.test", "weir.test.", "weir.test:80", "weir.test.evil.test"})
    tricks.push_back({.name = "host " + host, .host = host});
  for (std::string const target :
       {"http://evil.test/page", "https://weir.test/page", "HTTP://WEIR.TEST:80/page", "http://weir.test:0080/page"})
    tricks.push_back({.name = "target " + target, .target = target});
  for (std::string const target : {"/page/",
                                   "/page//",
                                   "//page",
                                   "/./page",
                                   "/x/../page",
                                   "/x/..%2fpage",
                                   "/page%20",
                                   "/page%2f",
                                   "/page;x=evil",
                                   "/page%3fx=evil",
                                   "/page%23evil",
                                   "/page%2500",
                                   "/page%0d%0aX:evil",
                                   "/page.css",
                                   "/page/evil.css",
                                   "/page\\evil",
                                   "/page.",
                                   "/page~",
                                   "/page%2fevil.js",
                                   "/%2e/page",
                                   "/page?evil",
                                   "/page?",
                                   "/page??",
                                   "/page?/evil.css"})
    tricks.push_back({.name = "target " + target, .target = target});
  for (std::string const version : {"HTTP/1.0", "HTTP/1.1"}) tricks.push_back({.name = "in " + version, .version = version});
  tricks.push_back({.name = "in HTTP/1.0 without a host", .version = "HTTP/1.0", .host = ""});
  return tricks;
}

// With tracking parameters dropped: what a cache and an application cut a query into need not be the same.
inline std::vector<Trick> query_tricks() {
  std::vector<Trick> tricks;
  for (std::string const query : {"utm_source=evil",
                                  "utm_source=1;x=evil",
                                  "utm_source=1%26x=evil",
                                  "utm_source=1&x=evil",
                                  "x=evil&utm_source=1",
                                  "utm_source=1;utm_source=2&gclid=;x=evil",
                                  "utm_x;x=evil",
                                  "gclid=1%3bx=evil",
                                  "fbclid=1?x=evil",
                                  "utm_%78=evil",
                                  "%75tm_source=1;x=evil",
                                  "UTM_SOURCE=evil",
                                  "utm_source",
                                  "&utm_source=evil&",
                                  "=evil&utm_source=",
                                  ";x=evil",
                                  "&",
                                  "x[]=evil&utm_source=1",
                                  "_method=DELETE&utm_source=1",
                                  "callback=evil",
                                  "utm_source=1#",
                                  "utm_source=\\&x=evil",
                                  "utm_source=evil%00&gclid=%ff"})
    tricks.push_back({.name = "query " + query, .target = "/page?" + query});
  return tricks;
}

inline std::vector<Trick> method_and_body_tricks() {
  std::vector<Trick> tricks;
  for (std::string const method :
       {"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "QUERY", "get", "PURGE", "TRACE", "EVIL", "GETT"})
    tricks.push_back({.name = "method " + method, .method = method});
  for (std::string const method : {"GET", "HEAD", "POST", "OPTIONS"})
    tricks.push_back({.name = "a body of " + method, .method = method, .body = "x=evil"});
  tricks.push_back({.name = "a form of GET",
                    .fields = {{"Content-Type", "application/x-www-form-urlencoded"}},
                    .body = "x=evil&_method=DELETE"});
  tricks.push_back(
      {.name = "chunks of GET", .fields = {{"Transfer-Encoding", "chunked"}, {"Transfer_Encoding", "x"}}, .body = ""});
  tricks.back().target =
      "/page HTTP/1.1\r\nHost: weir.test\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nx=evil\r\n0\r\n\r\nGET /page";
  tricks.back().fields = {};
  for (auto const* const field : {"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"})
    for (auto const* const method : {"POST", "DELETE", "HEAD", "EVIL"})
      tricks.push_back(by_field(Safe::guarded, field, method));
  return tricks;
}

inline std::vector<Trick> range_and_condition_tricks() {
  std::vector<Trick> tricks;
  for (auto const* const range : {"bytes=0-1", "bytes=-1", "bytes=0-0,2-2", "bytes=9999-", "bytes=1-0", "bytes=evil",
                                  "evil=0-1", "bytes=0-18446744073709551615"})
    tricks.push_back(by_field(Safe::always, "Range", range));
  for (auto const* const field : {"If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"})
    for (auto const* const value :
         {"*", "\"evil\"", "evil", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"})
      tricks.push_back(by_field(Safe::always, field, value));
  tricks.push_back({.name = "a range under a condition", .fields = {{"Range", "bytes=0-1"}, {"If-Range", "\"evil\""}}});
  tricks.push_back({.name = "a range twice", .fields = {{"Range", "bytes=0-1"}, {"Range", "bytes=2-3"}}});
  // RFC 9111 5.2: what a client says to caches must be passed on, so an origin that shows it shows it to all.
  for (auto const* const control : {"no-cache", "max-age=0", "max-stale", "evil"})
    tricks.push_back(by_field(Safe::strict, "Cache-Control", control));
  for (auto const* const control : {"no-store", "only-if-cached"})
    tricks.push_back(by_field(Safe::always, "Cache-Control", control));
  return tricks;
}

// What an origin answers with an error that says how long it is fresh.
inline std::vector<Trick> error_tricks() {
  std::vector<Trick> tricks{
      {.name = "a field of 12,000 bytes", .fields = {{"X-Oversized", std::string(12'000, 'a')}}},
      {.name = "many fields", .fields = Fields(90, {"X-Oversized", std::string(120, 'a')})},
      {.name = "an ignored cookie of 12,000 bytes", .fields = {{"Cookie", "_ga=" + std::string(12'000, 'a')}}},
      {.name = "a cookie of 12,000 bytes", .fields = {{"Cookie", "a=" + std::string(12'000, 'a')}}},
      {.name = "a field of 5,000 bytes", .fields = {{"X-Oversized", std::string(5'000, 'a')}}},
      {.name = "high bytes", .fields = {{"X-Meta", "\x80\xff"}}},
      {.name = "a control that is a tab", .fields = {{"X-Meta", "a\tb"}}},
  };
  for (auto const& [field, value] : std::vector<std::pair<std::string, std::string>>{{"Expect", "evil"},
                                                                                     {"Authorization", "evil"},
                                                                                     {"Content-Type", "evil"},
                                                                                     {"Upgrade", "evil"},
                                                                                     {"TE", "evil"},
                                                                                     {"Accept", "evil/evil"},
                                                                                     {"Accept-Encoding", "evil"},
                                                                                     {"Origin", "https://evil.test"},
                                                                                     {"X-Attack", "../../etc/passwd"},
                                                                                     {"User-Agent", "sqlmap"},
                                                                                     {"Max-Forwards", "evil"},
                                                                                     {"Sec-WebSocket-Version", "666"},
                                                                                     {"Accept", "evil/"},
                                                                                     {"Referer", "evil evil"},
                                                                                     {"Content-Language", "evil"}})
    tricks.push_back(by_field(Safe::always, field, value));
  // A field that no cache knows is nothing odd.
  tricks.push_back(by_field(Safe::strict, "X-Unheard-Of"));
  return tricks;
}

inline std::vector<Trick> cookie_tricks() {
  std::vector<Trick> tricks;
  for (std::string const cookie : {"_ga=evil", "_ga=evil; _gid=evil", "_ga=1; session=evil", "_ga=1,session=evil",
                                   "_ga=\"1; session=evil\"", "_ga=\"1; session=evil; \"", "session=evil", "session",
                                   "=evil", ";;session=evil;", "_GA=evil", "_ga =evil", "_gat_evil", "_ga=1;session=evil",
                                   "_ga=1 session=evil", "$Version=1; session=evil", "_ga%3d1; s=evil", "__utm=evil"})
    tricks.push_back({.name = "cookie " + cookie, .fields = {{"Cookie", cookie}}});
  tricks.push_back({.name = "cookies in two lines", .fields = {{"Cookie", "_ga=1"}, {"cookie", "session=evil"}}});
  tricks.push_back({.name = "Cookie2", .safe = Safe::strict, .fields = {{"Cookie2", "session=evil"}}});
  return tricks;
}

// What only `strict` keeps from an origin.
inline std::vector<Trick> unknown_fields() {
  std::vector<Trick> tricks;
  for (auto const* const field :
       {"X-Custom", "User-Agent", "Referer", "Accept", "Accept-Language", "Accept-Charset", "X-Requested-With",
        "X-Api-Version", "DNT", "Via", "From", "X-Request-Id", "Pragma", "X_Custom", "X-Evil.Name"})
    tricks.push_back(by_field(Safe::strict, field));
  return tricks;
}

}  // namespace weir::test
