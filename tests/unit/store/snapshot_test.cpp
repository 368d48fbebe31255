// Snapshots as files: what is written is read, and what is damaged costs itself and nothing else (MEM-2).
#include "weir/store/snapshot.hpp"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "unit/store/records.hpp"

namespace weir::store {
namespace {

using namespace std::chrono_literals;

constexpr Instant noon{1'800'000'000'000'000, std::chrono::nanoseconds(1h).count(), 7};
constexpr std::size_t head_size = 96;

std::string path_of(std::string const& name) {
  auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
  auto const path = std::filesystem::path(testing::TempDir()) / (std::string("weir_snapshot_") + test->name() + '_' + name);
  std::filesystem::remove(path);
  return path;
}

std::string bytes_of(std::string const& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(out).str();
}

std::vector<Shape> shapes(std::size_t count) {
  std::vector<Shape> shapes(count);
  for (std::size_t i = 0; i < count; ++i) {
    shapes[i].key = "key " + std::to_string(i);
    shapes[i].body = std::string(i, static_cast<char>('a' + i % 26));
  }
  return shapes;
}

std::vector<cache::Epochs::Row> epoch_rows(std::size_t count) {
  std::vector<cache::Epochs::Row> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::chrono::seconds const second(static_cast<std::int64_t>(i));
    rows[i] = {i == 0, i, i + 1, i + 2, i + 3, i + 2, at(second), at(second - 500ms)};
  }
  return rows;
}

std::string written(std::string const& path, std::vector<Shape> const& entries, std::size_t epochs,
                    std::uint64_t purge_number = 99, std::uint64_t highest_epoch = 42) {
  cache::MemoryAccount account;
  SnapshotWriter writer(path, noon);
  writer.add(epoch_rows(epochs));
  for (auto const& shape : entries) writer.add(*make_entry(account, shape), shape.keep_until);
  EXPECT_EQ(writer.commit(purge_number, highest_epoch), std::error_code());
  return bytes_of(path);
}

struct Loaded {
  SnapshotFault fault = SnapshotFault::none;
  SnapshotHead head;
  std::vector<cache::Epochs::Row> epochs;
  std::vector<std::string> keys, bodies;
  std::size_t damaged = 0;  // records whose frame was sound
};

// `portion`: bytes that the file gives at a time.
Loaded load(std::string_view bytes, std::size_t portion = 1 << 20, std::size_t longest = 1 << 22) {
  auto const source = [&](std::span<char> into) {
    auto const size = std::min({bytes.size(), into.size(), portion});
    bytes.copy(into.data(), size);
    bytes.remove_prefix(size);
    return size;
  };
  SnapshotReader reader(source, longest);
  Loaded loaded{reader.fault(), reader.head(), {}, {}, {}, 0};
  auto const moment = moment_of_writing(reader.head().written, noon);
  cache::MemoryAccount account;
  for (auto piece = reader.next(); piece.kind != SnapshotReader::Piece::Kind::end; piece = reader.next()) {
    if (piece.kind == SnapshotReader::Piece::Kind::epochs) {
      auto const rows = read_epochs(piece.bytes, moment);
      if (rows) loaded.epochs.insert(loaded.epochs.end(), rows->begin(), rows->end());
      continue;
    }
    auto const decoded = decode(piece.bytes, key_in(piece.bytes), 0, moment, account);
    if (!decoded) {
      ++loaded.damaged;
      continue;
    }
    loaded.keys.emplace_back(decoded->entry->key());
    loaded.bodies.emplace_back(decoded->entry->body());
  }
  return loaded;
}

TEST(Snapshot, WhatIsWrittenIsRead) {  // MEM-2
  auto entries = shapes(300);
  entries[1].refreshed = true;
  entries[2].body = std::string(3'000'000, 'x');  // more than is read in one go
  entries[3].body.clear();
  auto const bytes = written(path_of("file"), entries, 3000);
  for (std::size_t const portion : {std::size_t{1} << 20, std::size_t{97}}) {
    auto const loaded = load(bytes, portion);
    ASSERT_EQ(loaded.fault, SnapshotFault::none);
    EXPECT_EQ(loaded.head.purge_number, 99U);
    EXPECT_EQ(loaded.head.highest_epoch, 42U);
    EXPECT_EQ(loaded.head.written.boot, 7U);
    EXPECT_EQ(loaded.head.epochs, 3000U);
    EXPECT_EQ(loaded.head.entries, 300U);
    ASSERT_EQ(loaded.keys.size(), 300U);
    for (std::size_t i = 0; i < 300; ++i) {
      ASSERT_EQ(loaded.keys[i], entries[i].key);
      ASSERT_EQ(loaded.bodies[i], entries[i].body);
    }
    auto const rows = epoch_rows(3000);
    ASSERT_EQ(loaded.epochs.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(loaded.epochs[i].is_floor, rows[i].is_floor);
      ASSERT_EQ(loaded.epochs[i].tag, rows[i].tag);
      ASSERT_EQ(loaded.epochs[i].hard, rows[i].hard);
      ASSERT_EQ(loaded.epochs[i].first_soft, rows[i].first_soft);
      ASSERT_EQ(loaded.epochs[i].soft_at, rows[i].soft_at);
      ASSERT_EQ(loaded.epochs[i].first_soft_at, rows[i].first_soft_at);
    }
  }
}

TEST(Snapshot, AnyFlippedByteCostsOnePieceAtMost) {  // MEM-2
  auto const entries = shapes(4);
  auto const bytes = written(path_of("file"), entries, 3);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    auto const loaded = load(damaged);
    ASSERT_EQ(loaded.fault, SnapshotFault::none) << at;
    ASSERT_EQ(loaded.head.entries, 4U) << at;
    auto const lost = (4 - loaded.keys.size()) + (loaded.epochs.empty() ? 1 : 0);
    ASSERT_EQ(lost, at < 2 * head_size ? 0U : 1U) << at;
  }
}

TEST(Snapshot, OneThatWasCutGivesWhatIsWhole) {  // MEM-2
  auto const entries = shapes(3);
  auto const bytes = written(path_of("file"), entries, 1);
  std::size_t most = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    auto const loaded = load(std::string_view(bytes).substr(0, size), 50);
    if (size >= 2 * head_size) ASSERT_EQ(loaded.fault, SnapshotFault::none) << size;
    ASSERT_EQ(loaded.damaged, 0U) << size;
    ASSERT_GE(loaded.keys.size(), most) << size;
    most = loaded.keys.size();
  }
  EXPECT_EQ(most, 3U);
}

TEST(Snapshot, AForeignFileIsNone) {  // MEM-2
  auto bytes = written(path_of("file"), shapes(2), 1);
  EXPECT_EQ(load("").fault, SnapshotFault::not_a_snapshot);
  EXPECT_EQ(load(std::string(5000, 'x')).fault, SnapshotFault::not_a_snapshot);
  auto newer = bytes;
  newer[8] = newer[head_size + 8] = 2;
  EXPECT_EQ(load(newer).fault, SnapshotFault::other_version);
  EXPECT_TRUE(load(newer).keys.empty());
  for (auto const at : {std::size_t{40}, head_size + 40}) bytes[at] = static_cast<char>(bytes[at] ^ 1);
  EXPECT_EQ(load(bytes).fault, SnapshotFault::damaged);
}

// What an origin sends as a body is never taken for an entry, not even where the reader looks for the next one.
TEST(Snapshot, ABodyCannotPretendToBeAnEntry) {  // MEM-2
  auto evil = shapes(1);
  evil[0].key = "evil";
  auto const other = written(path_of("other"), evil, 0);
  auto entries = shapes(2);
  entries[0].body = other.substr(2 * head_size);
  auto bytes = written(path_of("file"), entries, 0);
  auto const size_at = 2 * head_size + 16;
  bytes[size_at] = static_cast<char>(bytes[size_at] ^ 1);
  EXPECT_EQ(load(bytes).keys, std::vector<std::string>{"key 1"});
}

TEST(Snapshot, WhatIsTooLongIsPassedOver) {  // MEM-2
  auto entries = shapes(3);
  entries[1].body = std::string(10'000, 'x');
  auto const bytes = written(path_of("file"), entries, 0);
  EXPECT_EQ(load(bytes, 1 << 20, 5'000).keys, (std::vector<std::string>{"key 0", "key 2"}));
}

// MEM-2: room is made as bytes come, whatever a frame says will.
TEST(Snapshot, APromiseTakesNoMemory) {
  auto bytes = written(path_of("file"), shapes(1), 0).substr(0, 2 * head_size);
  auto frame = bytes.substr(16, 16) + std::string(16, '\0');
  put(frame, 16, 8, std::uint64_t{1} << 30U | std::uint64_t{'e'} << 56U);
  put(frame, 24, 8, base::checksum(frame.substr(0, 24), {}));
  bytes += frame + "all there is";
  std::size_t most = 0;
  SnapshotReader reader(
      [&](std::span<char> into) {
        most = std::max(most, into.size());
        auto const size = bytes.copy(into.data(), into.size());
        bytes.erase(0, size);
        return size;
      },
      std::size_t{1} << 30U);
  EXPECT_EQ(reader.fault(), SnapshotFault::none);
  EXPECT_EQ(reader.next().kind, SnapshotReader::Piece::Kind::end);
  EXPECT_LE(most, std::size_t{1} << 20U);
}

TEST(Snapshot, AHeadsNumbersAreNumbersOfOurs) {  // MEM-2, PRG-1
  struct Row {
    char const* name;
    std::uint64_t purge_number, highest_epoch;
    SnapshotFault fault;
  };
  constexpr std::uint64_t last = 8'999'999'999'999'999;
  Row const rows[]{
      {"the last there is", last, last, SnapshotFault::none},
      {"one beyond", last + 1, 42, SnapshotFault::damaged},
      {"one before it wraps", std::numeric_limits<std::uint64_t>::max(), 42, SnapshotFault::damaged},
      {"an epoch above all numbers given", 42, 43, SnapshotFault::damaged},
  };
  for (auto const& row : rows)
    EXPECT_EQ(load(written(path_of("file"), shapes(1), 0, row.purge_number, row.highest_epoch)).fault, row.fault)
        << row.name;
}

TEST(Snapshot, EpochsBeyondAllNumbersAreDamage) {  // MEM-2, PRG-1
  constexpr auto beyond = std::uint64_t{9'000'000'000'000'000};
  for (auto const member : {&cache::Epochs::Row::hard, &cache::Epochs::Row::invalid, &cache::Epochs::Row::soft,
                            &cache::Epochs::Row::first_soft}) {
    auto rows = epoch_rows(2);
    for (auto const number : {beyond - 1, beyond}) {
      rows[1].*member = number;
      auto const path = path_of("file");
      SnapshotWriter writer(path, noon);
      writer.add(rows);
      ASSERT_EQ(writer.commit(99, 42), std::error_code());
      EXPECT_EQ(load(bytes_of(path)).epochs.size(), number < beyond ? 2U : 0U);
    }
  }
}

// No clock that was set makes anything younger than it is.
TEST(Snapshot, AbsenceIsTheLongestThatAnyClockTellsOf) {  // MEM-2, FRS-1
  constexpr std::int64_t second = 1'000'000, steady_second = 1'000'000'000;
  struct Row {
    char const* name;
    std::int64_t wall, steady;
    std::uint64_t boot;
    base::Duration absence;
  };
  Row const rows[]{
      {"a minute later", 60, 60, 7, 60s},
      {"the wall clock was set back", -3600, 60, 7, 60s},
      {"the wall clock was set on", 3600, 60, 7, 1h},
      {"another life of the machine", 600, -3500, 8, 600s},
      {"another life, set back, up for 100 s", -600, -3500, 8, 100s},
      {"both went back", -60, -60, 7, 0s},
      {"set on by a thousand years", 31'557'600'000, 60, 7, 24h * 3650},
  };
  for (auto const& row : rows) {
    SCOPED_TRACE(row.name);
    Instant const now{noon.wall + row.wall * second, noon.steady + row.steady * steady_second, row.boot};
    auto const moment = moment_of_writing(noon, now);
    EXPECT_EQ(moment.there, noon.wall);
    EXPECT_EQ(base::SteadyTime(base::Duration(now.steady)) - moment.here, row.absence);
  }
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
  for (auto const a : {lowest, highest})
    for (auto const b : {lowest, highest}) moment_of_writing({a, a, 0}, {b, b, 0});
}

// Files over a bound cannot be written, as on a full disk.
class Full {
 public:
  explicit Full(rlim_t most) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    auto limit = before_;
    limit.rlim_cur = most;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~Full() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before_{};
};

TEST(Snapshot, AFullDiskLeavesTheOldOne) {  // MEM-2
  auto const path = path_of("file");
  auto const before = written(path, shapes(2), 1);
  {
    Full const full(1 << 16);
    cache::MemoryAccount account;
    SnapshotWriter writer(path, noon);
    for (auto const& shape : shapes(1000)) writer.add(*make_entry(account, shape), shape.keep_until);
    EXPECT_NE(writer.commit(1, 1), std::error_code());
    EXPECT_TRUE(writer.failed());
  }
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST(Snapshot, OneThatWasNotCommittedIsGone) {  // MEM-2
  auto const path = path_of("file");
  auto const before = written(path, shapes(2), 1);
  { SnapshotWriter const writer(path, noon); }
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  SnapshotWriter nowhere("/nowhere/at/all", noon);
  EXPECT_EQ(nowhere.commit(1, 1), std::errc::no_such_file_or_directory);
}

TEST(Snapshot, OnlyItsOwnerReadsIt) {  // MEM-2
  auto const path = path_of("file");
  written(path, shapes(1), 0);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

}  // namespace
}  // namespace weir::store
