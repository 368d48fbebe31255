// Disks that are full or broken, under logs and snapshots: no request notices, what was there stays whole, and what was lost
// is counted.
#include "faults/rig.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "weir/observe/log.hpp"

namespace weir::test {
namespace {

namespace fs = std::filesystem;

std::string file_named(std::string const& name) {
  auto const path = fs::path(testing::TempDir()) / ("weir_disks_" + name);
  for (auto const* const end : {"", ".new", ".loaded"}) fs::remove_all(path.string() + end);
  return path;
}

std::vector<std::string> lines_of(std::string const& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// OBS-4: lines that do not fit are counted, and those after them are whole again.
TEST(Disks, ThatAreFullLoseLinesOfTheAccessLogAndNothingElse) {
  auto const path = file_named("access");
  ScriptedOrigin origin;
  origin.answer("/x", respond(200, {max_age(600)}, "x"));
  Weir weir(origin, plain + "log: {access_file: \"" + path + "\"}\n");
  auto const ask = [&](int times) {
    Client client(weir.port());
    for (int i = 0; i < times; ++i) ASSERT_EQ(client.get("/x").body, "x");
  };
  auto const dropped = [&] { return weir.metric("weir_access_log_dropped_total"); };
  ask(10);
  ASSERT_TRUE(eventually([&] { return lines_of(path).size() == 10; }));
  calls::fill_disk(100);  // in the middle of a line
  ask(20);
  ASSERT_TRUE(eventually([&] { return dropped() == 20; })) << dropped();
  calls::end();
  ask(10);
  ASSERT_TRUE(eventually([&] { return lines_of(path).size() == 21; })) << lines_of(path).size();
  auto const lines = lines_of(path);
  EXPECT_EQ(lines[10].size(), 100U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 10) continue;
    EXPECT_NE(lines[i].find("GET /x HTTP/1.1"), std::string::npos) << lines[i];
  }
  EXPECT_EQ(dropped(), 20);
}

// OBS-4
TEST(Disks, ThatAreFullLoseLinesOfTheLogAndNothingElse) {
  auto const path = file_named("log");
  ASSERT_FALSE(observe::start_log({.file = path}));
  auto const say = [](int times) {
    for (int i = 0; i < times; ++i) observe::log_info("something-happened", {{"number", i}});
  };
  say(3);
  ASSERT_TRUE(eventually([&] { return lines_of(path).size() == 3; }));
  calls::fill_disk(30);
  say(5);
  ASSERT_TRUE(eventually([] { return observe::log_dropped() == 5; }));
  calls::end();
  say(3);
  observe::stop_log();
  auto const lines = lines_of(path);
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[3].size(), 30U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == 3) continue;
    EXPECT_NE(lines[i].find("something-happened number="), std::string::npos) << lines[i];
  }
}

// How a Weir ends that has these targets stored, and a snapshot at `path`.
daemon::Ended stop(ScriptedOrigin const& origin, std::string const& path, std::vector<std::string> const& targets,
                   std::function<void()> const& before_end = {}) {
  Weir weir(origin, plain + "store: {snapshot: \"" + path + "\"}\n");
  EXPECT_TRUE(eventually([&] { return !weir.daemon().snapshot()->loading(); }));
  for (auto const& target : targets) EXPECT_EQ(get(weir.port(), target).status, 200);
  EXPECT_TRUE(weir.waits_until_no_flights());
  if (before_end) before_end();
  auto const ended = weir.daemon().drain([](base::Duration) {
    give_way();
    return false;
  });
  calls::end();
  return ended;
}

struct Broken {
  Call call;
  int error;
};

// MEM-2: a snapshot that cannot be written leaves the one before it, which the next start loads.
TEST(Disks, ThatBreakLeaveTheSnapshotThatWasThere) {
  ScriptedOrigin origin;
  origin.answer_rest([](Request const& request) {
    return respond(200, {max_age(600), {"ETag", "\"a\""}}, request.target + std::string(200'000, 'x'));
  });
  std::vector<std::string> const first{"/1", "/2"}, second{"/3", "/4", "/5"};
  int tried = 0;
  for (Broken const broken : {Broken{Call::open, ENOSPC},
                              {Call::open, EROFS},
                              {Call::write, ENOSPC},
                              {Call::write, EIO},
                              {Call::sync, EIO},
                              {Call::rename, ENOSPC}}) {
    for (std::uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE(std::string(name_of(broken.call)) + ' ' + std::to_string(nth) + ": " + std::strerror(broken.error));
      auto const path = file_named("snapshot");
      ASSERT_EQ(stop(origin, path, first), daemon::Ended::clean);
      auto const ended = stop(origin, path, second, [&] { calls::fail(broken.call, broken.error, {nth, 1}); });
      Weir weir(origin, plain + "store: {snapshot: \"" + path + "\"}\n");
      ASSERT_TRUE(eventually([&] { return !weir.daemon().snapshot()->loading(); }));
      auto const entries = weir.entries();
      EXPECT_EQ(weir.metric("weir_snapshot_entries_total{result=\"damaged\"}"), 0);
      if (ended == daemon::Ended::clean) {
        EXPECT_EQ(entries, first.size() + second.size());
        break;
      }
      ++tried;
      EXPECT_EQ(ended, daemon::Ended::snapshot_lost);
      EXPECT_FALSE(fs::exists(path + ".new"));
      // The old one; or the new one, where all that failed is that its name may not outlast a crash of the machine.
      EXPECT_TRUE(entries == first.size() || entries == first.size() + second.size()) << entries;
      EXPECT_GE(entries, first.size());
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(tried, 5);
}

}  // namespace
}  // namespace weir::test
