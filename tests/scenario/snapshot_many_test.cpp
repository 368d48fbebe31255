// A hundred thousand entries over a restart, whole and damaged in many ways (MEM-2).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "scenario/answers.hpp"
#include "weir/base/hash.hpp"
#include "weir/cache/key.hpp"
#include "weir/cache/stored_response.hpp"

namespace weir::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string const etag = "\"e\"";

// A store full of what fetches would have left there; asking an origin for each would take a test's patience.
void fill(Weir& weir, std::size_t count) {
  std::string const head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nETag: " + etag + "\r\n";
  auto const now = base::read_clock();
  for (std::size_t i = 0; i < count; ++i) {
    auto const path = "/" + std::to_string(i);
    cache::KeyBytes key;
    cache::append_url_key("http", "weir.test", {path, {}, false}, key);
    cache::StoredResponse::Parts parts{cache::view(key), "", head, {}};
    parts.facts.status = 200;
    parts.facts.response_time = now.steady;
    parts.facts.date = now.wall;
    parts.facts.lifetime = 1h;
    parts.facts.began = 1;
    parts.facts.etag = {static_cast<std::uint32_t>(head.find(etag)), static_cast<std::uint32_t>(etag.size())};
    auto entry = cache::StoredResponse::make(parts, path.size(), weir.daemon().shared().memory);
    path.copy(entry->body_area(), path.size());
    auto const put = weir.daemon().store().put(std::move(entry), now.steady + 2h, 8, now);
    ASSERT_EQ(put, store::Put::stored);
  }
}

// A snapshot of so many, made as a graceful stop makes it.
class Snapshot {
 public:
  Snapshot(ScriptedOrigin& origin, std::size_t count)
      : path_(fs::path(testing::TempDir()) / ("weir-snapshot-many-" + std::to_string(::getpid()))) {
    remove();
    origin.answer_rest([](Request const& request) {
      Fields const fields{max_age(3600), {"ETag", etag}};
      return request.value("If-None-Match") == etag ? respond(304, fields) : respond(200, fields, "anew");
    });
    Weir weir(origin, settings());
    fill(weir, count);
    EXPECT_EQ(weir.daemon().drain([](base::Duration) {
      give_way();
      return false;
    }),
              daemon::Ended::clean);
  }
  ~Snapshot() { remove(); }

  std::string settings() const { return plain + "store: {snapshot: \"" + path_.string() + "\", max_bytes: 256MiB}\n"; }
  std::string read() const {
    std::ostringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    return bytes.str();
  }
  void write(std::string const& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  void remove() const {
    for (auto const* const end : {"", ".loaded", ".new"}) fs::remove(path_.string() + end);
  }
  fs::path path_;
};

bool has_loaded(Weir& weir) {
  return eventually([&] { return !weir.daemon().snapshot()->loading(); });
}

double restored(Weir& weir, std::string const& result) {
  return weir.metric("weir_snapshot_entries_total{result=\"" + result + "\"}");
}

void turn_a_bit(char& byte, std::size_t bit) noexcept {
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ 1U << bit);
}

// MEM-2, SRV-2: all come back, stale, and each is confirmed by a 304.
TEST(SnapshotOfMany, AHundredThousandComeBack) {
  constexpr std::size_t count = 100'000;
  ScriptedOrigin origin;
  Snapshot const snapshot(origin, count);
  Weir weir(origin, snapshot.settings());
  ASSERT_TRUE(has_loaded(weir));
  EXPECT_EQ(restored(weir, "loaded"), static_cast<double>(count));
  EXPECT_EQ(weir.entries(), count);
  Client client(weir.port());
  for (std::size_t i = 0; i < count; i += count / 200) {
    auto const path = "/" + std::to_string(i);
    auto const answer = client.get(path);
    ASSERT_EQ(answer.body, path);
    ASSERT_EQ(cache_status(answer).value("fwd-status"), "304");
  }
  ASSERT_TRUE(weir.waits_until_no_flights());
  EXPECT_TRUE(cache_status(client.get("/0")).hit());
  EXPECT_EQ(origin.calls(), 200U);
}

// MEM-2: cut short anywhere, or with bytes of it turned over, it gives what is sound and counts the rest.
TEST(SnapshotOfMany, DamageAnywhereIsSurvived) {
  constexpr std::size_t count = 300;
  ScriptedOrigin origin;
  Snapshot const snapshot(origin, count);
  auto const whole = snapshot.read();
  ASSERT_GT(whole.size(), 10'000U);
  std::minstd_rand dice(7);
  double sound = 0;
  for (int round = 0; round < 60; ++round) {
    auto bytes = whole;
    bool const cut = round % 2 == 0;
    std::size_t const at = dice() % whole.size();
    if (cut) bytes.resize(at);
    for (int i = 0; !cut && i <= round % 7; ++i) turn_a_bit(bytes[dice() % whole.size()], dice() % 8);
    snapshot.write(bytes);
    SCOPED_TRACE(std::string(cut ? "cut at " : "turned over, round ") + std::to_string(cut ? at : round));
    Weir weir(origin, snapshot.settings());
    ASSERT_TRUE(has_loaded(weir));
    auto const loaded = restored(weir, "loaded");
    sound += loaded;
    if (loaded > 0) {  // else its head may be damaged, and then nobody knows how many there were
      EXPECT_EQ(loaded + restored(weir, "damaged"), static_cast<double>(count));
    }
    auto const body = get(weir.port(), "/0").body;
    EXPECT_TRUE(body == "/0" || body == "anew") << body;
  }
  EXPECT_GT(sound, 60.0 * count / 4);
}

}  // namespace
}  // namespace weir::test
