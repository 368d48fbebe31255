#include "weir/observe/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "weir/observe/json_text.hpp"

namespace weir::observe {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::MatchesRegex;

class Log : public testing::Test {
 protected:
  void SetUp() override {
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    file_ = std::filesystem::path(testing::TempDir()) / (std::string("weir_log_") + test->name() + ".log");
    std::filesystem::remove(file_);
  }
  void TearDown() override { stop_log(); }

  void start(LogFormat format, LogLevel level = LogLevel::info) {
    ASSERT_FALSE(start_log({.level = level, .format = format, .file = file_}));
  }
  static std::vector<std::string> lines_of(std::filesystem::path const& file) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  std::vector<std::string> lines() const { return lines_of(file_); }

  std::filesystem::path file_;
};

TEST_F(Log, TextHasTimeLevelEventAndFields) {  // OBS-4
  start(LogFormat::text, LogLevel::debug);
  log_info("breaker-opened", {{"origin", "app"}, {"failures", 20}, {"share", 0.5}, {"probe", false}});
  log_debug("plain");
  log_warning("quoted", {{"path", "/a b"}, {"empty", ""}, {"line", "a\nb=\"c\""}, {"high", "\x80"}});
  log_error("numbers",
            {{"low", std::numeric_limits<std::int64_t>::min()}, {"high", std::numeric_limits<std::uint64_t>::max()}});
  stop_log();
  std::string const time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z ";
  EXPECT_THAT(lines(),
              ElementsAre(MatchesRegex(time + "info breaker-opened origin=app failures=20 share=0.5 probe=false"),
                          MatchesRegex(time + "debug plain"),
                          MatchesRegex(time + R"(warning quoted path="/a b" empty="" line="a\\nb=\\"c\\"" high="\\ufffd")"),
                          MatchesRegex(time + "error numbers low=-9223372036854775808 high=18446744073709551615")));
}

TEST_F(Log, JsonLinesParseWhateverTheyHold) {  // OBS-4
  start(LogFormat::json);
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  log_info("everything", {{"bytes", every_byte},
                          {"json", R"({"a":"}%v\)"},
                          {"utf8", "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"},
                          {"n", -3},
                          {"u", std::uint64_t{7}},
                          {"d", 1.5},
                          {"nan", std::numeric_limits<double>::quiet_NaN()},
                          {"b", true}});
  log_info("a \"quoted\" event");
  stop_log();
  auto const all = lines();
  ASSERT_EQ(all.size(), 2U);
  auto const line = boost::json::parse(all[0]).as_object();
  EXPECT_THAT(std::string(line.at("time").as_string()), MatchesRegex("[0-9-]{10}T[0-9:.]{12}Z"));
  EXPECT_EQ(line.at("level").as_string(), "info");
  EXPECT_EQ(line.at("event").as_string(), "everything");
  EXPECT_EQ(line.at("json").as_string(), R"({"a":"}%v\)");
  EXPECT_EQ(line.at("utf8").as_string(), "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80");
  auto const& bytes = line.at("bytes").as_string();
  EXPECT_EQ(std::string_view(bytes).substr(0, 128), every_byte.substr(0, 128));
  EXPECT_EQ(bytes.size(), 128U + 3 * 128U);
  EXPECT_EQ(line.at("n").as_int64(), -3);
  EXPECT_EQ(line.at("u").as_int64(), 7);
  EXPECT_EQ(line.at("d").as_double(), 1.5);
  EXPECT_TRUE(line.at("nan").is_null());
  EXPECT_TRUE(line.at("b").as_bool());
  EXPECT_EQ(boost::json::parse(all[1]).as_object().at("event").as_string(), "a \"quoted\" event");
}

TEST_F(Log, LevelDecides) {  // OBS-4
  start(LogFormat::text, LogLevel::warning);
  log_info("too-low");
  log_warning("first");
  set_log_level(LogLevel::off);
  log_error("silenced");
  set_log_level(LogLevel::debug);
  log_debug("second");
  log(LogLevel::off, "never");
  stop_log();
  EXPECT_THAT(lines(), ElementsAre(testing::EndsWith("warning first"), testing::EndsWith("debug second")));
}

TEST_F(Log, ReopensByName) {  // LCY-2
  start(LogFormat::text);
  auto const moved = file_.string() + ".1";
  std::promise<void> written;
  log_info("before");
  std::filesystem::rename(file_, moved);
  ASSERT_FALSE(reopen_log());
  log_info("after");
  stop_log();
  // "before" waited in the queue or not: it is in one of the two, whole, and "after" is in the new one.
  auto const now = lines();
  ASSERT_FALSE(now.empty());
  EXPECT_THAT(now.back(), testing::EndsWith("info after"));
  EXPECT_EQ(now.size() + lines_of(moved).size(), 2U);
  std::filesystem::remove(moved);
}

TEST_F(Log, ReopenFailureKeepsTheOldFile) {  // LCY-2
  auto const folder = std::filesystem::path(testing::TempDir()) / "weir_log_folder";
  std::filesystem::create_directory(folder);
  file_ = folder / "log";
  start(LogFormat::text);
  auto const moved = std::filesystem::path(testing::TempDir()) / "weir_log_moved";
  std::filesystem::rename(folder, moved);
  EXPECT_EQ(reopen_log(), boost::system::errc::no_such_file_or_directory);
  log_info("still");
  stop_log();
  EXPECT_THAT(lines_of(moved / "log"), ElementsAre(testing::EndsWith("info still")));
  std::filesystem::remove_all(moved);
}

// OBS-4, LCY-2: nobody reads standard error, which blocks: the end does not wait for a reader, and what is lost is counted.
TEST_F(Log, AReaderThatSleepsDoesNotHoldUpTheEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  int const before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  auto const error = start_log({});
  std::string const long_text(3000, 'x');
  for (int i = 0; i < 100; ++i) log_info("line", {{"text", long_text}});
  auto end = std::async(std::launch::async, stop_log);
  auto const ended = end.wait_for(10s);
  close(ends[0]);  // what still writes fails
  end.wait();
  dup2(before, STDERR_FILENO);
  close(before);
  close(ends[1]);
  EXPECT_FALSE(error);
  EXPECT_EQ(ended, std::future_status::ready);
}

TEST_F(Log, StartFailsOnAFileThatCannotBeOpened) {
  EXPECT_EQ(start_log({.file = "/nonexistent/folder/log"}), boost::system::errc::no_such_file_or_directory);
  EXPECT_FALSE(reopen_log());
}

TEST_F(Log, AFifoThatNobodyReadsIsAMistake) {  // OBS-4: and no reason to wait
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  auto opened = std::async(std::launch::async, [&] { return start_log({.file = file_}); });
  auto const returned = opened.wait_for(10s);
  if (returned != std::future_status::ready) close(open(file_.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_EQ(returned, std::future_status::ready);
  EXPECT_EQ(opened.get(), boost::system::errc::no_such_device_or_address);
  std::filesystem::remove(file_);
}

TEST_F(Log, CallsDoNothingBeforeTheStart) {
  log_error("nobody");
  set_log_level(LogLevel::debug);
  EXPECT_EQ(log_dropped(), 0U);
  EXPECT_FALSE(reopen_log());
}

// OBS-4: a log that cannot be written delays nobody and loses the oldest, counted. The pipe is full until the test reads it.
TEST_F(Log, FullQueueLosesTheOldestAndCounts) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  int const reader = ::open(file_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_FALSE(start_log({.file = file_, .queue = 4}));
  std::string const filler(4000, 'x');
  constexpr std::uint64_t sent = 200;
  for (std::uint64_t i = 0; i < sent; ++i) log_info("line", {{"n", i}, {"filler", filler}});
  std::uint64_t const dropped = log_dropped();
  EXPECT_GT(dropped, 0U);
  std::string text;
  std::jthread stopper([] { stop_log(); });
  ::fcntl(reader, F_SETFL, 0);  // from now on reading waits, and ends when the log has closed its end
  for (std::array<char, 65536> part{};;) {
    ssize_t const got = ::read(reader, part.data(), part.size());
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(reader);
  auto const written = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(written + dropped, sent);
  EXPECT_NE(text.find("n=199 "), std::string::npos) << "the newest is kept";
}

TEST_F(Log, CountsWhatTheDeviceRefuses) {  // OBS-4
  ASSERT_FALSE(start_log({.file = "/dev/full"}));
  log_info("lost");
  std::filesystem::remove(file_);
  EXPECT_EQ(reopen_log(), boost::system::error_code());
  while (log_dropped() == 0) std::this_thread::yield();
  EXPECT_EQ(log_dropped(), 1U);
}

TEST_F(Log, ManyThreadsWriteWholeLines) {  // OBS-4
  start(LogFormat::json);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 100; ++i) log_info("step", {{"thread", t}, {"i", i}});
      });
    }
  }
  stop_log();
  auto const all = lines();
  EXPECT_EQ(all.size(), 400U);
  for (auto const& line : all) EXPECT_EQ(boost::json::parse(line).as_object().at("event").as_string(), "step");
}

TEST(LogLevels, ParseByWord) {  // LCY-1
  EXPECT_EQ(parse_log_level("debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("info"), LogLevel::info);
  EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("error"), LogLevel::error);
  EXPECT_EQ(parse_log_level("off"), LogLevel::off);
  EXPECT_EQ(parse_log_level("INFO"), std::nullopt);
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {  // OBS-4
  struct {
    char const* name;
    std::string_view text;
    char const* json;
  } const cases[] = {
      {"ascii", "a/b", R"("a/b")"},
      {"controls", std::string_view("\0\x1F\x7F\b", 4), R"("\u0000\u001f\u007f\u0008")"},
      {"escapes", "\"\\\n\r\t", R"("\"\\\n\r\t")"},
      {"more controls", "\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0", "\"\\u0080\\u009b\\u009f\xC2\xA0\""},
      {"two bytes", "\xC3\xBC", "\"\xC3\xBC\""},
      {"overlong two", "\xC0\xAF", R"("\ufffd\ufffd")"},
      {"overlong three", "\xE0\x80\xAF", R"("\ufffd\ufffd\ufffd")"},
      {"surrogate", "\xED\xA0\x80", R"("\ufffd\ufffd\ufffd")"},
      {"last before surrogates", "\xED\x9F\xBF", "\"\xED\x9F\xBF\""},
      {"overlong four", "\xF0\x8F\xBF\xBF", R"("\ufffd\ufffd\ufffd\ufffd")"},
      {"highest", "\xF4\x8F\xBF\xBF", "\"\xF4\x8F\xBF\xBF\""},
      {"above the highest", "\xF4\x90\x80\x80", R"("\ufffd\ufffd\ufffd\ufffd")"},
      {"no lead", "\xF5", R"("\ufffd")"},
      {"cut", "a\xE2\x82", R"("a\ufffd\ufffd")"},
  };
  for (auto const& row : cases) {
    std::string out;
    append_json_string(out, row.text);
    EXPECT_EQ(out, row.json) << row.name;
    boost::system::error_code error;
    auto const parsed = boost::json::parse(out, error);
    ASSERT_FALSE(error) << row.name;
    EXPECT_EQ(valid_utf8(row.text), std::string_view(parsed.as_string())) << row.name;
  }
}

TEST(Once, IsTrueOnce) {
  Once once;
  EXPECT_TRUE(once());
  EXPECT_FALSE(once());
}

TEST(EverySoOften, TakesTurnsAndCountsWhatItRefused) {
  EverySoOften often(10s);
  auto const start = base::SteadyTime(5s);
  EXPECT_EQ(often(start), 0U);
  EXPECT_EQ(often(start + 1s), std::nullopt);
  EXPECT_EQ(often(start + 10s - 1ns), std::nullopt);
  EXPECT_EQ(often(start + 10s), 2U);
  EXPECT_EQ(often(start + 19s), std::nullopt);
  EXPECT_EQ(often(start + 100s), 1U);
}

}  // namespace
}  // namespace weir::observe
