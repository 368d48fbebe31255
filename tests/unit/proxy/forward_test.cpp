// FWD-1, FWD-7: which fields go where, as rows.
#include <gtest/gtest.h>

#include "unit/cache/wire_text.hpp"
#include "unit/proxy/rebuild.hpp"

namespace weir::proxy::test {
namespace {

std::string forwarded(std::string const& text, ForwardAs as, config::Policy const& policy, bool trusted = false) {
  cache::test::WireRequest const wire(text);
  Trip const trip(wire.request, policy, trusted, as);
  std::string out;
  for (auto const& field : trip.forward.fields.fields())
    if (field.id != http::FieldId::x_request_id) out.append(field.name).append(": ").append(field.value).append("\n");
  return out;
}

config::Policy policy_with(std::vector<std::string> keyed, std::vector<std::string> keyed_cookies) {
  config::Policy policy;
  policy.key.headers = std::move(keyed);
  policy.key.cookies = std::move(keyed_cookies);
  policy.cookies.ignore = cache::analytics_cookies();
  return policy;
}

char const asked[] =
    "GET /a\nHost: a\nAccept: x\nAccept-Language: de\nAccept-Encoding: gzip\nAuthorization: secret\nCookie: lang=de; s=1; "
    "_ga=2\n"
    "Range: bytes=0-1\nIf-None-Match: \"a\"\nX-Forwarded-For: 10.0.0.1\nX-Real-IP: 10.0.0.1\nForwarded: for=10.0.0.1\n"
    "X-Tenant: t";

// FWD-7: no credentials that are not keyed, nothing of the client's address, whoever is trusted.
TEST(Forward, ForNobody) {
  for (bool const trusted : {false, true}) {
    EXPECT_EQ(forwarded(asked, ForwardAs::background, policy_with({"x-tenant"}, {"lang"}), trusted),
              "Accept: x\nAccept-Language: de\nX-Tenant: t\nAccept-Encoding: gzip\nX-Forwarded-Proto: http\n"
              "X-Forwarded-Host: a\nCDN-Loop: weir-test\nVia: 1.1 weir\nCookie: lang=de\n"
              "Forwarded: for=unknown;host=\"a\";proto=http\n");
    EXPECT_EQ(
        forwarded(asked, ForwardAs::background, policy_with({"authorization"}, {}), trusted).find("Authorization: secret") !=
            std::string::npos,
        true);
  }
}

// FWD-1, FWD-3: the shared fetch.
TEST(Forward, Canonical) {
  EXPECT_EQ(forwarded(asked, ForwardAs::canonical, policy_with({}, {})),
            "Accept: x\nAccept-Language: de\nAuthorization: secret\nX-Tenant: t\nAccept-Encoding: gzip\n"
            "X-Forwarded-Proto: http\nX-Forwarded-Host: a\nCDN-Loop: weir-test\nVia: 1.1 weir\nCookie: lang=de; s=1\n"
            "X-Forwarded-For: 192.0.2.7\nForwarded: for=192.0.2.7;host=\"a\";proto=http\n");
}

// FWD-2: strict, and what its lists let through.
TEST(Forward, Strict) {
  auto policy = policy_with({"x-tenant"}, {"lang"});
  policy.forward.mode = config::ForwardMode::strict;
  policy.cookies.only_keyed = true;
  policy.forward.allow = {"accept"};
  EXPECT_EQ(forwarded(asked, ForwardAs::canonical, policy),
            "Accept: x\nAccept-Encoding: gzip\nX-Forwarded-Proto: http\nX-Forwarded-Host: a\nCDN-Loop: weir-test\n"
            "Via: 1.1 weir\nx-tenant: t\nCookie: lang=de\n");
}

// KEY-5: preferences that are keyed alike reach a strict origin alike, in their order.
TEST(Forward, KeyedLanguagesKeepTheirOrder) {
  auto policy = policy_with({"accept-language"}, {});
  policy.forward.mode = config::ForwardMode::strict;
  for (std::string const languages : {"DE;q=0.9, en;q=0.4,fr;q=0.1", "de, en;q=0.9;x=evil, fr;q=0.2"})
    EXPECT_NE(forwarded("GET /\nHost: a\nAccept-Language: " + languages, ForwardAs::canonical, policy)
                  .find("accept-language: de, en;q=0.999, fr;q=0.998\n"),
              std::string::npos);
  EXPECT_NE(forwarded("GET /\nHost: a\nAccept-Language: it;q=0.0, de", ForwardAs::canonical, policy)
                .find("accept-language: de, it;q=0\n"),
            std::string::npos);
  policy.key.languages = {"en", "de"};
  for (auto const mode : {config::ForwardMode::strict, config::ForwardMode::guarded}) {
    policy.forward.mode = mode;
    EXPECT_NE(http::lower(forwarded("GET /\nHost: a\nAccept-Language: fr, de-CH;q=0.5", ForwardAs::canonical, policy))
                  .find("accept-language: de\n"),
              std::string::npos);
    EXPECT_EQ(
        http::lower(forwarded("GET /\nHost: a\nAccept-Language: fr", ForwardAs::canonical, policy)).find("accept-language"),
        std::string::npos);
  }
}

}  // namespace
}  // namespace weir::proxy::test
