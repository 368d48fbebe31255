// Names of origins: lookups that fail, hang and change (REL-1). Replaces this program's getaddrinfo for names in `.test`.
#include "faults/rig.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace weir::test {
namespace {

// What is looked up, by whom it may.
class Names {
 public:
  void set(std::string const& name, std::string address) {
    locked([&] { rows_[name] = {0, std::move(address)}; });
  }
  void fail(std::string const& name, int error) {
    locked([&] { rows_[name] = {error, {}}; });
  }
  void hang(std::optional<Gate> gate) {
    locked([&] { gate_ = std::move(gate); });
  }
  std::size_t asked() const { return asked_.load(); }

  struct Row {
    int error = EAI_NONAME;
    std::string address;
  };
  Row find(std::string const& name) {
    asked_.fetch_add(1);
    std::optional<Gate> gate;
    locked([&] { gate = gate_; });
    if (gate) gate->wait();
    Row row;
    locked([&] { row = rows_[name]; });
    return row;
  }

 private:
  template <class Work>
  void locked(Work&& work) {
    std::lock_guard const lock(mutex_);
    work();
  }
  std::mutex mutex_;  // guards all but the count
  std::map<std::string, Row> rows_;
  std::optional<Gate> gate_;
  std::atomic<std::size_t> asked_{0};
};
Names names;

}  // namespace
}  // namespace weir::test

extern "C" int getaddrinfo(char const* node, char const* service, addrinfo const* hints, addrinfo** found) {
  using Real = int (*)(char const*, char const*, addrinfo const*, addrinfo**);
  static auto const real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "getaddrinfo"));
  std::string const name = node == nullptr ? "" : node;
  if (!name.ends_with(".test")) return real(node, service, hints, found);
  auto const row = weir::test::names.find(name);
  if (row.error != 0) return row.error;
  auto const gap = row.address.find(' ');  // of two addresses
  int const error = real(row.address.substr(0, gap).c_str(), service, hints, found);
  if (error != 0 || gap == std::string::npos) return error;
  return real(row.address.substr(gap + 1).c_str(), service, hints, &(*found)->ai_next);
}

namespace weir::test {
namespace {

// No other test listens on it or connects from it, so every port that is free elsewhere is free here.
constexpr auto const* second_home = "127.0.0.9";

// Origins on one port of two addresses, and a Weir that knows them by name.
struct Moving {
  explicit Moving(std::string const& settings = "") {
    for (auto* const origin : {&old_home, &new_home})
      origin->answer_rest(
          [origin, this](Request const&) { return respond(200, {max_age(600)}, origin == &old_home ? "old" : "new"); });
    // Somebody who passes on to the new one, at the old one's port.
    door.emplace(new_home.url(), "", std::string(second_home) + ":" + std::to_string(old_home.port()));
    names.hang(std::nullopt);
    names.set("origin.test", "127.0.0.1");
    weir.emplace("http://origin.test:" + std::to_string(old_home.port()), plain + "breaker: {enabled: off}\n" + settings);
  }
  ~Moving() { names.hang(std::nullopt); }
  Response ask() { return get(weir->port(), "/" + std::to_string(++asked)); }

  ScriptedOrigin old_home, new_home;
  std::optional<Weir> door, weir;
  int asked = 0;
};

// REL-1, COA-6, OBS-1: a name that is unknown is an error at once, and asked for again after a moment.
TEST(Names, AreAskedForAgainWhereTheyWereUnknown) {
  Moving moving;
  for (int const error : {EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_MEMORY}) {
    names.fail("origin.test", error);
    Weir weir("http://origin.test:" + std::to_string(moving.old_home.port()), plain + "breaker: {enabled: off}\n");
    {
      Burst burst(weir.port(), 5);
      burst.get("/x");
      burst.collect();
      for (auto const& response : burst.responses()) {
        EXPECT_EQ(response.status, 502);
        EXPECT_NE(response.value("Proxy-Status").find("dns_error"), std::string::npos) << response;
      }
    }
    names.set("origin.test", "127.0.0.1");
    weir.turn(1s);
    EXPECT_EQ(get(weir.port(), "/x").body, "old");
    expect_quiet(weir);
  }
}

// Takes no further connection and refuses none: whoever connects hears nothing.
struct Silence {
  explicit Silence(std::uint16_t port) : listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = ::inet_addr(second_home);
    EXPECT_EQ(::bind(listener.fd(), reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
    EXPECT_EQ(::listen(listener.fd(), 0), 0);
    for (auto& one : queue) {
      one = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(one.fd(), reinterpret_cast<sockaddr*>(&where), sizeof where);
    }
  }
  Socket listener;
  std::array<Socket, 4> queue;
};

// REL-1: of two addresses one that says nothing costs a share of the time, and not again for the next that connects.
TEST(Names, OneOfTwoAddressesIsEnough) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const&) { return respond(200, {{"Connection", "close"}}, "second"); });
  Silence const silence(origin.port());
  names.set("origin.test", std::string(second_home) + " 127.0.0.1");
  Weir weir("http://origin.test:" + std::to_string(origin.port()), plain + "breaker: {enabled: off}\nworkers: 1\n");
  std::optional<Response> first;
  std::thread asking([&] { first = get(weir.port(), "/a"); });
  ASSERT_TRUE(eventually([&] {
    weir.turn(100ms);
    return origin.calls() == 1;
  }));
  asking.join();
  EXPECT_EQ(first->body, "second");
  for (auto const* const target : {"/b", "/c"}) EXPECT_EQ(get(weir.port(), target).body, "second");
  names.set("origin.test", std::string(second_home) + " " + second_home);
  Weir deaf("http://origin.test:" + std::to_string(origin.port()), plain + "breaker: {enabled: off}\nworkers: 1\n");
  std::thread waiting([&] { first = get(deaf.port(), "/d"); });
  ASSERT_TRUE(eventually([&] {
    deaf.turn(500ms);
    return deaf.metric(R"(weir_requests_total{site="default",outcome="error"})") == 1;
  }));
  waiting.join();
  EXPECT_EQ(first->status, 504);
}

// REL-1: an old answer is better than none.
TEST(Names, ThatFailLaterAreUsedAsTheyWere) {
  Moving moving("workers: 1\n");
  EXPECT_EQ(moving.ask().body, "old");
  names.fail("origin.test", EAI_AGAIN);
  for (int i = 0; i < 5; ++i) {
    moving.weir->turn(40s);
    EXPECT_EQ(moving.ask().body, "old");
  }
}

// REL-1: nor does anybody wait for one, and hits for nothing at all.
TEST(Names, ThatHangDelayNobodyWhoKnowsAnAddress) {
  Moving moving("workers: 1\n");
  EXPECT_EQ(moving.ask().body, "old");
  Gate gate;
  names.hang(gate);
  for (int i = 0; i < 5; ++i) {
    moving.weir->turn(40s);
    EXPECT_EQ(moving.ask().body, "old");
    EXPECT_TRUE(cache_status(get(moving.weir->port(), "/1")).hit());
  }
  gate.open();
}

// REL-1, COA-6: who knows none waits as long as connecting may take, and costs one question.
TEST(Names, ThatHangAtFirstAreATimeout) {
  Moving moving("workers: 1\n");
  Gate gate;
  names.hang(gate);
  auto const before = names.asked();
  Burst burst(moving.weir->port(), 20);
  burst.send_each([](std::size_t client) { return write_request("GET", "/" + std::to_string(client)); });
  ASSERT_TRUE(moving.weir->waits_for_waiters(20));
  ASSERT_TRUE(eventually([&] { return names.asked() > before; }));
  EXPECT_TRUE(eventually([&] {
    moving.weir->turn(4s);  // `timeouts.connect` is 3 s
    return moving.weir->daemon().flights().waiting() == 0;
  }));
  burst.collect();
  for (auto const& response : burst.responses()) EXPECT_TRUE(response.status == 502 || response.status == 504) << response;
  EXPECT_EQ(names.asked(), before + 1);
  gate.open();
  EXPECT_TRUE(eventually([&] { return moving.ask().body == "old"; }));
  EXPECT_LE(names.asked(), before + 2);
}

// REL-1: an origin that moved while the old one lives is found though its connection is never idle.
TEST(Names, ThatChangeAreFollowedUnderSteadyLoad) {
  Moving moving("workers: 1\n");
  EXPECT_EQ(moving.ask().body, "old");
  names.set("origin.test", second_home);
  EXPECT_EQ(moving.ask().body, "old");  // not asked for yet
  EXPECT_TRUE(eventually([&] {
    moving.weir->turn(10s);
    auto const response = moving.ask();
    EXPECT_EQ(response.status, 200);
    return response.body == "new";
  }));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(moving.ask().body, "new");
  EXPECT_LE(moving.asked, 20);
}

// REL-1: one that moved and left nobody behind is found by the first who wants it.
TEST(Names, ThatChangeAreAskedForWhereNobodyListensAnyMore) {
  Moving moving;
  EXPECT_EQ(moving.ask().body, "old");
  names.set("origin.test", second_home);
  moving.old_home.stop();
  moving.weir->turn(2s);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(moving.ask().body, "new");
}

}  // namespace
}  // namespace weir::test
