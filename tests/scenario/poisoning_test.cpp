// Cache poisoning: an origin that shows all that it gets, or stumbles over it, on a page that anyone may have for ten
// minutes; an attacker who asks for it with a trick; and a client who asks plainly, and must get what nobody had tampered
// with.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "scenario/answers.hpp"
#include "scenario/raw_client.hpp"
#include "scenario/tricks.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

bool is_high(char c) { return static_cast<unsigned char>(c) >= 0x80; }

// The error that a careless origin makes of a request, cacheable like all that it says; 0: none.
int stumbles(Request const& request) {
  auto const is = [&](char const* field, char const* value) { return request.value(field) == value; };
  if (request.head.size() > 8'000) return 431;
  if (std::any_of(request.head.begin(), request.head.end(), is_high) ||
      request.value("X-Meta").find('\t') != std::string::npos || is("X-Unheard-Of", "evil"))
    return 400;
  if (is("Accept", "evil/") || is("Referer", "evil evil") || request.fields.size() > 80) return 400;
  if (request.head.size() > 5'000) return 404;
  if (is("Content-Language", "evil")) return 501;
  if (is("Authorization", "evil")) return 401;
  if (is("User-Agent", "sqlmap") || is("Origin", "https://evil.test") || is("X-Attack", "../../etc/passwd")) return 403;
  if (is("Accept", "evil/evil") || is("Accept-Encoding", "evil")) return 406;
  if (is("Content-Type", "evil")) return 415;
  if (request.value("Range").find("evil") != std::string::npos || is("Max-Forwards", "evil")) return 400;
  if (request.has("Range")) return request.value("Range") == "bytes=9999-" ? 416 : 206;
  if (request.has("If-Match") || request.has("If-Unmodified-Since")) return 412;
  if (is("Expect", "evil")) return 417;
  if (is("Upgrade", "evil") || is("Sec-WebSocket-Version", "666")) return 426;
  return 0;
}

// All of a request but what differs from one fetch to the next whoever asks.
std::string shown(Request const& request) {
  auto text = request.method + " " + request.target + "\n";
  for (auto const& field : request.fields) {
    bool const is_id = same_name(field.name, "X-Request-Id") || same_name(field.name, "CDN-Loop");
    bool const made_by_weir = is_id && field.value.find("evil") == std::string::npos;
    bool const validator = same_name(field.name, "If-None-Match") && field.value == "\"e\"";
    if (!made_by_weir && !validator) text += field.name + ": " + field.value + "\n";
  }
  return text + request.body;
}

Script careless(Request const& request) {
  Fields fields{max_age(600), {"ETag", "\"e\""}};
  auto status = stumbles(request);
  if (status == 0 && request.value("If-None-Match") == "\"e\"") return respond(304, fields);
  if (status == 0 && request.has("If-None-Match")) status = 304;
  if (status == 206) fields.push_back({"Content-Range", "bytes 0-1/99"});
  if (status != 0) return respond(status, fields, status == 206 ? "ev" : "evil");
  return respond(200, fields, shown(request));
}

// What a client can tell apart. The order of fields says nothing: a 304 changes it.
std::string told(Response const& response) {
  std::multiset<std::string> lines;
  for (auto const& field : response.fields)
    if (!same_name(field.name, "Age") && !same_name(field.name, "Date") && !same_name(field.name, "Cache-Status"))
      lines.insert(field.name + ": " + field.value + "\n");
  auto text = std::to_string(response.status) + "\n";
  for (auto const& line : lines) text += line;
  return text + response.body;
}

void expect_told(std::string const& told, std::string const& honest, bool safe) {
  if (safe) {
    EXPECT_EQ(told, honest);
  } else {
    EXPECT_NE(told, honest);  // or the table says more than is so
  }
}

void attack(Weir& weir, Trick const& trick, std::string const& page) {
  for (int i = 0; i < 2; ++i) {
    RawClient client(weir.port());
    client.send(trick.bytes(page));
    EXPECT_GT(client.read(trick.method).status, 0);
    EXPECT_TRUE(weir.waits_until_no_flights());
  }
}

std::string victim(Weir& weir, std::string const& page) {
  auto const response = get(weir.port(), page);
  EXPECT_TRUE(weir.waits_until_no_flights());
  return told(response);
}

// The same settings twice: `cold` is asked by honest clients alone.
class Rig {
 public:
  explicit Rig(std::string const& mode)
      : settings_(plain + "key: {query_drop: [tracking], query_sort: true}\nforward: {mode: " + mode + "}\n"),
        harmless_(mode == "strict"    ? Safe::strict
                  : mode == "guarded" ? Safe::guarded
                                      : Safe::always) {
    origin_.answer_rest([this](Request const& request) {
      return marking_ ? respond(200, {{"Cache-Control", "private"}}, "private") : careless(request);
    });
  }

  // On a page that nobody had asked for; on one that had become stale; and on one under a marker (STO-5).
  void run(Trick const& trick) {
    SCOPED_TRACE(trick.name);
    bool const safe = trick.safe <= harmless_;
    auto const page = "/page-" + std::to_string(++runs_);
    attack(weir_, trick, page);
    expect_told(victim(weir_, page), victim(cold_, page), safe);
    auto const marked = "/page-marked-" + std::to_string(runs_);
    marking_ = true;
    victim(weir_, marked);
    marking_ = false;
    attack(weir_, trick, marked);
    SCOPED_TRACE("on a marker");
    expect_told(victim(weir_, marked), victim(cold_, marked), safe);
    if (safe) stale_.push_back({trick, page});
  }
  void run_stale() {
    weir_.turn(700s);
    for (auto const& [trick, page] : stale_) {
      SCOPED_TRACE(trick.name);
      attack(weir_, trick, page);
      EXPECT_EQ(victim(weir_, page), victim(cold_, page)) << "stale";
    }
  }
  int runs() const noexcept { return runs_; }

 private:
  std::string settings_;
  Safe harmless_;
  std::atomic<bool> marking_ = false;
  ScriptedOrigin origin_;
  Weir weir_{origin_, settings_}, cold_{origin_, settings_};
  std::vector<std::pair<Trick, std::string>> stale_;
  int runs_ = 0;
};

void run_all(std::function<std::vector<Trick>()> const& tricks) {
  for (std::string const mode : {"guarded", "strict", "all"}) {
    SCOPED_TRACE(mode);
    Rig rig(mode);
    for (auto const& trick : tricks()) rig.run(trick);
    rig.run_stale();
    testing::Test::RecordProperty("tricks", rig.runs());
  }
}

// FWD-1, FWD-2
TEST(Poisoning, ClaimsAboutHostAndClient) { run_all(forwarding_tricks); }
// KEY-1, KEY-2
TEST(Poisoning, HostsAndTargets) { run_all(host_and_target_tricks); }
// KEY-3: what is keyed is what is forwarded, however an application cuts it.
TEST(Poisoning, CloakedParameters) { run_all(query_tricks); }
// FWD-1, FWD-4
TEST(Poisoning, MethodsAndBodies) { run_all(method_and_body_tricks); }
// SRV-3, COA-13, STO-5
TEST(Poisoning, RangesAndConditions) { run_all(range_and_condition_tricks); }
// STO-1: an error that tells of the request is nobody else's, whatever lifetime the origin gives it.
TEST(Poisoning, ErrorsThatARequestProvokes) { run_all(error_tricks); }
// FWD-3
TEST(Poisoning, CookiesThatLookIgnored) { run_all(cookie_tricks); }
// FWD-2: what guarded mode gives away, and strict does not.
TEST(Poisoning, FieldsThatNobodyKnows) { run_all(unknown_fields); }

// STO-1: what the origin says of the resource is stored, and of the request where the operator wants it.
TEST(Poisoning, ErrorsThatTellOfTheResourceAreStored) {
  constexpr std::array statuses{400, 401, 403, 404, 405, 406, 410, 414, 415, 422, 426, 429, 431, 451, 499};
  constexpr std::array of_the_request{401, 403, 406, 415, 426, 429, 431};
  for (bool const all : {false, true}) {
    ScriptedOrigin origin;
    for (int const status : statuses) origin.answer("/" + std::to_string(status), respond(status, {max_age(600)}, "x"));
    Weir weir(origin, all ? plain + "storable: {request_errors: true}\n" : plain);
    for (int const status : statuses) {
      bool const never = status == 429 || status == 431;  // RFC 6585
      bool const stored = !never && (all || !std::ranges::count(of_the_request, status));
      auto const target = "/" + std::to_string(status);
      for (int i = 0; i < 2; ++i) EXPECT_EQ(get(weir.port(), target).status, status);
      EXPECT_EQ(origin.calls(target), stored ? 1U : 2U) << status;
    }
  }
}

// The tables are no smaller than they were.
TEST(Poisoning, TheTablesAreLarge) {
  EXPECT_GE(forwarding_tricks().size() + host_and_target_tricks().size() + query_tricks().size() +
                method_and_body_tricks().size() + range_and_condition_tricks().size() + error_tricks().size() +
                cookie_tricks().size() + unknown_fields().size(),
            220U);
}

}  // namespace
}  // namespace weir::test
