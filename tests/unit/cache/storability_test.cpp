// STO-1 to STO-5, FRS-4, FWD-3, COA-17: what may be stored and shared, and what is known of it then (RFC 9111 3).
#include <gtest/gtest.h>

#include "unit/cache/storability_rows.hpp"

namespace weir::cache::test::storing {
namespace {

TEST_P(StorabilityOf, Response) {
  Row const& row = GetParam();
  Rules rules;
  row.rules(rules);
  auto const s = decide(WireRequest(row.request), WireResponse(row.response), rules);
  EXPECT_EQ(label(s.reason), label(row.reason));
  EXPECT_EQ(s.store, row.reason == NotStored::unknown);
  EXPECT_EQ(s.share, s.store);
  EXPECT_EQ(traits_of(s), row.traits);
}

INSTANTIATE_TEST_SUITE_P(  // STO-1
    Methods, StorabilityOf,
    testing::Values(
        Row{"GET", get, "200\nCache-Control: max-age=60", stored, "f"},
        Row{"HEAD", "HEAD /", "200\nCache-Control: max-age=60", stored, "f"},
        Row{"PUT", "PUT /", "200\nCache-Control: max-age=60", N::method},
        Row{"OPTIONS", "OPTIONS /", "200\nCache-Control: max-age=60", N::method},
        Row{"unknown", "BREW /", "200\nCache-Control: max-age=60", N::method},
        Row{"POST", "POST /a\nHost: a", "200\nCache-Control: max-age=60", N::method},
        Row{"POST that names itself", "POST /a\nHost: a", "200\nCache-Control: max-age=60\nContent-Location: /a", stored,
            "f"},
        Row{"POST that names another", "POST /a\nHost: a", "200\nCache-Control: max-age=60\nContent-Location: /b",
            N::method},
        Row{"POST without explicit freshness", "POST /a\nHost: a", "200\nETag: \"a\"\nContent-Location: /a", N::method},
        Row{"POST whose answer is coded", "POST /a\nHost: a",
            "200\nCache-Control: max-age=60\nContent-Location: /a\nContent-Encoding: zstd", N::method},
        Row{"POST whose answer varies", "POST /a\nHost: a",
            "200\nCache-Control: max-age=60\nContent-Location: /a\nVary: Accept-Language", stored, "f"},
        Row{"POST whose answer varies where languages are chosen", "POST /a\nHost: a",
            "200\nCache-Control: max-age=60\nContent-Location: /a\nVary: Accept-Language", N::method, "", languages},
        Row{"POST whose answer varies by another where languages are chosen", "POST /a\nHost: a",
            "200\nCache-Control: max-age=60\nContent-Location: /a\nVary: Foo", stored, "f", languages},
        Row{"POST that created", "POST /a\nHost: a", "201\nCache-Control: max-age=60\nContent-Location: /a", N::method},
        Row{"POST's refusal leaves no marker", "POST /a\nHost: a",
            "200\nCache-Control: max-age=60, private\nContent-Location: /a", N::private_}),
    row_name);

INSTANTIATE_TEST_SUITE_P(  // STO-1
    Statuses, StorabilityOf,
    testing::Values(
        Row{"206 never", get, "206\nCache-Control: public, max-age=60", N::partial, "m"},
        Row{"304 never", get, "304\nCache-Control: public, max-age=60", N::status, "m"},
        Row{"interim", get, "199\nCache-Control: max-age=60", N::status, "m"},
        Row{"beyond all", get, "600\nCache-Control: max-age=60", N::status, "m"},
        Row{"302 with freshness", get, "302\nCache-Control: max-age=60", stored, "f"},
        Row{"302 with a past expiry", get, "302\nExpires: 0", stored},
        Row{"302 with s-maxage", get, "302\nCache-Control: s-maxage=60", stored, "fsar"},
        Row{"302 with Expires", get, "302\nExpires: $+60", stored, "f"},
        Row{"302 without", get, "302\nETag: \"a\"", N::no_freshness, "m"},
        Row{"302 public", get, "302\nCache-Control: public", stored, "sa"},
        Row{"unknown with freshness", get, "299\nCache-Control: max-age=60", stored, "f"},
        Row{"the last there is", get, "599\nCache-Control: max-age=60", stored, "f"},
        Row{"200 with a tag", get, "200\nETag: \"a\"", stored},
        Row{"200 with Last-Modified", get, "200\nLast-Modified: $-1000", stored, "f"},
        Row{"200 modified never", get, "200\nLast-Modified: x", N::no_freshness, "m"},
        Row{"200 with an empty tag", get, "200\nETag:", N::no_freshness, "m"},
        Row{"200 with nothing", get, "200", N::no_freshness, "m"},
        Row{"200 with a default", get, "200", stored, "f", default_ttl},
        Row{"302 has no default", get, "302", N::no_freshness, "m", default_ttl},
        Row{"204", get, "204\nETag: \"a\"", stored}, Row{"203", get, "203\nETag: \"a\"", stored},
        Row{"300", get, "300\nETag: \"a\"", stored}, Row{"301", get, "301\nETag: \"a\"", stored},
        Row{"308", get, "308\nETag: \"a\"", stored}, Row{"404", get, "404\nETag: \"a\"", stored},
        Row{"405", get, "405\nETag: \"a\"", stored}, Row{"410", get, "410\nETag: \"a\"", stored},
        Row{"414", get, "414\nETag: \"a\"", stored}, Row{"501", get, "501\nETag: \"a\"", stored},
        Row{"403 permits no guess", get, "403\nETag: \"a\"", N::no_freshness, "m"},
        Row{"412 of a precondition", "GET /\nIf-Match: \"x\"", "412\nCache-Control: max-age=60", N::status},
        Row{"416 of a range", "GET /\nRange: bytes=9-", "416\nCache-Control: max-age=60", N::status},
        Row{"206 of a range", "GET /\nRange: bytes=0-0", "206\nCache-Control: max-age=60", N::partial},
        Row{"206 of nothing", get, "206\nCache-Control: max-age=60", N::partial, "m"},
        Row{"304 of a condition", "GET /\nIf-None-Match: \"x\"", "304\nCache-Control: max-age=60", N::status},
        Row{"304 of nothing", get, "304\nCache-Control: max-age=60", N::status, "m"},
        Row{"412 of a precondition, and for nobody", "GET /\nIf-Match: \"x\"", "412\nCache-Control: no-store", N::no_store},
        Row{"412 of nothing, and for nobody", get, "412\nCache-Control: no-store", N::no_store, "m"},
        Row{"416 of a range, and for nobody", "GET /\nRange: bytes=0-0", "416\nCache-Control: no-store", N::no_store},
        Row{"416 of nothing, and for nobody", get, "416\nCache-Control: no-store", N::no_store, "m"},
        Row{"205 beside a range", "GET /\nRange: bytes=0-0", "205\nCache-Control: no-store", N::no_store, "m"},
        Row{"207 beside a range", "GET /\nRange: bytes=0-0", "207\nCache-Control: no-store", N::no_store, "m"},
        Row{"303 beside a range", "GET /\nRange: bytes=0-0", "303\nCache-Control: no-store", N::no_store, "m"},
        Row{"305 beside a range", "GET /\nRange: bytes=0-0", "305\nCache-Control: no-store", N::no_store, "m"},
        Row{"411 beside a range", "GET /\nRange: bytes=0-0", "411\nCache-Control: no-store", N::no_store, "m"},
        Row{"413 beside a range", "GET /\nRange: bytes=0-0", "413\nCache-Control: no-store", N::no_store, "m"},
        Row{"415 beside a range", "GET /\nRange: bytes=0-0", "415\nCache-Control: no-store", N::no_store, "m"},
        Row{"417 beside a range", "GET /\nRange: bytes=0-0", "417\nCache-Control: no-store", N::no_store, "m"},
        Row{"200 to a precondition", "GET /\nIf-Match: \"x\"", "200\nCache-Control: max-age=60", N::status},
        Row{"200 to a condition of a range", "GET /\nIf-Range: x", "200\nCache-Control: max-age=60", N::status},
        Row{"400", get, "400\nCache-Control: max-age=60", stored, "f"},
        Row{"400 to an odd request", "GET /\nExpect: x", "400\nCache-Control: max-age=60", N::status},
        Row{"403", get, "403\nCache-Control: public, max-age=60", N::status},
        Row{"412 of nothing", get, "412\nCache-Control: max-age=60", N::status},
        Row{"451", get, "451\nCache-Control: max-age=60", stored, "f"},
        Row{"403 where the operator wants it", get, "403\nCache-Control: max-age=60", stored, "f", all_errors}),
    row_name);

INSTANTIATE_TEST_SUITE_P(  // STO-1, STO-3, COA-17
    Directives, StorabilityOf,
    testing::Values(
        Row{"no-store", get, "200\nCache-Control: max-age=60, no-store", N::no_store, "m"},
        Row{"private", get, "200\nCache-Control: max-age=60, private", N::private_, "m"},
        Row{"private on a later line", get, "200\nCache-Control: max-age=60\nCache-Control: private", N::private_, "m"},
        Row{"private of a field", get, "200\nCache-Control: max-age=60, private=\"a\"", stored, "f"},
        Row{"no-cache", get, "200\nCache-Control: max-age=60, no-cache", stored, "n"},
        Row{"no-cache alone", get, "200\nCache-Control: no-cache", stored, "n"},
        Row{"no-cache alone where no guess is permitted", get, "302\nCache-Control: no-cache", N::no_freshness, "m"},
        Row{"no-cache of a field", get, "200\nCache-Control: max-age=60, no-cache=\"a\"", stored, "f"},
        Row{"max-age=0", get, "200\nCache-Control: max-age=0", stored},
        Row{"public alone", get, "200\nCache-Control: public", stored, "sa"},
        Row{"conflicting is stale", get, "200\nCache-Control: max-age=60, max-age=61", stored},
        Row{"must-revalidate", get, "200\nCache-Control: max-age=60, must-revalidate", stored, "far"},
        Row{"proxy-revalidate", get, "200\nCache-Control: max-age=60, proxy-revalidate", stored, "fr"},
        Row{"s-maxage", get, "200\nCache-Control: s-maxage=60", stored, "fsar"},
        Row{"older than its lifetime", get, "200\nCache-Control: max-age=60\nAge: 60", stored},
        Row{"as old as its lifetime", get, "200\nCache-Control: max-age=60\nAge: 58", stored},
        Row{"a second younger", get, "200\nCache-Control: max-age=60\nAge: 57", stored, "f"},
        Row{"no-transform and what nobody knows", get, "200\nCache-Control: max-age=60, no-transform, x=y", stored, "f"},
        Row{"must-understand, understood", get, "200\nCache-Control: max-age=60, must-understand", stored, "f"},
        Row{"must-understand overrules no-store", get, "200\nCache-Control: max-age=60, no-store, must-understand", stored,
            "f"},
        Row{"must-understand, not understood", get, "299\nCache-Control: max-age=60, must-understand", N::status, "m"},
        Row{"must-understand and no-store, not understood", get, "299\nCache-Control: max-age=60, no-store, must-understand",
            N::status, "m"},
        Row{"must-understand permits no private", get, "200\nCache-Control: max-age=60, no-store, must-understand, private",
            N::private_, "m"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(  // STO-4
    Targeted, StorabilityOf,
    testing::Values(
        Row{"decides alone", get, "200\nCDN-Cache-Control: max-age=60\nCache-Control: no-cache", stored, "f"},
        Row{"no-store of its own", get, "200\nCDN-Cache-Control: no-store\nCache-Control: max-age=60", N::no_store, "m"},
        Row{"private of its own", get, "200\nCDN-Cache-Control: private\nCache-Control: max-age=60", N::private_, "m"},
        Row{"no-cache of its own", get, "200\nCDN-Cache-Control: no-cache\nCache-Control: max-age=60", stored, "n"},
        Row{"strict: no-store still binds", get, "200\nCDN-Cache-Control: max-age=60\nCache-Control: no-store", N::no_store,
            "m"},
        Row{"strict: private still binds", get, "200\nCDN-Cache-Control: max-age=60\nCache-Control: private", N::private_,
            "m"},
        Row{"strict: no-store with must-understand", get,
            "200\nCDN-Cache-Control: max-age=60\nCache-Control: no-store, must-understand", stored, "f"},
        Row{"lax: no-store does not", get, "200\nCDN-Cache-Control: max-age=60\nCache-Control: no-store", stored, "f", lax},
        Row{"lax: private does not", get, "200\nCDN-Cache-Control: max-age=60\nCache-Control: private", stored, "f", lax},
        Row{"wrong grammar is as if absent", get, "200\nCDN-Cache-Control: max-age=60, &&\nCache-Control: no-store",
            N::no_store, "m", lax},
        Row{"an empty one is as if absent", get, "200\nCDN-Cache-Control:\nCache-Control: no-store", N::no_store, "m", lax},
        Row{"its Expires is ignored", get, "302\nCDN-Cache-Control: foo\nExpires: $+60", N::no_freshness, "m"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(  // STO-1, FWD-3, SRV-5, KEY-5, STO-5
    Requests, StorabilityOf,
    testing::Values(
        Row{"no-store", "GET /\nCache-Control: no-store", "200\nCache-Control: max-age=60", N::request_no_store},
        Row{"authorization", "GET /\nAuthorization: x", "200\nCache-Control: max-age=60", N::authorization},
        Row{"authorization, public", "GET /\nAuthorization: x", "200\nCache-Control: max-age=60, public", stored, "fsa"},
        Row{"authorization, s-maxage", "GET /\nAuthorization: x", "200\nCache-Control: s-maxage=60", stored, "fsar"},
        Row{"authorization, must-revalidate", "GET /\nAuthorization: x", "200\nCache-Control: max-age=60, must-revalidate",
            stored, "far"},
        Row{"authorization, proxy-revalidate", "GET /\nAuthorization: x", "200\nCache-Control: max-age=60, proxy-revalidate",
            N::authorization},
        Row{"cookie", "GET /\nCookie: s=1", "200\nCache-Control: max-age=60", N::cookie},
        Row{"cookie, must-revalidate", "GET /\nCookie: s=1", "200\nCache-Control: max-age=60, must-revalidate", N::cookie},
        Row{"cookie, public", "GET /\nCookie: s=1", "200\nCache-Control: max-age=60, public", stored, "fsa"},
        Row{"cookie, s-maxage", "GET /\nCookie: s=1", "200\nCache-Control: s-maxage=60", stored, "fsar"},
        Row{"cookie and authorization", "GET /\nCookie: s=1\nAuthorization: x",
            "200\nCache-Control: max-age=60, must-revalidate", N::cookie},
        Row{"private to credentials leaves no marker", "GET /\nCookie: s=1", "200\nCache-Control: private", N::private_},
        Row{"private to an Authorization too", "GET /\nAuthorization: x", "200\nCache-Control: private", N::private_},
        Row{"the response's reason goes first", "GET /\nCache-Control: no-store", "200\nCache-Control: private", N::private_,
            "m"},
        Row{"identity forbidden", "GET /\nX-Identity-Forbidden: 1", "200\nCache-Control: max-age=60",
            N::identity_forbidden}),
    row_name);

INSTANTIATE_TEST_SUITE_P(  // STO-1, STO-2, SRV-7, KEY-6
    Contents, StorabilityOf,
    testing::Values(
        Row{"Set-Cookie", get, "200\nCache-Control: max-age=60\nSet-Cookie: a=b", N::set_cookie, "m"},
        Row{"Set-Cookie, public", get, "200\nCache-Control: public\nSet-Cookie: a=b", N::set_cookie, "m"},
        Row{"Set-Cookie stripped", get, "200\nCache-Control: max-age=60\nSet-Cookie: a=b", stored, "f", strip},
        Row{"Set-Cookie stored", get, "200\nCache-Control: max-age=60\nSet-Cookie: a=b", stored, "f", keep_cookie},
        Row{"event stream", get, "200\nCache-Control: max-age=60\nContent-Type: Text/Event-Stream ;charset=utf-8",
            N::event_stream, "m"},
        Row{"no event stream", get, "200\nCache-Control: max-age=60\nContent-Type: text/event-streams", stored, "f"},
        Row{"Vary star", get, "200\nCache-Control: max-age=60\nVary: *", N::vary_star, "m"},
        Row{"Vary too long", get, "200\nCache-Control: max-age=60\nVary: a,b,c,d,e,f,g,h,i", N::vary_fields, "m"},
        Row{"Vary malformed", get, "200\nCache-Control: max-age=60\nVary: a b", N::vary_fields, "m"},
        Row{"Vary on a cookie", get, "200\nCache-Control: max-age=60\nVary: cookie", N::vary_forbidden, "m"},
        Row{"as large as may be", get, "200\nCache-Control: max-age=60\nContent-Length: 8388608", stored, "f"},
        Row{"too large", get, "200\nCache-Control: max-age=60\nContent-Length: 8388609", N::too_large, "m"}),
    row_name);

INSTANTIATE_TEST_SUITE_P(  // FRS-4
    Overrides, StorabilityOf,
    testing::Values(Row{"of nothing", get, "200", stored, "f", override_ttl},
                    Row{"of max-age=0", get, "200\nCache-Control: max-age=0", stored, "f", override_ttl},
                    Row{"of no-cache", get, "200\nCache-Control: no-cache", stored, "f", override_ttl},
                    Row{"of a conflict", get, "200\nCache-Control: max-age=x", stored, "f", override_ttl},
                    Row{"not of a status without freshness", get, "302", N::no_freshness, "m", override_ttl},
                    Row{"not of an error", get, "503", N::no_freshness, "", override_ttl},
                    Row{"not of no-store", get, "200\nCache-Control: no-store", N::no_store, "m", override_ttl},
                    Row{"not of private", get, "200\nCache-Control: private", N::private_, "m", override_ttl},
                    Row{"not of a stored Set-Cookie", get, "200\nETag: \"a\"\nSet-Cookie: a", stored, "",
                        [](Rules& rules) {
                          override_ttl(rules);
                          keep_cookie(rules);
                        }},
                    Row{"of what has no Set-Cookie to store", get, "200", stored, "f",
                        [](Rules& rules) {
                          override_ttl(rules);
                          keep_cookie(rules);
                        }},
                    Row{"of a stripped Set-Cookie", get, "200\nETag: \"a\"\nSet-Cookie: a", stored, "f",
                        [](Rules& rules) {
                          override_ttl(rules);
                          strip(rules);
                        }},
                    Row{"not of credentials", "GET /\nCookie: s=1", "200\nCache-Control: public, max-age=0", stored, "sa",
                        override_ttl},
                    Row{"not of an Authorization", "GET /\nAuthorization: x", "200\nCache-Control: public, max-age=0",
                        stored, "sa", override_ttl},
                    Row{"forced: of no-store", get, "200\nCache-Control: no-store", stored, "f", forced},
                    Row{"forced: of private", get, "200\nCache-Control: private, must-revalidate", stored, "f", forced},
                    Row{"forced: of a stored Set-Cookie", get, "200\nSet-Cookie: a", stored, "f",
                        [](Rules& rules) {
                          forced(rules);
                          keep_cookie(rules);
                        }},
                    Row{"forced: Set-Cookie is still refused", get, "200\nSet-Cookie: a", N::set_cookie, "m", forced},
                    Row{"forced: not of credentials", "GET /\nAuthorization: x",
                        "200\nETag: \"a\"\nCache-Control: public, max-age=60", N::authorization, "", forced},
                    Row{"forced: a targeted field was meant for us", get, "200\nWeir-Cache-Control: no-store", N::no_store,
                        "m", forced}),
    row_name);

TEST(Storability, FillsTheFacts) {  // FRS-1, STO-6, STL-1
  auto const s =
      decide(WireRequest(get),
             WireResponse("203 X\nDate: $-9\nAge: 3\nCache-Control: max-age=60, immutable, stale-while-revalidate=7, "
                          "stale-if-error=8, no-cache=\"A, b\", private=\"c\"\nVary: X, b"),
             {});
  EXPECT_EQ(s.facts.status, 203);
  EXPECT_EQ(s.facts.response_time, noon.steady);
  EXPECT_EQ(s.facts.initial_age, 5s);
  EXPECT_EQ(s.facts.lifetime, 60s);
  EXPECT_EQ(s.facts.fetch_time, 2s);
  EXPECT_EQ(s.facts.stale_while_revalidate, 7s);
  EXPECT_EQ(s.facts.stale_if_error, 8s);
  EXPECT_EQ(s.facts.purge_number, 5U);
  EXPECT_EQ(s.facts.began, 6U);
  EXPECT_EQ(s.facts.date, noon.wall - 9s);
  EXPECT_TRUE(s.facts.immutable);
  EXPECT_FALSE(s.facts.heuristic);
  EXPECT_FALSE(s.facts.forbids_incident_stale);
  EXPECT_EQ(s.vary.names, (std::vector<std::string>{"b", "x"}));
  EXPECT_EQ(s.fields_not_stored, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Storability, ForbidsIncidentStaleUnderThree) {  // MODE-1
  for (char const* directive : {"must-revalidate", "proxy-revalidate", "no-cache"}) {
    auto const s = decide(WireRequest(get), WireResponse(std::string("200\nCache-Control: max-age=1, ") + directive), {});
    EXPECT_TRUE(s.facts.forbids_incident_stale) << directive;
  }
  EXPECT_FALSE(decide(WireRequest(get), WireResponse("200\nCache-Control: s-maxage=1"), {}).facts.forbids_incident_stale);
}

TEST(Storability, SaysWhereTheLifetimeCameFrom) {  // FRS-1, FRS-4
  Rules rules;
  auto const source = [&] {
    return label(decide(WireRequest(get), WireResponse("200\nCache-Control: max-age=60"), rules).facts.lifetime_source);
  };
  EXPECT_EQ(source(), "max-age");
  override_ttl(rules);
  EXPECT_EQ(source(), "override_ttl");
}

TEST(Storability, CapsErrorsAndShortensByJitter) {  // STO-1, FRS-2
  Rules rules;
  EXPECT_EQ(decide(WireRequest(get), WireResponse("503\nCache-Control: max-age=60"), rules).facts.lifetime, 10s);
  override_ttl(rules);
  EXPECT_EQ(decide(WireRequest(get), WireResponse("503\nCache-Control: max-age=60"), rules).facts.lifetime, 10s);
  EXPECT_EQ(decide(WireRequest(get), WireResponse("200\nCache-Control: max-age=1"), rules).facts.lifetime, 60s);
  WireResponse const response("200\nCache-Control: max-age=100");
  auto const s = storability({}, response.response, {.request = noon, .response = noon}, {}, {}, {}, 0.5);
  EXPECT_EQ(s.facts.lifetime, 95s);
}

TEST(Storability, StripsSetCookieForAll) {  // STO-2
  Rules rules;
  strip(rules);
  auto s = decide(WireRequest(get), WireResponse("200\nCache-Control: max-age=60\nSet-Cookie: a=b"), rules);
  EXPECT_TRUE(s.strip_set_cookie);
  EXPECT_EQ(s.fields_not_stored, std::vector<std::string>{"set-cookie"});
  s = decide(WireRequest(get), WireResponse("200\nCache-Control: max-age=60"), rules);
  EXPECT_FALSE(s.strip_set_cookie);
  EXPECT_TRUE(s.fields_not_stored.empty());
  s = decide(WireRequest(get), WireResponse("200\nCache-Control: max-age=60\nSet-Cookie: a=b"), {});
  EXPECT_FALSE(s.strip_set_cookie) << "refused whole";
}

TEST(Storability, KnowsWhatWasGuessed) {  // FRS-1, FRS-4
  Rules rules;
  EXPECT_TRUE(decide(WireRequest(get), WireResponse("200\nLast-Modified: $-1000"), rules).facts.heuristic);
  override_ttl(rules);
  EXPECT_FALSE(decide(WireRequest(get), WireResponse("200\nLast-Modified: $-1000"), rules).facts.heuristic);
}

TEST(Storability, CountsAFetchAsAnHourAtMost) {  // FRS-3
  WireResponse const response("200\nCache-Control: max-age=60");
  auto const fetch_time = [&](base::Duration took) {
    return storability({}, response.response, {.request = noon, .response = after(took)}, {}, {}, {}, 0).facts.fetch_time;
  };
  EXPECT_EQ(fetch_time(1h), 1h);
  EXPECT_EQ(fetch_time(90min), 1h);
  EXPECT_EQ(fetch_time(-1s), 0s);
}

TEST(Storability, OnlyABodyIsTooLarge) {  // STO-1, SRV-4
  WireResponse response("200\nCache-Control: max-age=60\nContent-Length: 8388609");
  response.response.framing.kind = http::BodyKind::none;  // of an answer to HEAD
  EXPECT_TRUE(decide(WireRequest("HEAD /"), response, {}).store);
}

TEST(Storability, APostThatNamesNoUriIsNotStored) {  // STO-1
  WireResponse const response("200\nCache-Control: max-age=60\nContent-Location: /a");
  Requester requester;
  requester.method = http::Method::post;
  EXPECT_EQ(label(storability(requester, response.response, {}, {}, {}, {}, 0).reason), "method");
}

TEST(Storability, LabelsDiffer) {  // STO-5
  std::vector<std::string_view> seen;
  for (std::size_t i = 0; i < not_stored_count; ++i) {
    auto const word = label(static_cast<NotStored>(i));
    EXPECT_EQ(std::count(seen.begin(), seen.end(), word), 0) << word;
    seen.push_back(word);
  }
}

// ---- after a 304 ----

// What becomes of a stored 200 with `stored` fields that a 304 with `update` fields validated an hour later.
Storability freshened(char const* stored_fields, char const* update, Rules const& rules = {}) {
  WireRequest const request(get);
  WireResponse const first(std::string("200 OK\n") + stored_fields);
  WireResponse const second(std::string("304 Not Modified\n") + update);
  auto before = decide(request, first, rules);
  auto const head = build_head(first.response, {}, noon.wall, &before.facts);
  Requester requester;
  requester.fields = request.fields();
  FetchTimes const times{.request = after(1h - 3s), .response = after(1h), .purge_number = 7, .began = 8};
  return storability_freshened(requester, head, before.facts, second.response, times, rules.key, rules.storable,
                               rules.freshness, 0.5);
}

TEST(Freshened, StoredDirectivesHoldWhereThe304SaysNothing) {  // SRV-2
  auto const s = freshened("Cache-Control: max-age=5\nVary: a\nAge: 100", "");
  EXPECT_TRUE(s.store);
  EXPECT_EQ(s.facts.status, 200);
  EXPECT_EQ(s.facts.lifetime, 5s);
  EXPECT_EQ(s.facts.initial_age, 3s) << "Age was the first answer's";
  EXPECT_EQ(s.facts.response_time, after(1h).steady);
  EXPECT_EQ(s.facts.date, after(1h).wall);
  EXPECT_EQ(s.facts.purge_number, 7U);
  EXPECT_EQ(s.facts.began, 8U);
  EXPECT_EQ(s.vary.names, std::vector<std::string>{"a"});
}

TEST(Freshened, The304DecidesAnew) {  // SRV-2
  auto s = freshened("Cache-Control: max-age=5\nVary: a", "Cache-Control: max-age=7, public\nAge: 2\nVary: b");
  EXPECT_EQ(s.facts.lifetime, 7s);
  EXPECT_EQ(s.facts.initial_age, 5s);
  EXPECT_TRUE(s.facts.shared_explicitly);
  EXPECT_EQ(s.vary.names, std::vector<std::string>{"b"});
  s = freshened("Cache-Control: max-age=5", "Cache-Control: private");
  EXPECT_EQ(label(s.reason), "private");
}

TEST(Freshened, OurOwnViaIsNoOldHop) {  // FRS-1
  WireResponse old_origin("200 OK\nDate: $-3600\nCache-Control: max-age=5");
  old_origin.response.version = 10;
  Facts facts;
  facts.status = 200;
  auto const head = build_head(old_origin.response, {}, noon.wall, nullptr);
  WireResponse const update("304 Not Modified\nDate: $-3600");
  FetchTimes const times{.request = noon, .response = noon};
  auto const s = storability_freshened({}, head, facts, update.response, times, {}, {}, {}, 0);
  EXPECT_EQ(s.facts.initial_age, 0s);
}

// STO-3: what was kept for one requester by a policy that no stored head carries comes into none with a 304 either.
TEST(Freshened, AddsNoFieldThatItMayHaveKept) {
  auto const had = "ETag: \"a\"\nX-Kept: k\nWeir-Cache-Control: max-age=5, private=\"x-user\"";
  using Names = std::vector<std::string>;
  EXPECT_EQ(freshened(had, "ETag: \"a\"\nX-User: u\nX-Kept: l\nLast-Modified: $-9").fields_not_stored, (Names{"X-User"}));
  EXPECT_EQ(freshened(had, "ETag: \"a\"\nX-User: u\nWeir-Cache-Control: max-age=5").fields_not_stored, Names());
  EXPECT_EQ(freshened("ETag: \"a\"\nCache-Control: max-age=5", "ETag: \"a\"\nX-User: u").fields_not_stored, Names());
}

struct PolicyRow {
  char const* name;
  char const* directives;  // of Weir-Cache-Control, which no stored head carries
};
void PrintTo(PolicyRow const& row, std::ostream* out) { *out << row.name; }

class FreshenedPolicy : public testing::TestWithParam<PolicyRow> {};

TEST_P(FreshenedPolicy, StaysInForceThoughTheStoredHeadLacksIt) {  // STO-4, SRV-2
  Rules rules;
  rules.freshness.default_stale_while_revalidate = 3s;
  auto const fields = std::string("Cache-Control: no-cache\nETag: \"a\"\nWeir-Cache-Control: ") + GetParam().directives;
  auto const before = decide(WireRequest(get), WireResponse("200 OK\n" + fields), rules);
  ASSERT_TRUE(before.facts.policy_not_in_head);
  auto const s = freshened(fields.c_str(), "", rules);
  EXPECT_TRUE(s.store);
  EXPECT_TRUE(s.facts.policy_not_in_head);
  EXPECT_EQ(s.facts.lifetime, before.facts.lifetime) << "jitter does not shorten it again";
  EXPECT_EQ(s.facts.stale_while_revalidate, before.facts.stale_while_revalidate);
  EXPECT_EQ(s.facts.stale_if_error, before.facts.stale_if_error);
  EXPECT_EQ(s.facts.no_cache, before.facts.no_cache);
  EXPECT_EQ(s.facts.must_revalidate, before.facts.must_revalidate);
  EXPECT_EQ(s.facts.forbids_incident_stale, before.facts.forbids_incident_stale);
  EXPECT_EQ(s.facts.shared_explicitly, before.facts.shared_explicitly);
  EXPECT_EQ(s.facts.authorized, before.facts.authorized);
  EXPECT_EQ(s.facts.immutable, before.facts.immutable);
}

INSTANTIATE_TEST_SUITE_P(Table, FreshenedPolicy,
                         testing::Values(PolicyRow{"max-age", "max-age=60"},
                                         PolicyRow{"windows", "max-age=60, stale-while-revalidate=9, stale-if-error=8"},
                                         PolicyRow{"s-maxage", "s-maxage=60, stale-if-error=8"},
                                         PolicyRow{"public", "public, max-age=60"},
                                         PolicyRow{"must-revalidate", "max-age=60, must-revalidate"},
                                         PolicyRow{"proxy-revalidate", "max-age=60, proxy-revalidate"},
                                         PolicyRow{"public and proxy-revalidate", "public, max-age=60, proxy-revalidate"},
                                         PolicyRow{"no-cache", "max-age=60, no-cache, immutable"}),
                         row_name);

TEST(Freshened, ANewTargetedFieldReplacesTheOld) {  // STO-4
  auto s = freshened("Weir-Cache-Control: max-age=60", "Weir-Cache-Control: max-age=5");
  EXPECT_EQ(s.facts.lifetime, 5s);
  s = freshened("Weir-Cache-Control: max-age=60", "Cache-Control: private");
  EXPECT_EQ(label(s.reason), "private") << "strict";
}

TEST(Freshened, OnlyANewLifetimeIsShortened) {  // FRS-2
  EXPECT_EQ(freshened("Cache-Control: max-age=100", "").facts.lifetime, 95s);
  EXPECT_EQ(freshened("Weir-Cache-Control: max-age=100", "").facts.lifetime, 100s);
  EXPECT_EQ(freshened("Weir-Cache-Control: max-age=60", "Weir-Cache-Control: max-age=100").facts.lifetime, 95s);
}

}  // namespace
}  // namespace weir::cache::test::storing
