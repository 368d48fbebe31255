#include "weir/observe/access_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

namespace weir::observe {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

Access page() {
  Access access;
  access.came = base::WallTime(std::chrono::seconds(1'700'000'000) + 123ms);
  access.until_answer = 1500us;
  access.until_end = 2s;
  access.body_bytes = 5;
  access.status = 200;
  access.outcome = Outcome::hit;
  access.cache_status.hit = true;
  access.client = "192.0.2.1";
  access.method = "GET";
  access.target = "/a?b=1";
  access.host = "shop.example";
  access.agent = "curl/8";
  return access;
}

std::string line(Access const& access, LogFormat format) {
  std::string out;
  append_access_line(out, access, format);
  return out;
}

TEST(AccessLog, CombinedHasTheUsualFieldsAndOursBehindThem) {  // OBS-4
  EXPECT_EQ(line(page(), LogFormat::text),
            "192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] \"GET /a?b=1 HTTP/1.1\" 200 5 \"-\" \"curl/8\" \"shop.example\" hit "
            "\"Weir; hit\" 0.001500 2.000000");
  Access malformed;
  malformed.version = 0;
  malformed.status = 400;
  malformed.client = "192.0.2.1";
  malformed.outcome = Outcome::refused;
  EXPECT_EQ(line(malformed, LogFormat::text),
            "192.0.2.1 - - [01/Jan/1970:00:00:00 +0000] \"-\" 400 0 \"-\" \"-\" \"-\" refused \"-\" 0.000000 0.000000");
}

TEST(AccessLog, JsonIsAnObjectALine) {  // OBS-4
  auto access = page();
  access.outcome = Outcome::collapsed;
  access.whole = false;
  auto const value = boost::json::parse(line(access, LogFormat::json)).as_object();
  EXPECT_EQ(value.at("time"), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(value.at("target"), "/a?b=1");
  EXPECT_EQ(value.at("status"), 200);
  EXPECT_EQ(value.at("collapsed"), true);
  EXPECT_EQ(value.at("whole"), false);
  EXPECT_EQ(value.at("cache_status"), "Weir; hit");
  EXPECT_DOUBLE_EQ(value.at("seconds").as_double(), 2.0);
}

// OBS-4: what a client sends neither begins a line nor ends a quoted part, in either format.
TEST(AccessLog, ClientsCannotForgeLines) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string const evil = "x" + std::string(1, static_cast<char>(byte)) + "\" 200 \\";
    auto access = page();
    access.agent = access.referer = access.target = access.host = access.method = access.client = evil;
    auto const text = line(access, LogFormat::text);
    EXPECT_EQ(std::count(text.begin(), text.end(), '"'), 10);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }));
    EXPECT_EQ(text.find("\\\\"), std::string::npos);
    auto const json = line(access, LogFormat::json);
    EXPECT_TRUE(std::none_of(json.begin(), json.end(), [](unsigned char c) { return c < 0x20; }));
    EXPECT_NO_THROW(boost::json::parse(json));
  }
}

TEST(AccessLog, AQueueGivesBackWhatWasPushedAndRefusesWhatHasNoRoom) {  // OBS-4
  AccessQueue queue(4096);
  std::string storage;
  Access got;
  EXPECT_FALSE(queue.pop(got, storage));
  for (int round = 0; round < 100; ++round) {  // round and round the ring
    auto access = page();
    std::string const target = "/" + std::string(static_cast<std::size_t>(round * 7), 'a');
    access.target = target;
    ASSERT_TRUE(queue.push(access));
    ASSERT_TRUE(queue.pop(got, storage));
    EXPECT_EQ(got.target, target);
    EXPECT_EQ(line(got, LogFormat::json), line(access, LogFormat::json));
  }
  auto access = page();
  std::string const long_target(10'000, 'a');
  access.target = long_target;
  ASSERT_TRUE(queue.push(access));
  EXPECT_FALSE(queue.push(access));
  EXPECT_TRUE(queue.is_half_full());
  ASSERT_TRUE(queue.pop(got, storage));
  EXPECT_EQ(got.target.size(), Access::longest);
}

class AccessFile : public testing::Test {
 protected:
  void SetUp() override {
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    file_ = std::filesystem::path(testing::TempDir()) / (std::string("weir_access_") + test->name() + ".log");
    std::filesystem::remove(file_);
    std::filesystem::remove(file_ + ".1");
  }
  static std::size_t lines(std::string const& file) {
    std::ifstream in(file);
    std::size_t count = 0;
    for (std::string text; std::getline(in, text);) ++count;
    return count;
  }
  void use(AccessLog& log) {
    auto const opened = AccessLog::open(file_);
    ASSERT_TRUE(opened);
    log.use(file_, *opened, LogFormat::text);
  }
  std::string file_;
};

TEST_F(AccessFile, EveryLineOfEveryWorkerIsWritten) {  // OBS-4
  {
    AccessLog log(2);
    use(log);
    std::vector<std::thread> workers;
    for (std::size_t w = 0; w < 2; ++w) {
      workers.emplace_back([&log, w] {
        for (int i = 0; i < 1000; ++i) log.push(w, page());
      });
    }
    for (auto& worker : workers) worker.join();
    EXPECT_EQ(log.dropped(), 0U);
  }
  EXPECT_EQ(lines(file_), 2000U);
}

TEST_F(AccessFile, AfterReopenTheFileThatHasTheNameIsWritten) {  // OBS-4, LCY-2
  {
    AccessLog log(1);
    use(log);
    log.push(0, page());
    while (lines(file_) < 1) std::this_thread::yield();
    std::filesystem::rename(file_, file_ + ".1");
    EXPECT_FALSE(log.reopen());
    log.push(0, page());
  }
  EXPECT_EQ(lines(file_), 1U);
  EXPECT_EQ(lines(file_ + ".1"), 1U);
}

// OBS-4, LCY-2: off, its file is written to the end and closed, and nothing is waited for.
TEST_F(AccessFile, SwitchedOffItLetsGoOfTheFile) {
  AccessLog log(1);
  auto const holds = [this] {
    auto const is_file = [this](auto const& fd) {
      std::error_code gone;
      return std::filesystem::read_symlink(fd.path(), gone) == file_;
    };
    auto const all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::any_of(begin(all), end(all), is_file);
  };
  for (std::size_t round = 1; round <= 3; ++round) {
    use(log);
    for (int i = 0; i < 1000; ++i) log.push(0, page());
    log.use("", -1, LogFormat::text);
    while (holds()) std::this_thread::yield();
    EXPECT_EQ(lines(file_), round * 1000);
    EXPECT_FALSE(log.reopen());
    EXPECT_FALSE(holds());
  }
  log.push(0, page());  // too late
  log.stop();
  EXPECT_EQ(log.dropped(), 1U);
}

// OBS-4: nobody reads the pipe: the worker goes on, and what is lost is counted.
TEST_F(AccessFile, AReaderThatSleepsCostsLinesAndNoTime) {
  std::signal(SIGPIPE, SIG_IGN);  // as main does
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::uint64_t dropped = 0;
  {
    AccessLog log(1);
    log.use("pipe", ends[1], LogFormat::text);
    for (int i = 0; i < 20'000; ++i) log.push(0, page());
    dropped = log.dropped();
    close(ends[0]);
  }
  EXPECT_GT(dropped, 10'000U);
}

// OBS-4, LCY-2: nobody reads the pipe at the end: it is waited for once, and not for each batch.
TEST_F(AccessFile, AReaderThatSleepsHoldsUpTheEndOnce) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  AccessLog log(4);
  log.use("pipe", ends[1], LogFormat::text);
  for (std::size_t i = 0; i < 20'000; ++i) log.push(i % 4, page());
  auto const begin = base::Clock::now();
  log.stop();
  EXPECT_LT(base::Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_GT(log.dropped(), 19'000U);
  close(ends[0]);
}

TEST(AccessLog, AFileThatCannotBeOpenedIsAnError) { EXPECT_FALSE(AccessLog::open("/nowhere/at/all")); }

}  // namespace
}  // namespace weir::observe
