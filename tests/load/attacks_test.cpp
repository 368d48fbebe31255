// Clients that hold on to what they get: connections, heads, bodies, places in queues. Each attack reaches a bound, which
// holds, while ordinary clients beside it get their hits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "load/stage.hpp"
#include "support/burst.hpp"
#include "support/client.hpp"
#include "support/deadline.hpp"

namespace weir::load {
namespace {

constexpr std::int64_t kibibyte = 1024, mebibyte = 1024 * 1024;

Reply never(Request const&) { return {.ends = Reply::Ends::never}; }

std::vector<Socket> connect_many(Daemon const& weir, std::size_t count, test::ConnectOptions const& options = {}) {
  std::vector<Socket> sockets;
  for (std::size_t i = 0; i < count; ++i) {
    sockets.push_back(test::connect_to(weir.port(), options));
    EXPECT_TRUE(sockets.back()) << "connection " << i;
  }
  return sockets;
}

// Bytes that the kernel holds for who connected to `port`, and has not been rid of.
double held_by_kernel(std::uint16_t port) {
  std::ifstream table("/proc/net/tcp");
  double held = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues;
    words >> number >> local >> remote >> state >> queues;
    auto const colon = local.find(':');
    if (colon != std::string::npos && std::strtoul(local.c_str() + colon + 1, nullptr, 16) == port)
      held += static_cast<double>(std::strtoull(queues.c_str(), nullptr, 16));
  }
  return held;
}

// What has come for good: an end, with or without an answer before it.
bool is_over(Socket& socket) {
  std::string dropped;
  for (;;) {
    auto const got = socket.receive(dropped, 16 * 1024, Milliseconds(0));
    if (got == Socket::Got::nothing) return false;
    if (got != Socket::Got::bytes) return true;
    dropped.clear();
  }
}

// All of them send a byte now and then, until each is over.
bool drips_until_over(std::vector<Socket>& sockets, Milliseconds bound) {
  auto const dripped = [&] {
    std::erase_if(sockets, is_over);
    for (auto& socket : sockets) socket.send_some("a");
    go_on(Milliseconds(50));
    return sockets.empty();
  };
  return test::eventually(dripped, bound);
}

double in_stats(Daemon const& weir, std::string_view member) {
  auto const text = weir.stats();
  auto const label = "\"" + std::string(member) + "\":";
  auto const at = text.find(label);
  EXPECT_NE(at, std::string::npos) << label;
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + label.size(), nullptr);
}

// The most that `value` is while the load lasts.
template <class Value>
double most_of(Value const& value) {
  double most = 0;
  for (test::Deadline const end(load_time()); !end.passed(); go_on(Milliseconds(20))) most = std::max(most, value());
  return most;
}

// REQ-3: a head has its time, however it drips.
TEST(Attack, SlowHeads) {
  Attack attack("slow heads, 400", never, "limits: {header_timeout: 1s}\n");
  for (double left = load_seconds(); left > 0; left -= 2) {
    auto sockets = connect_many(attack.weir(), 400);
    for (auto& socket : sockets) socket.send_some("GET / HTTP/1.1\r\nHost: weir.test\r\nX: ");
    EXPECT_TRUE(drips_until_over(sockets, Milliseconds(20'000))) << sockets.size() << " are still there";
  }
  EXPECT_EQ(attack.origin().calls(), 0U);
  attack.end("`limits.header_timeout`: every one is gone", {.bytes = 400 * 18 * kibibyte, .share = 1});
}

// LIM-1, REQ-3: uploads that drip hold the permits for uploads and nothing else; one that stops dripping is cut off.
TEST(Attack, SlowBodies) {
  Attack attack("slow bodies, 100", never,
                "limits: {body_timeout: 1s}\nlimiter: {max_uploads: 8, max_queue_wait: 500ms}\ntimeouts: {origin: 600s}\n");
  auto sockets = connect_many(attack.weir(), 100);
  for (std::size_t i = 0; i < sockets.size(); ++i)
    sockets[i].send_all(test::write_request("POST", "/upload/" + std::to_string(i), {{"Content-Length", "1000000"}}) +
                        "some");
  EXPECT_TRUE(test::eventually([&] { return in_stats(attack.weir(), "uploads") == 8; }));
  auto const most = most_of([&] {
    for (auto& socket : sockets) socket.send_some("a");
    return in_stats(attack.weir(), "uploads");
  });
  EXPECT_EQ(most, 8);
  EXPECT_TRUE(test::eventually([&] {
    std::erase_if(sockets, is_over);
    return sockets.empty();
  })) << sockets.size()
      << " are still there";
  attack.end("`limiter.max_uploads` 8, `limits.body_timeout`", {.bytes = 100 * 40 * kibibyte, .share = 1});
}

// REQ-3, COA-9: who does not read costs a connection, not a copy of the body, and the kernel keeps little for it, and
// nothing once it is cut off.
TEST(Attack, SlowReaders) {
  auto const big = [](Request const&) {
    return Reply{.fields = cached_for("3600"), .size = std::size_t{8} * mebibyte - 1024};
  };
  Attack attack("slow readers, 100 of 8 MiB", big, "limits: {body_timeout: 1s}\n");
  auto const port = attack.weir().port();
  EXPECT_EQ(test::get(port, "/big").body.size(), std::size_t{8} * mebibyte - 1024);
  for (double left = load_seconds(); left > 0; left -= 3) {
    auto sockets = connect_many(attack.weir(), 100, {.receive_buffer = 4096});
    for (auto& socket : sockets) socket.send_all(test::write_request("GET", "/big"));
    double held = 0;
    EXPECT_TRUE(test::eventually([&] {
      held = std::max(held, held_by_kernel(port));
      return attack.weir().metric("weir_client_connections") <= 8;
    }));
    EXPECT_GT(held, 0);
    EXPECT_LE(held, 100 * 512 * kibibyte);
    EXPECT_TRUE(test::eventually([&] { return held_by_kernel(port) < 100 * kibibyte; }, Milliseconds(3'000)));
  }
  EXPECT_EQ(attack.origin().calls("big"), 1U);
  attack.end("`limits.body_timeout`: every one is gone", {.bytes = 8 * mebibyte + 100 * 18 * kibibyte, .share = 1});
}

// MEM-1: bodies that slow readers keep in flights count, and what is beyond goes to its own requester alone.
TEST(Attack, SlowReadersOfManyBodies) {
  auto const big = [](Request const&) { return Reply{.fields = cached_for("3600"), .size = std::size_t{4} * mebibyte}; };
  Attack attack("slow readers of 64 bodies of 4 MiB", big, "limits: {body_timeout: 1s}\nstore: {max_bytes: 32MiB}\n");
  for (double left = load_seconds(); left > 0; left -= 3) {
    auto sockets = connect_many(attack.weir(), 64, {.receive_buffer = 4096});
    for (std::size_t i = 0; i < sockets.size(); ++i)
      sockets[i].send_all(test::write_request("GET", "/big/" + std::to_string(i)));
    auto const cut_off = [&] { return attack.weir().metric("weir_client_connections") <= 8; };
    EXPECT_TRUE(test::eventually(cut_off, Milliseconds(30'000)));
    EXPECT_LE(attack.weir().metric("weir_store_bytes"),
              32 * mebibyte * 5 / 4 + 2 * 4 * mebibyte + 64 * (256 + 32) * kibibyte);
  }
  // Beside the store and its quarter for flights, each worker may just have begun a body, and each fetch for which there is
  // no room holds a window of 256 KiB and what is being read.
  attack.end("`store.max_bytes` 32 MiB, `coalesce.max_bytes` a quarter, windows for `limiter.max_concurrent` 64",
             {.bytes = 32 * mebibyte * 5 / 4 + 2 * 4 * mebibyte + 64 * (256 + 32) * kibibyte, .refetches = 50});
}

// REQ-3: connections in all, and of one address.
TEST(Attack, ManyConnections) {
  Attack attack("connections, 1,000", never, "limits: {connections: 600}\n");
  auto sockets = connect_many(attack.weir(), 1000);
  EXPECT_TRUE(test::eventually([&] { return attack.weir().metric("weir_shed_total{reason=\"connections\"}") >= 408; }));
  EXPECT_LE(most_of([&] { return attack.weir().metric("weir_client_connections"); }), 600);
  EXPECT_LE(attack.weir().usage().descriptors, 600 + 100);
  sockets.clear();
  attack.end("`limits.connections` 600", {.bytes = 600 * 3 * kibibyte, .share = 1});
}

TEST(Attack, ConnectionsOfOneAddress) {
  Attack attack("connections of one address, 500", never, "limits: {connections_per_address: 300}\n");
  auto sockets = connect_many(attack.weir(), 500, {.source = "127.0.0.2"});
  EXPECT_TRUE(test::eventually([&] { return attack.weir().metric("weir_shed_total{reason=\"connections\"}") == 200; }));
  EXPECT_LE(most_of([&] {
              EXPECT_EQ(test::get(attack.weir().port(), Ordinary::page(1)).status, 200);
              return attack.weir().metric("weir_client_connections");
            }),
            300 + 8 + 2);
  sockets.clear();
  attack.end("`limits.connections_per_address` 300", {.bytes = 300 * 3 * kibibyte, .share = 1});
}

// COA-15: waiters of a key, LIM-1: fetches, their queue, and COA-15: flights in all.
TEST(Attack, HangingFetches) {
  Attack attack("fetches that hang, 250 of a key, 300 of others", never,
                "coalesce: {max_waiters: 100, max_flights: 40}\nlimiter: {max_concurrent: 16}\n"
                "timeouts: {origin: 60s}\nbreaker: off\n");
  auto const& weir = attack.weir();
  auto const shed = [&] { return weir.metric("weir_shed_total{reason=\"coalesce-overflow\"}"); };
  auto one = std::make_unique<test::Burst>(weir.port(), 250);
  one->get("/hangs/one");
  EXPECT_TRUE(test::eventually([&] { return shed() >= 150; }));
  EXPECT_EQ(shed(), 150);
  auto others = std::make_unique<test::Burst>(weir.port(), 300);
  others->send_each([](std::size_t i) { return test::write_request("GET", "/hangs/" + std::to_string(i)); });
  EXPECT_TRUE(test::eventually([&] { return shed() >= 150 + 300 - 39; }));
  EXPECT_EQ(weir.metric("weir_flights"), 40);
  EXPECT_EQ(weir.metric("weir_limiter_queue_depth"), 40 - 16);
  EXPECT_EQ(attack.origin().most_at_once(), 16U);
  attack.origin().listen(false);
  one->collect();
  others->collect();
  attack.origin().listen(true);
  one.reset();
  others.reset();
  attack.end("`coalesce.max_waiters` 100, `coalesce.max_flights` 40, `limiter.max_concurrent` 16",
             {.bytes = 550 * 30 * kibibyte});
}

// LIM-1: the queue for permits, in number and time.
TEST(Attack, FullQueue) {
  Attack attack(
      "fetches that wait, 300", never,
      "limiter: {max_concurrent: 16, max_queue: 100, max_queue_wait: 3s}\ntimeouts: {origin: 60s}\nbreaker: off\n");
  auto const& weir = attack.weir();
  auto burst = std::make_unique<test::Burst>(weir.port(), 300);
  burst->send_each([](std::size_t i) { return test::write_request("GET", "/hangs/" + std::to_string(i)); });
  EXPECT_TRUE(test::eventually([&] { return weir.metric("weir_shed_total{reason=\"queue-full\"}") >= 300 - 116; }));
  EXPECT_LE(weir.metric("weir_limiter_queue_depth"), 100);
  EXPECT_TRUE(test::eventually([&] { return weir.metric("weir_shed_total{reason=\"queue-timeout\"}") >= 100; }));
  EXPECT_EQ(weir.metric("weir_shed_total{reason=\"queue-full\"}"), 300 - 116);
  EXPECT_EQ(attack.origin().most_at_once(), 16U);
  attack.origin().listen(false);
  burst->collect();
  attack.origin().listen(true);
  burst.reset();
  attack.end("`limiter.max_queue` 100, `limiter.max_queue_wait` 3 s", {.bytes = 300 * 30 * kibibyte});
}

// LIM-1: what is not stored moves to the permits for streams, and where those are taken stays under its own.
TEST(Attack, StreamsThatNobodyReads) {
  auto const big = [](Request const&) {
    return Reply{.fields = {{"Cache-Control", "private"}}, .size = std::size_t{16} * mebibyte};
  };
  Attack attack("unread private answers, 20 of 16 MiB", big,
                "limits: {body_timeout: 2s}\nlimiter: {max_concurrent: 4, max_streams: 4, max_queue_wait: 500ms}\n");
  auto sockets = connect_many(attack.weir(), 20, {.receive_buffer = 4096});
  for (std::size_t i = 0; i < sockets.size(); ++i)
    sockets[i].send_all(test::write_request("GET", "/mine/" + std::to_string(i)));
  double most = 0;
  EXPECT_TRUE(test::eventually([&] {
    most = std::max(most, in_stats(attack.weir(), "streams"));
    std::erase_if(sockets, is_over);  // the refused are read, the others have been cut off by then
    return most > 0 && in_stats(attack.weir(), "streams") == 0;
  }));
  EXPECT_LE(most, 4);
  EXPECT_LE(attack.origin().most_at_once(), 8U);
  sockets.clear();
  attack.end("`limiter.max_streams` 4 beside `.max_concurrent` 4", {.bytes = 8 * 2 * mebibyte});
}

}  // namespace
}  // namespace weir::load
