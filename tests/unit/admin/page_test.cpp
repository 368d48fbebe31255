// The live page at `/` as it is served. What it shows is asked of a real browser by tests/ship/page.
#include <regex>

#include <gmock/gmock.h>

#include <openssl/evp.h>

#include "fixture.hpp"
#include "weir/base/hash.hpp"

namespace weir::admin {
namespace {

using testing::HasSubstr;
using testing::Not;

class Page : public AdminTest {};

std::string hash_of(std::string const& page, std::string const& tag) {
  auto const from = page.find("<" + tag + ">") + tag.size() + 2;
  auto const digest = base::sha256(page.substr(from, page.find("</" + tag + ">") - from));
  std::string text(45, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), digest.data(), static_cast<int>(digest.size()));
  return text.substr(0, 44);
}

TEST_F(Page, RunsItsOwnScriptAndStyleAndNothingElse) {  // OBS-3, OBS-5
  open();
  auto const response = get("/");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.fields.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(response.fields.at("content-security-policy"),
            "default-src 'none'; script-src 'sha256-" + hash_of(response.body, "script") + "'; style-src 'sha256-" +
                hash_of(response.body, "style") +
                "'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
}

TEST_F(Page, LoadsNothingAndPutsNoTextInAsMarkup) {  // OBS-3
  open();
  auto const body = get("/").body;
  std::string const without_namespace = std::regex_replace(body, std::regex("http://www\\.w3\\.org/2000/svg"), "");
  EXPECT_THAT(without_namespace, Not(HasSubstr("://")));
  EXPECT_FALSE(std::regex_search(body, std::regex("<[^>]* on[a-z]+=")));
  for (char const* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", " style=", "src="})
    EXPECT_THAT(body, Not(HasSubstr(word))) << word;
  EXPECT_LT(body.size(), 20'000U);
}

// It holds nothing; what it asks for wants the token.
TEST_F(Page, ComesWithoutTheToken) {  // OBS-5
  settings_.token_file = write_file("token", "secret\n");
  open();
  EXPECT_EQ(get("/").status, 200);
  EXPECT_EQ(get("/v1/stats").status, 401);
}

TEST_F(Page, IsNotOnTheOpenListener) {  // OBS-5
  settings_.metrics_listen = "127.0.0.1:0";
  open();
  auto connection = RawClient::tcp(server_->metrics_port());
  auto const response = connection.ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").value_or(RawResponse{});
  EXPECT_EQ(response.status, 404);
}

}  // namespace
}  // namespace weir::admin
