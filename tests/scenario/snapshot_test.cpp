// The cache over a restart: what comes back is stale, confirmed by the origin, and never what was purged or written to.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "scenario/answers.hpp"
#include "weir/base/hash.hpp"
#include "weir/base/turned_clock.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto hard_all = R"({"all":true,"mode":"hard"})";

std::string snapshot_path() {
  auto const path = fs::path(testing::TempDir()) /
                    (std::string("weir_snapshot_scenario_") + testing::UnitTest::GetInstance()->current_test_info()->name());
  for (auto const* const end : {"", ".loaded", ".new"}) fs::remove_all(path.string() + end);
  return path;
}

std::string settings(std::string const& path) { return plain + "store: {snapshot: \"" + path + "\"}\n"; }

daemon::Ended stop(Weir& weir) {
  return weir.daemon().drain([](base::Duration) {
    give_way();
    return false;
  });
}

bool has_loaded(Weir& weir) {
  return eventually([&] { return !weir.daemon().snapshot()->loading(); });
}

double restored(Weir& weir, std::string const& result) {
  return weir.metric("weir_snapshot_entries_total{result=\"" + result + "\"}");
}

void purge(Weir& weir, std::string const& order) {
  auto const answer = Client(weir.admin_port()).request("POST", "/v1/purge", {{"Content-Type", "application/json"}}, order);
  ASSERT_EQ(answer.status, 200);
}

// An origin whose answers count, have a validator, and are confirmed by it.
struct Counting {
  explicit Counting(std::string control) {
    origin.answer_rest([this, control](Request const& request) {
      Fields fields{{"Cache-Control", control}, {"ETag", "\"" + request.target + "\""}};
      if (request.target.find("tagged") != std::string::npos) fields.push_back({"Surrogate-Key", "tag"});
      if (request.method == "DELETE") return respond(204);
      if (request.has("If-None-Match")) return respond(304, fields);
      return respond(200, fields, request.target + ' ' + std::to_string(++made));
    });
  }
  std::atomic<int> made{0};
  ScriptedOrigin origin;
};

void flip(std::string const& path, std::size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  char const byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

// In both heads, with the checksums that belong to it.
void set_numbers(std::string const& path, std::uint64_t purge_number, std::uint64_t highest_epoch) {
  static constexpr std::size_t head_size = 96, purge_number_at = 56, highest_epoch_at = 64, checksum_at = 88;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string head(head_size, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  auto const put = [&head](std::size_t at, std::uint64_t value) { std::memcpy(head.data() + at, &value, sizeof value); };
  put(purge_number_at, purge_number);
  put(highest_epoch_at, highest_epoch);
  put(checksum_at, base::checksum(std::string_view(head).substr(0, checksum_at), {}));
  file.seekp(0);
  file << head << head;
}

// MEM-2, SRV-2: every entry comes back, none is fresh, a 304 makes each so again, and the origin sends no body.
TEST(Snapshot, WhatComesBackIsStaleAndValidated) {
  auto const path = snapshot_path();
  Counting counting("max-age=3600");
  std::vector<std::string> bodies;
  {
    Weir weir(counting.origin, settings(path));
    for (int i = 0; i < 200; ++i) bodies.push_back(get(weir.port(), "/" + std::to_string(i)).body);
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  Weir weir(counting.origin, settings(path));
  ASSERT_TRUE(has_loaded(weir));
  EXPECT_EQ(restored(weir, "loaded"), 200);
  EXPECT_EQ(weir.entries(), 200U);
  for (int i = 0; i < 200; ++i) {
    auto const answer = get(weir.port(), "/" + std::to_string(i));
    ASSERT_EQ(answer.body, bodies[static_cast<std::size_t>(i)]);
    ASSERT_EQ(cache_status(answer).fwd(), "stale");
    ASSERT_EQ(cache_status(answer).value("fwd-status"), "304");
  }
  EXPECT_TRUE(cache_status(get(weir.port(), "/7")).hit());
  EXPECT_EQ(counting.made, 200);
  EXPECT_EQ(counting.origin.calls(), 400U);
}

// MEM-2, STL-1: stale windows run from the start on, for what was fresh; what had expired before goes on expiring.
TEST(Snapshot, StaleIsServedAsItsWindowsAllow) {
  auto const path = snapshot_path();
  Counting counting("max-age=100, stale-while-revalidate=60");
  {
    Weir weir(counting.origin, settings(path));
    get(weir.port(), "/old");
    weir.turn(130s);
    get(weir.port(), "/fresh");
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  base::turn_clock(40s);
  Weir weir(counting.origin, settings(path));
  ASSERT_TRUE(has_loaded(weir));
  auto const fresh = get(weir.port(), "/fresh");
  EXPECT_TRUE(cache_status(fresh).hit());
  EXPECT_EQ(cache_status(fresh).detail(), "stale-while-revalidate");
  EXPECT_GE(age(fresh), 40);
  EXPECT_EQ(cache_status(get(weir.port(), "/old")).value("fwd-status"), "304");
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_EQ(counting.made, 2);
}

// MEM-2, FRS-1: a wall clock that was set back makes nothing younger.
TEST(Snapshot, AStepOfTheWallClockExtendsNoLife) {
  auto const path = snapshot_path();
  Counting counting("max-age=100, stale-if-error=50");
  {
    Weir weir(counting.origin, settings(path));
    get(weir.port(), "/x");
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  base::turn_clock(1h);
  base::step_wall_clock(-1h);
  counting.origin.answer("/x", respond(503));
  Weir weir(counting.origin, settings(path));
  ASSERT_TRUE(has_loaded(weir));
  EXPECT_EQ(get(weir.port(), "/x").status, 503);
  base::step_wall_clock(1h);
}

// MEM-2, PRG-1, SRV-6: whatever was said of an entry holds after the restart, too.
TEST(Snapshot, WhatWasPurgedOrWrittenToStaysSo) {
  auto const path = snapshot_path();
  Counting counting("max-age=3600, stale-while-revalidate=3600");
  {
    Weir weir(counting.origin, settings(path));
    for (auto const* const target : {"/written", "/purged", "/tagged", "/left"}) get(weir.port(), target);
    Client(weir.port()).request("DELETE", "/written");
    purge(weir, R"({"urls":["/purged"],"mode":"hard"})");
    purge(weir, R"({"tags":["tag"],"mode":"hard"})");
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  Weir weir(counting.origin, settings(path));
  ASSERT_TRUE(has_loaded(weir));
  EXPECT_EQ(restored(weir, "loaded"), 3);
  for (auto const* const target : {"/written", "/purged", "/tagged"})
    EXPECT_EQ(cache_status(get(weir.port(), target)).value("fwd-status"), "200") << target;
  EXPECT_EQ(cache_status(get(weir.port(), "/left")).detail(), "stale-while-revalidate");
  ASSERT_TRUE(counting.origin.waits_for_calls(9));  // the last: its refresh
  ASSERT_TRUE(weir.waits_until_no_flights());
  purge(weir, hard_all);  // its number is above all that came back
  EXPECT_EQ(cache_status(get(weir.port(), "/left")).value("fwd-status"), "200");
}

// MEM-2, SRV-6: what a client writes to while its entry is still on the way makes that one invalid all the same. The file is
// a pipe here, so that the test has the reader wait where it wants.
TEST(Snapshot, AWriteWhileItIsLoadedIsNotLost) {
  auto const path = snapshot_path();
  Counting counting("max-age=3600, stale-while-revalidate=3600");
  {
    Weir weir(counting.origin, settings(path));
    for (auto const* const target : {"/x", "/y"}) get(weir.port(), target);
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  auto const all = bytes.str();
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  Gate gate;
  std::thread feeder([&] {
    std::ofstream pipe(path, std::ios::binary);
    pipe.write(all.data(), static_cast<std::streamsize>(all.size() - 1)).flush();
    gate.wait();
    pipe.put(all.back());
  });
  {
    Weir weir(counting.origin, settings(path));
    for (auto const* const target : {"/x", "/y"}) Client(weir.port()).request("DELETE", target);
    gate.open();
    feeder.join();
    ASSERT_TRUE(has_loaded(weir));
    EXPECT_GE(restored(weir, "refused"), 1);
    for (auto const* const target : {"/x", "/y"}) EXPECT_FALSE(cache_status(get(weir.port(), target)).hit()) << target;
  }
}

// MEM-2: the rest is used, what is damaged is counted.
TEST(Snapshot, DamageCostsWhatItHits) {
  auto const path = snapshot_path();
  Counting counting("max-age=3600");
  {
    Weir weir(counting.origin, settings(path));
    for (int i = 0; i < 50; ++i) get(weir.port(), "/" + std::to_string(i));
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  flip(path, static_cast<std::size_t>(fs::file_size(path)) / 2);
  fs::resize_file(path, fs::file_size(path) - 1);
  Weir weir(counting.origin, settings(path));
  ASSERT_TRUE(has_loaded(weir));
  EXPECT_EQ(restored(weir, "damaged"), 2);
  EXPECT_EQ(restored(weir, "loaded"), 48);
  EXPECT_EQ(get(weir.port(), "/0").status, 200);
}

// MEM-2: purges that cannot be read are held for the strongest there are.
TEST(Snapshot, WithoutItsEpochsNothingOlderIsUsed) {
  auto const path = snapshot_path();
  Counting counting("max-age=3600, stale-while-revalidate=3600");
  {
    Weir weir(counting.origin, settings(path));
    get(weir.port(), "/before");
    purge(weir, R"({"urls":["/other"],"mode":"soft"})");
    get(weir.port(), "/after");
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  flip(path, 2 * 96 + 32 + 20);
  Weir weir(counting.origin, settings(path));
  ASSERT_TRUE(has_loaded(weir));
  EXPECT_EQ(cache_status(get(weir.port(), "/before")).value("fwd-status"), "200");
  EXPECT_EQ(cache_status(get(weir.port(), "/after")).detail(), "stale-while-revalidate");
}

// MEM-2, PRG-1: a file whose checksums are right but whose numbers are not makes nothing that a purge does not reach.
TEST(Snapshot, ForeignNumbersOutliveNoPurge) {
  struct Row {
    char const* name;
    std::uint64_t purge_number, highest_epoch;
    double damaged;
  };
  for (auto const& row : {Row{"numbers that wrap", std::numeric_limits<std::uint64_t>::max(), 1, 0},
                          Row{"a record and an epoch above the head's", 1, 1, 1}}) {
    SCOPED_TRACE(row.name);
    auto const path = snapshot_path();
    Counting counting("max-age=3600, stale-while-revalidate=3600");
    {
      Weir weir(counting.origin, settings(path));
      for (int i = 0; i < 10; ++i) purge(weir, R"({"urls":["/new"],"mode":"hard"})");
      get(weir.port(), "/x");
      EXPECT_EQ(stop(weir), daemon::Ended::clean);
    }
    set_numbers(path, row.purge_number, row.highest_epoch);
    Weir weir(counting.origin, settings(path));
    ASSERT_TRUE(has_loaded(weir));
    EXPECT_EQ(restored(weir, "damaged"), row.damaged);
    get(weir.port(), "/new");
    EXPECT_TRUE(cache_status(get(weir.port(), "/new")).hit());
    purge(weir, hard_all);
    for (auto const* const target : {"/x", "/new"}) EXPECT_FALSE(cache_status(get(weir.port(), target)).hit()) << target;
  }
}

// MEM-2: a process that dies leaves no snapshot, as it knew of purges that the one it began with does not.
TEST(Snapshot, IsGoodForOneStart) {
  auto const path = snapshot_path();
  Counting counting("max-age=3600");
  {
    Weir weir(counting.origin, settings(path));
    get(weir.port(), "/x");
    EXPECT_EQ(stop(weir), daemon::Ended::clean);
  }
  {
    Weir weir(counting.origin, settings(path));
    ASSERT_TRUE(has_loaded(weir));
    EXPECT_FALSE(fs::exists(path));
  }  // without a graceful stop
  Weir weir(counting.origin, settings(path));
  ASSERT_TRUE(has_loaded(weir));
  EXPECT_EQ(weir.entries(), 0U);
  EXPECT_EQ(get(weir.port(), "/x").status, 200);
  EXPECT_EQ(stop(weir), daemon::Ended::clean);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(fs::exists(path + ".loaded"));
}

// MEM-2, LCY-1: a stop that could not keep the cache says so; the old snapshot comes back only if it is still all true.
TEST(Snapshot, OneThatCannotBeWrittenLeavesTheOldOne) {
  for (bool const purged : {false, true}) {
    SCOPED_TRACE(purged);
    auto const path = snapshot_path();
    Counting counting("max-age=3600");
    {
      Weir weir(counting.origin, settings(path));
      get(weir.port(), "/x");
      EXPECT_EQ(stop(weir), daemon::Ended::clean);
    }
    Weir weir(counting.origin, settings(path));
    ASSERT_TRUE(has_loaded(weir));
    if (purged) purge(weir, hard_all);
    fs::create_directory(path + ".new");  // in the way
    EXPECT_EQ(stop(weir), daemon::Ended::snapshot_lost);
    EXPECT_EQ(fs::exists(path), !purged);
    EXPECT_EQ(fs::exists(path + ".loaded"), purged);
  }
}

// MEM-2: no file, or one that is none: a cold start and no more. What is somebody else's is not written over.
TEST(Snapshot, WithoutOneItStartsCold) {
  auto const path = snapshot_path();
  Counting counting("max-age=3600");
  for (std::string const content : {"", "not a snapshot"}) {
    if (!content.empty()) std::ofstream(path) << content;
    Weir weir(counting.origin, settings(path));
    ASSERT_TRUE(has_loaded(weir));
    EXPECT_EQ(weir.entries(), 0U);
    EXPECT_EQ(get(weir.port(), "/x").status, 200);
    EXPECT_EQ(stop(weir), content.empty() ? daemon::Ended::clean : daemon::Ended::snapshot_lost);
    std::ostringstream left;
    left << std::ifstream(path).rdbuf();
    if (!content.empty()) EXPECT_EQ(left.str(), content);
    fs::remove(path);
  }
}

// MEM-2: a start that fails does not use it up.
TEST(Snapshot, AStartWithoutAPortLeavesItForTheNext) {
  Counting counting("max-age=3600");
  auto const path = snapshot_path();
  {
    Weir weir(counting.origin, settings(path));
    get(weir.port(), "/a");
    stop(weir);
  }
  ASSERT_TRUE(fs::exists(path));
  Weir const busy(counting.origin);
  auto const same_port = "listen: [\"127.0.0.1:" + std::to_string(busy.port()) + "\"]\n";
  EXPECT_THROW(Weir(counting.origin, same_port + settings(path)), std::exception);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(fs::exists(path + ".loaded"));
}

}  // namespace
}  // namespace weir::test
