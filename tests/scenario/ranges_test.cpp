// SRV-3: parts of bodies, out of the store, out of a flight, and of objects too large for either.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "scenario/weir.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mib = 1024 * 1024;
constexpr std::size_t large_size = 100 * mib;

Field range(std::string const& spec) { return {"Range", "bytes=" + spec}; }

// Bytes that tell where they stand: the period is prime, so no block or window is a multiple of it.
std::string part(std::size_t first, std::size_t last) {
  static constexpr std::size_t period = 1'000'003;
  static std::string const pattern = [] {
    std::string bytes;
    for (int i = 0; bytes.size() < period; ++i) bytes += std::to_string(1'000'000 + i * 7);
    return bytes.substr(0, period);
  }();
  std::string bytes;
  bytes.reserve(last - first + 1);
  while (bytes.size() < last - first + 1)
    bytes.append(pattern, (first + bytes.size()) % period, last - first + 1 - bytes.size());
  return bytes;
}

Fields fields_of(std::size_t size) {
  return {{"Cache-Control", "max-age=60"},
          {"ETag", "\"v\""},
          {"Content-Type", "video/mp4"},
          {"Content-Length", std::to_string(size)}};
}

// Serves an object of `size` as an origin does that knows ranges. A plain GET gets the head, and the body if `gate` opens.
struct Object {
  Object(ScriptedOrigin& origin, std::size_t size, Gate const& gate) {
    origin.answer("/o", [size, gate](Request const& request) {
      auto const spec = request.value("Range");
      if (request.method == "HEAD") return Script().head(200, fields_of(size));
      if (spec.empty())
        return Script().head(200, fields_of(size)).wait(gate).body(size < large_size ? part(0, size - 1) : "");
      auto const dash = spec.find('-');
      auto const first = std::stoul(spec.substr(6));
      auto const last = dash + 1 < spec.size() ? std::stoul(spec.substr(dash + 1)) : size - 1;
      auto fields = fields_of(last - first + 1);
      fields.push_back(
          {"Content-Range", "bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' + std::to_string(size)});
      if (last - first < 16 * mib) return Script().head(206, fields).body(part(first, last));
      return Script().head(206, fields).body(part(first, first + 16 * mib)).hang();  // nobody reads so far
    });
  }
};

void expect_part(Response const& response, std::size_t first, std::size_t last, std::size_t size) {
  EXPECT_EQ(response.status, 206) << response.head;
  EXPECT_TRUE(response.body == part(first, last)) << first << '-' << last;
  EXPECT_EQ(response.value("Content-Range"),
            "bytes " + std::to_string(first) + '-' + std::to_string(last) + '/' + std::to_string(size));
}

// What a download manager does: eight connections, a part each.
void download(Weir& weir, std::size_t size) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i)
    threads.emplace_back([&weir, size, i] {
      auto const first = size / 8 * i, last = size / 8 * (i + 1) - 1;
      expect_part(get(weir.port(), "/o", {range(std::to_string(first) + '-' + std::to_string(last))}), first, last, size);
    });
  for (auto& thread : threads) thread.join();
}

// And a video player: the first two bytes, the whole from there on, then from where the viewer wants to be.
void play(Weir& weir, std::size_t size) {
  expect_part(get(weir.port(), "/o", {range("0-1")}), 0, 1, size);
  Client open(weir.port());
  open.send_request("GET", "/o", {range("0-")});
  EXPECT_TRUE(open.read_at_least(mib).body.starts_with(part(0, mib - 1)));
  open.reset();
  for (auto const first : {size / 2, size / 4, size - 100'000}) {
    Client seek(weir.port());
    seek.send_request("GET", "/o", {range(std::to_string(first) + '-')});
    EXPECT_TRUE(seek.read_at_least(100'000).body.starts_with(part(first, first + 99'999)));
    seek.reset();
  }
}

// SRV-3, COA-13: one fetch of the whole for all of them, and none once it is there.
TEST(Ranges, PartsOfWhatCanBeStoredAreOneFetch) {
  for (bool const warm : {false, true}) {
    for (auto* const pattern : {&play, &download}) {
      ScriptedOrigin origin;
      Gate gate;
      gate.open();
      Object const object(origin, 5 * mib, gate);
      Weir weir(origin);
      if (warm) EXPECT_EQ(get(weir.port(), "/o").body.size(), 5 * mib);
      pattern(weir, 5 * mib);
      ASSERT_TRUE(weir.waits_until_no_flights());
      expect_part(get(weir.port(), "/o", {range("-7")}), 5 * mib - 7, 5 * mib - 1, 5 * mib);
      EXPECT_EQ(origin.calls(), 1U);
      EXPECT_FALSE(origin.last_request().has("Range"));
      EXPECT_EQ(weir.entries(), 1U);
    }
  }
}

// SRV-3, STO-5: the head shows that it is too large: its fetch ends there, and everyone asks for their own part.
TEST(Ranges, FetchOfATooLargeObjectEndsAtItsHead) {
  for (auto* const pattern : {&play, &download}) {
    ScriptedOrigin origin;
    Gate never;
    Object const object(origin, large_size, never);
    Weir weir(origin);
    pattern(weir, large_size);
    ASSERT_TRUE(weir.waits_until_no_flights());
    std::size_t whole = 0;
    for (auto const& request : origin.requests()) whole += !request.has("Range");
    EXPECT_EQ(whole, 1U);
    EXPECT_EQ(origin.calls(), pattern == &play ? 6U : 9U);
    ASSERT_TRUE(eventually([&] { return origin.departures() >= 1; }));
    EXPECT_EQ(never.waiting(), 0);  // not one byte of that body was asked for
    auto const own = get(weir.port(), "/o", {range("5-9")});
    expect_part(own, 5, 9, large_size);
    EXPECT_EQ(cache_status(own).detail(), "hit-for-miss");
    EXPECT_EQ(weir.entries(), 0U);
  }
}

// SRV-3: who wants the whole of it keeps the stream; those who wait for a part do not wait for that.
TEST(Ranges, ReaderOfTheWholeKeepsTheStreamOfATooLargeObject) {
  ScriptedOrigin origin;
  Gate head, gate;
  std::string const body = part(0, 2 * mib - 1);
  origin.answer("/o", [&](Request const& request) {
    if (request.has("Range")) return respond(206, {{"Content-Range", "bytes 0-1/2097152"}}, "10");
    return Script().wait(head).head(200, fields_of(body.size())).wait(gate).body(body);
  });
  Weir weir(origin, "storable: {max_object: 1MiB}\n");
  Client whole(weir.port()), ranged(weir.port());
  whole.send_request("GET", "/o");
  ASSERT_TRUE(weir.waits_for_waiters(1));
  ranged.send_request("GET", "/o", {range("0-1")});
  ASSERT_TRUE(weir.waits_for_waiters(2));
  head.open();
  expect_part(ranged.read(), 0, 1, body.size());
  gate.open();
  EXPECT_TRUE(whole.read().body == body);
  EXPECT_EQ(origin.calls(), 2U);
  EXPECT_EQ(origin.departures(), 0U);
}

// SRV-3: a HEAD on a cold key is answered from the head, and the fetch of what is too large ends with it.
TEST(Ranges, HeadOfATooLargeObjectIsAnsweredFromItsHead) {
  ScriptedOrigin origin;
  Gate never;
  Object const object(origin, large_size, never);
  Weir weir(origin);
  auto const response = Client(weir.port()).request("HEAD", "/o");
  EXPECT_TRUE(response.status == 200 && response.value("Content-Length") == std::to_string(large_size)) << response;
  ASSERT_TRUE(eventually([&] { return origin.departures() == 1; }));
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(Client(weir.port()).request("HEAD", "/o").status, 200);
  EXPECT_EQ(origin.last_request().method, "HEAD");
  EXPECT_EQ(origin.calls(), 2U);
}

// SRV-3: If-Range by strong comparison, 416 beyond the end, several ranges and other units get the whole.
TEST(Ranges, WhatIsNoPartGetsTheWhole) {
  ScriptedOrigin origin;
  origin.answer("/o", respond(200, {{"Cache-Control", "max-age=60"}, {"ETag", "\"v\""}}, "0123456789"));
  origin.answer("/weak", respond(200, {{"Cache-Control", "max-age=60"}, {"ETag", "W/\"v\""}}, "0123456789"));
  Weir weir(origin);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(get(weir.port(), "/o", {range("2-3"), {"If-Range", "\"v\""}}).body, "23");
    EXPECT_EQ(get(weir.port(), "/o", {range("2-3"), {"If-Range", "\"w\""}}).body, "0123456789");
    EXPECT_EQ(get(weir.port(), "/weak", {range("2-3"), {"If-Range", "W/\"v\""}}).body, "0123456789");
    EXPECT_EQ(get(weir.port(), "/o", {range("0-1,4-5")}).status, 200);
    EXPECT_EQ(get(weir.port(), "/o", {{"Range", "lines=0-1"}}).status, 200);
    auto const beyond = get(weir.port(), "/o", {range("10-")});
    EXPECT_TRUE(beyond.status == 416 && beyond.value("Content-Range") == "bytes */10" && beyond.body.empty()) << beyond;
    EXPECT_EQ(get(weir.port(), "/o", {range("8-20")}).value("Content-Range"), "bytes 8-9/10");
  }
  EXPECT_EQ(origin.calls(), 2U);
}

// SRV-3: of a body whose length nobody knows yet, a part is the whole; afterwards it is not.
TEST(Ranges, FlightOfUnknownLengthGivesTheWhole) {
  ScriptedOrigin origin;
  origin.answer("/o", respond_chunked(200, {{"Cache-Control", "max-age=60"}}, {"01234", "56789"}));
  Weir weir(origin);
  auto const cold = get(weir.port(), "/o", {range("2-3")});
  EXPECT_TRUE(cold.status == 200 && cold.body == "0123456789") << cold;
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(get(weir.port(), "/o", {range("2-3")}).body, "23");
  EXPECT_EQ(origin.calls(), 1U);
}

// SRV-3: what is cut says nothing that holds only for the whole: a part no digest of all bytes (RFC 9530 2), a refusal no
// lifetime, which a cache before us would take for the page's.
TEST(Ranges, WhatIsCutIsNotTakenForTheWhole) {
  ScriptedOrigin origin;
  origin.answer("/x", respond(200,
                              {{"Cache-Control", "max-age=600"},
                               {"ETag", "\"1\""},
                               {"Content-Digest", "sha-256=:x:"},
                               {"Content-MD5", "y"},
                               {"Expires", "Thu, 01 Dec 2033 16:00:00 GMT"},
                               {"CDN-Cache-Control", "max-age=9"}},
                              "0123456789"));
  Weir weir(origin);
  for (int i = 0; i < 2; ++i) {  // as it comes, and stored
    auto const part = get(weir.port(), "/x", {{"Range", "bytes=1-2"}});
    EXPECT_TRUE(part.status == 206 && part.body == "12" && !part.has("Content-Digest") && !part.has("Content-MD5")) << part;
    EXPECT_EQ(part.value("Cache-Control"), "max-age=600");
    auto const beyond = get(weir.port(), "/x", {{"Range", "bytes=99-"}});
    auto const other = get(weir.port(), "/x", {{"Range", "bytes=99-"}, {"If-Range", "\"1\""}});
    for (auto const& refusal : {beyond, other}) {
      EXPECT_EQ(refusal.status, 416);
      EXPECT_EQ(refusal.value("Cache-Control"), "no-store");
      EXPECT_FALSE(refusal.has("Expires") || refusal.has("CDN-Cache-Control")) << refusal;
    }
  }
  EXPECT_TRUE(get(weir.port(), "/x").has("Content-Digest"));
}

}  // namespace
}  // namespace weir::test
