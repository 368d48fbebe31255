// Cache deception: an origin that takes many URLs for one private page and says nothing of its privacy, routes that call
// URLs static, and a user who was made to follow a link. What is hers reaches nobody else.
#include <gtest/gtest.h>

#include "scenario/answers.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

// Links to /account.php that look like something that anybody may have.
std::vector<std::string> const links{"/account.php",
                                     "/account.php/x.css",
                                     "/account.php/x.js?v=1",
                                     "/account.php/static/x.css",
                                     "/account;x.css",
                                     "/account.php;x.css",
                                     "/account.php;/../static/x.css",
                                     "/account%2ephp",
                                     "/account.php%2fx.css",
                                     "/account.php%2Fx.css",
                                     "/account.php%3bx.css",
                                     "/account.php%3fx.css",
                                     "/account.php%23x.css",
                                     "/account.php%0ax.css",
                                     "/account.php%2500x.css",
                                     "/account.php%252fx.css",
                                     "/account.php%253fx.css",
                                     "/account.php%5cx.css",
                                     "/account.php\\x.css",
                                     "/account.php?x.css",
                                     "/account.php?/static/x.css",
                                     "/account.php?utm_source=x.css",
                                     "/account.php.",
                                     "/account.php./x.css",
                                     "/account.css",
                                     "/account~x.css",
                                     "/account,x.css",
                                     "/account!x.css",
                                     "/account$x.css",
                                     "/account%20.css",
                                     "/Account.php/x.css",
                                     "/ACCOUNT.PHP",
                                     "/%61ccount.php",
                                     "/%2561ccount.php",
                                     "//account.php",
                                     "/./account.php",
                                     "/x/../account.php",
                                     "/static/../account.php",
                                     "/static/..%2faccount.php",
                                     "/static/%2e%2e/account.php",
                                     "/static/%2e%2e%2faccount.php",
                                     "/static/%252e%252e%252faccount.php",
                                     "/static/..;/account.php",
                                     "/static/..\\account.php",
                                     "/static/..%5caccount.php",
                                     "/static/x/../../account.php/x.css",
                                     "/static//../account.php",
                                     "/static/.%2e/account.php",
                                     "/static/..%00/account.php"};

std::string decoded(std::string const& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool const escape = text[i] == '%' && i + 2 < text.size() &&
                        std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                        std::isxdigit(static_cast<unsigned char>(text[i + 2])) != 0;
    out += escape ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i];
    if (escape) i += 2;
  }
  return out;
}

// Whether an application that decodes twice, resolves dots and ignores what is behind a name shows its account page.
bool shows_account(std::string const& target) {
  auto path = decoded(decoded(target));
  for (char& c : path) c = c == '\\' ? '/' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return path.find("/account") != std::string::npos;
}

std::string user_of(Request const& request) {
  for (auto const* const field : {"Cookie", "Authorization"})
    for (std::string const user : {"alice", "bob"})
      if (request.value(field).find(user) != std::string::npos) return user;
  return "nobody";
}

// Good answers, and careless about whose they are.
std::vector<Fields> const careless{
    {},
    {max_age(600)},
    {{"Expires", http_date(600s)}},
    {{"Last-Modified", http_date(-864'000s)}},
    {{"Last-Modified", http_date(-864'000s)}, {"ETag", "\"e\""}, {"Vary", "Accept-Encoding"}},
    {{"Cache-Control", "max-age=600, immutable"}, {"ETag", "\"e\""}},
    {{"Cache-Control", "max-age=1, stale-while-revalidate=600, stale-if-error=600"}},
    {{"CDN-Cache-Control", "max-age=600"}},
    {{"Cache-Control", "private"}, {"CDN-Cache-Control", "max-age=600"}},
    {{"Cache-Control", "private, max-age=600"}},
    {{"Cache-Control", "no-store"}},
    {{"Cache-Control", "max-age=600"}, {"Set-Cookie", "seen=1"}},
};
// Settings that trust in URLs.
std::vector<std::string> const settings{
    plain,
    "freshness: {jitter: off, early_refresh: off, default_ttl: 10m}\n",
    "freshness: {jitter: off, early_refresh: off, override_ttl: 10m}\nstorable: {set_cookie: strip}\n",
    "freshness: {jitter: off, override_ttl: 10m}\nstorable: {ignore_cache_control: true, set_cookie: store}\n",
    plain + "key: {normalize_path: true, query_drop: [tracking], query_sort: true}\n",
    plain + "forward: {mode: strict}\n",
    plain + "forward: {mode: all}\n",
    plain +
        "sites: [{origin: default, routes: [{path: \"/static/*\", freshness: {override_ttl: 1h}, storable: "
        "{ignore_cache_control: true}}, {path: \"/account*\", cache: off}]}]\n",
    plain +
        "sites: [{origin: default, routes: [{path: \"/static/*\", cookies: {mode: ignore}, freshness: "
        "{override_ttl: 1h}}]}]\n",
    "freshness: {jitter: off, early_refresh: off, default_ttl: 10m}\nkey: {cookies: [theme]}\n",
};

std::string const by_cookie[] = {"session=", "_ga=1; theme=dark; session=", "theme=dark;session="};

Fields asks_as(std::string const& user, bool authorized, std::size_t spelling) {
  if (authorized) return {{"Authorization", "Basic " + user}};
  return {{"Cookie", by_cookie[spelling % std::size(by_cookie)] + user}};
}

// Nobody but her sees what is hers; the others ask as who they are.
void expect_kept_from_others(Client& others, std::string const& link, bool authorized, std::size_t run) {
  for (auto const& fields :
       {asks_as("bob", authorized, run), Fields{}, Fields{{"Cookie", "theme=dark"}, {"Range", "bytes=0-9"}}}) {
    auto const answer = others.get(link, fields);
    EXPECT_EQ(answer.raw.find("alice"), std::string::npos) << link << "\n" << answer;
  }
}

void run(std::string const& yaml, Fields const& says, bool authorized) {
  ScriptedOrigin origin;
  origin.answer_rest([&](Request const& request) {
    bool const page = shows_account(request.target);
    return respond(200, says, page ? "secrets of " + user_of(request) : "static");
  });
  Weir weir(origin, yaml);
  Client alice(weir.port()), others(weir.port());
  std::size_t number = 0;
  for (auto const& link : links) {
    if (link.find("%00") != std::string::npos) continue;
    auto const hers = asks_as("alice", authorized, ++number);
    EXPECT_EQ(alice.get(link, hers).status, 200);
    ASSERT_TRUE(weir.waits_until_no_flights());
    expect_kept_from_others(others, link, authorized, number);
  }
}

// FWD-3, STO-1, COA-8, FRS-4
TEST(Deception, WhatACookieWasShownIsNobodyElses) {
  for (auto const& yaml : settings) {
    for (auto const& says : careless) {
      SCOPED_TRACE(yaml + write_fields(says));
      run(yaml, says, false);
    }
  }
}

// STO-1, COA-8, FRS-4
TEST(Deception, WhatAuthorizationWasShownIsNobodyElses) {
  for (auto const& yaml : settings) {
    for (auto const& says : careless) {
      SCOPED_TRACE(yaml + write_fields(says));
      run(yaml, says, true);
    }
  }
}

// COA-8, FWD-3: nor while it comes.
TEST(Deception, NobodyJoinsHerFetch) {
  ScriptedOrigin origin;
  Gate gate;
  origin.answer_rest([&](Request const& request) {
    auto const body = "secrets of " + user_of(request);
    return Script().wait(gate).send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: " +
                                    std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  Weir weir(origin, plain);
  Client alice(weir.port()), bob(weir.port()), nobody(weir.port());
  alice.send_request("GET", "/account.php/x.css", asks_as("alice", false, 0));
  ASSERT_TRUE(origin.waits_for_calls(1));
  bob.send_request("GET", "/account.php/x.css", asks_as("bob", false, 0));
  nobody.send_request("GET", "/account.php/x.css");
  ASSERT_TRUE(origin.waits_for_calls(3));
  gate.open();
  EXPECT_EQ(alice.read().body, "secrets of alice");
  EXPECT_EQ(bob.read().body, "secrets of bob");
  EXPECT_EQ(nobody.read().body, "secrets of nobody");
  EXPECT_EQ(get(weir.port(), "/account.php/x.css").body, "secrets of nobody");
}

// REQ-1: a NUL in a path is refused in whatever spelling an origin might decode at once.
TEST(Deception, ANulIsRefused) {
  ScriptedOrigin origin;
  Weir weir(origin);
  for (auto const& link : links) {
    if (link.find("%00") == std::string::npos) continue;
    EXPECT_EQ(get(weir.port(), link).status, 400);
  }
  EXPECT_EQ(get(weir.port(), "/account.php%00.css").status, 400);
  EXPECT_EQ(origin.connections(), 0U);
}

}  // namespace
}  // namespace weir::test
