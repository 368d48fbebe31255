// Every way to purge, by every door, while others ask without a pause: who asks after it has returned gets nothing from
// before it.
#include <gtest/gtest.h>

#include <thread>

#include "scenario/answers.hpp"
#include "weir/daemon/command.hpp"

namespace weir::test {
namespace {

constexpr std::size_t paths = 8;
std::string path_of(std::size_t i) { return "/shop/" + std::to_string(i % paths); }

// An origin whose answers are confirmed only while their version lasts, and clients that never stop asking for them.
class Shop {
 public:
  Shop() : weir_(origin_.url(), plain + "purge: {allow: [127.0.0.1]}\n") {
    origin_.answer_rest([this](Request const& request) {
      auto const version = std::to_string(version_.load());
      Fields const fields{max_age(600), {"ETag", '"' + version + '"'}, {"Surrogate-Key", "red"}};
      if (request.value("If-None-Match") == '"' + version + '"') return respond(304, fields);
      return respond(200, fields, version);
    });
    for (std::size_t i = 0; i < paths; ++i) get(weir_.port(), path_of(i));
    for (std::size_t c = 0; c < 3; ++c) readers_.emplace_back([this, c] { read(c); });
  }
  ~Shop() {
    over_.store(true);
    for (auto& reader : readers_) reader.join();
  }

  // What `purge` does comes between two versions.
  void expect_gone_after(std::function<void()> const& purge) {
    int const version = ++version_;
    purge();
    least_.store(version);
    expect_progress();
    EXPECT_EQ(wrong_.load(), 0);
  }

  // Nothing is fetched for it.
  void expect_nothing_after(std::function<void()> const& dry_run) {
    expect_progress();
    ASSERT_TRUE(weir_.waits_until_no_flights());
    auto const calls = origin_.calls();
    dry_run();
    expect_progress();
    EXPECT_EQ(origin_.calls(), calls);
  }

  Weir& weir() { return weir_; }

 private:
  void read(std::size_t number) {
    Client client(weir_.port());
    for (std::size_t i = number; !over_.load(); ++i, ++answers_) {
      int const least = least_.load();
      auto const answer = client.get(path_of(i));
      if (answer.status != 200 || std::stoi(answer.body) < least) ++wrong_;
    }
  }
  void expect_progress() {
    auto const before = answers_.load();
    EXPECT_TRUE(eventually([&] { return answers_.load() > before + 4 * paths; }));
  }

  std::atomic<int> version_{1}, least_{0}, wrong_{0};
  std::atomic<std::uint64_t> answers_{0};
  std::atomic<bool> over_{false};
  ScriptedOrigin origin_;
  Weir weir_;
  std::vector<std::thread> readers_;
};

struct Way {
  char const* name;
  std::string order;               // of the endpoint, but for mode and dry_run
  std::vector<std::string> words;  // of the sub-command
};

std::vector<Way> ways() {
  Way urls{"url", "", {}};
  for (std::size_t i = 0; i < paths; ++i) {
    auto const url = "http://weir.test" + path_of(i);
    urls.order += std::string(i == 0 ? R"("urls":[)" : ",") + '"' + url + '"';
    urls.words.push_back(url);
  }
  urls.order += ']';
  return {urls,
          {"prefix", R"("prefixes":["/shop/"])", {"--prefix", "/shop/"}},
          {"tag", R"("tags":["red"])", {"--tag", "red"}},
          {"site", R"("site":"default")", {"--site", "default"}},
          {"all", R"("all":true)", {"--all"}}};
}

int run(Weir const& weir, std::vector<std::string> words) {
  auto const door = "127.0.0.1:" + std::to_string(weir.admin_port());
  words.insert(words.end(), {"--admin", door});
  std::vector<char const*> arguments{"weir", "purge"};
  for (auto const& word : words) arguments.push_back(word.c_str());
  char const* const no_environment[] = {nullptr};
  testing::internal::CaptureStdout();
  int const code = daemon::run_command(static_cast<int>(arguments.size()), arguments.data(), no_environment);
  testing::internal::GetCapturedStdout();
  return code;
}

// PRG-1, OBS-3, LCY-1: by URL, prefix, tag, site and all; soft, hard and dry; by the endpoint and by the sub-command.
TEST(PurgeUnderLoad, ByEveryNameThroughBothDoors) {
  Shop shop;
  auto const ask = [&](std::string const& order) {
    auto const answer =
        Client(shop.weir().admin_port()).request("POST", "/v1/purge", {{"Content-Type", "application/json"}}, order);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body;
  };
  for (auto const& way : ways()) {
    for (bool const hard : {false, true}) {
      SCOPED_TRACE(std::string(way.name) + (hard ? ", hard" : ", soft"));
      auto const order = "{" + way.order + R"(,"mode":")" + (hard ? "hard" : "soft") + '"';
      auto words = way.words;
      if (hard) words.emplace_back("--hard");
      shop.expect_gone_after([&] { ask(order + "}"); });
      shop.expect_gone_after([&] { EXPECT_EQ(run(shop.weir(), words), 0); });
      shop.expect_nothing_after([&] {
        auto const told = ask(order + R"(,"dry_run":true})");
        EXPECT_NE(told.find("\"entries\":" + std::to_string(paths)), std::string::npos) << told;
      });
      words.emplace_back("--dry-run");
      shop.expect_nothing_after([&] { EXPECT_EQ(run(shop.weir(), words), 0); });
    }
  }
  EXPECT_EQ(shop.weir().metric(R"(weir_purges_total{mode="hard"})"), 10);
  EXPECT_EQ(shop.weir().metric(R"(weir_purges_total{mode="soft"})"), 10);
}

// PRG-3: by the method, soft and hard.
TEST(PurgeUnderLoad, ByTheMethod) {
  Shop shop;
  Client operators(shop.weir().port());
  for (Fields const& fields : {Fields{}, Fields{{"Weir-Purge", "hard"}}}) {
    for (int round = 0; round < 3; ++round)
      shop.expect_gone_after([&] {
        for (std::size_t i = 0; i < paths; ++i) EXPECT_EQ(operators.request("PURGE", path_of(i), fields).status, 200);
      });
  }
}

}  // namespace
}  // namespace weir::test
