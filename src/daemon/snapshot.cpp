#include "weir/daemon/snapshot.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "weir/base/hash.hpp"
#include "weir/cache/key.hpp"
#include "weir/observe/log.hpp"

namespace weir::daemon {
namespace {

using cache::Invalidation;

// A disk that takes longer is given up: what is still in the file is stale anyway.
constexpr base::Duration longest_load = std::chrono::minutes(5);
// Writes are remembered for longer than anything is put.
constexpr base::Duration remember_longer = std::chrono::minutes(1);
// Where the memory budget allows more, still.
constexpr std::size_t longest_record = std::size_t{1} << 30U;
// Entries between two looks at whether to give up writing.
constexpr unsigned entries_a_look = 64;
// What variants a key had was bounded when they were stored.
constexpr auto any_variants = std::numeric_limits<std::uint32_t>::max();

store::Instant instant() {
  auto const now = base::read_clock();
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return {std::chrono::duration_cast<std::chrono::microseconds>(now.wall.time_since_epoch()).count(),
          now.steady.time_since_epoch().count(), base::checksum(boot, {})};
}

class File {
 public:
  explicit File(std::string const& path) noexcept : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(File const&) = delete;
  File& operator=(File const&) = delete;

  bool is_open() const noexcept { return descriptor_ >= 0; }
  // 0: the end, or no more can be read, which is the same to whoever counts what is missing.
  std::size_t read(std::span<char> into) const noexcept {
    for (;;) {
      auto const got = ::read(descriptor_, into.data(), into.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return 0;
    }
  }

 private:
  int descriptor_;
};

double seconds_since(base::SteadyTime from) noexcept {
  return std::chrono::duration<double>(base::Clock::now() - from).count();
}

}  // namespace

struct SnapshotKeeper::Loading {
  explicit Loading(std::string const& path, std::size_t longest)
      : file(path), reader([this](std::span<char> into) { return file.read(into); }, longest) {}

  base::SteadyTime const began = base::Clock::now();
  File file;
  store::SnapshotReader reader;
  store::Moment moment;
  store::SnapshotReader::Piece piece;  // the next to be put
  std::uint64_t capacity = 0;
};

SnapshotKeeper::SnapshotKeeper(proxy::Shared& shared, store::MemoryStore& store) : shared_(shared), store_(store) {}

void SnapshotKeeper::load(std::string const& path) {
  if (::access(path.c_str(), F_OK) != 0) return;
  auto const capacity = store_.stats().capacity;
  auto loading =
      std::make_shared<Loading>(path, static_cast<std::size_t>(std::min<std::uint64_t>(capacity, longest_record)));
  auto const refuse = [&](std::string_view why) {
    observe::log_warning("snapshot-not-loaded", {{"file", path}, {"why", why}});
  };
  if (!loading->file.is_open()) return refuse("it cannot be read");
  auto const fault = loading->reader.fault();
  std::error_code unknown_size;
  if (fault == store::SnapshotFault::not_a_snapshot && std::filesystem::file_size(path, unknown_size) > 0)
    foreign_path_ = path;
  if (fault != store::SnapshotFault::none) return refuse(label(fault));
  auto const loaded_path = path + ".loaded";
  if (auto const error = store::move_file(path, loaded_path)) return refuse("it cannot be renamed: " + error.message());
  loaded_path_ = loaded_path;
  loading->capacity = capacity;
  loading->moment = store::moment_of_writing(loading->reader.head().written, instant());
  if (!restore_epochs(*loading)) observe::log_warning("snapshot-epochs-damaged", {{"file", loaded_path}});

  auto const number = shared_.purges.next();
  auto const all = cache::tag_of_all();
  shared_.epochs.add({&all, 1}, Invalidation::soft, number, loading->began);
  loaded_at_number_ = number;
  shared_.snapshot_until.store(loading->began + longest_load + remember_longer, std::memory_order_release);
  loading_.store(true, std::memory_order_release);
  thread_ = std::thread([this, loading] { load_entries(*loading); });
}

// False: some are missing. Then nothing is used that one of them may have overruled. PRG-1: one above the highest number
// that was given would overrule all that is fetched from now on.
bool SnapshotKeeper::restore_epochs(Loading& loading) {
  auto const& head = loading.reader.head();
  shared_.purges.raise_to(head.purge_number);
  std::uint64_t rows = 0;
  for (loading.piece = loading.reader.next(); loading.piece.kind == store::SnapshotReader::Piece::Kind::epochs;
       loading.piece = loading.reader.next()) {
    auto const read = store::read_epochs(loading.piece.bytes, loading.moment);
    if (!read) continue;
    for (auto const& row : *read) {
      if (std::max({row.hard, row.invalid, row.soft, row.first_soft}) > head.purge_number) continue;
      shared_.epochs.restore(row);
      ++rows;
    }
  }
  if (rows >= head.epochs) return true;
  auto const all = cache::tag_of_all();
  shared_.epochs.add({&all, 1}, Invalidation::hard, head.highest_epoch, loading.began);
  return false;
}

// On the thread of its own.
void SnapshotKeeper::load_entries(Loading& loading) noexcept {
  auto const& head = loading.reader.head();
  std::uint64_t seen = 0;
  try {
    for (; loading.piece.kind != store::SnapshotReader::Piece::Kind::end; loading.piece = loading.reader.next()) {
      if (stopping_.load(std::memory_order_relaxed)) break;
      if (base::Clock::now() - loading.began >= longest_load) break;
      if (loading.piece.kind != store::SnapshotReader::Piece::Kind::entry) continue;
      ++seen;
      put(loading.piece.bytes, loading);
    }
  } catch (std::exception const& error) {  // what is left stays in the file
    observe::log_error("snapshot-not-read", {{"file", loaded_path_}, {"why", std::string_view(error.what())}});
  }
  bool const whole = loading.piece.kind == store::SnapshotReader::Piece::Kind::end;
  if (whole && seen < head.entries) count(Restored::damaged, head.entries - seen);
  shared_.snapshot_until.store({}, std::memory_order_release);
  observe::log_info("snapshot-loaded", {{"file", loaded_path_},
                                        {"loaded", restored(static_cast<std::size_t>(Restored::loaded))},
                                        {"expired", restored(static_cast<std::size_t>(Restored::expired))},
                                        {"refused", restored(static_cast<std::size_t>(Restored::refused))},
                                        {"damaged", restored(static_cast<std::size_t>(Restored::damaged))},
                                        {"whole", whole},
                                        {"seconds", seconds_since(loading.began)}});
  loading_.store(false, std::memory_order_release);
}

// Nothing that lives is evicted for it.
void SnapshotKeeper::put(std::string_view record, Loading const& loading) {
  if (shared_.memory.bytes() + record.size() > loading.capacity) return count(Restored::refused);
  auto decoded = store::decode(record, store::key_in(record), 0, loading.moment, shared_.memory);
  // PRG-1: no purge to come may be below it.
  if (!decoded || decoded->entry->facts().purge_number > loading.reader.head().purge_number) return count(Restored::damaged);
  auto const now = base::read_clock();
  if (decoded->keep_until <= now.steady) return count(Restored::expired);
  auto const put = store_.put(std::move(decoded->entry), decoded->keep_until, any_variants, now);
  count(put == store::Put::stored ? Restored::loaded : Restored::refused);
}

void SnapshotKeeper::count(Restored result, std::uint64_t number) noexcept {
  restored_[static_cast<std::size_t>(result)].fetch_add(number, std::memory_order_relaxed);
}

void SnapshotKeeper::stop() noexcept {
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

bool SnapshotKeeper::write(std::string const& path, std::function<bool()> const& give_up) {
  if (path == foreign_path_) {
    observe::log_error("snapshot-not-written", {{"file", path}, {"why", "what stands there is none"}});
    return false;
  }
  auto const began = base::Clock::now();
  store::SnapshotWriter writer(path, instant());
  auto const rows = shared_.epochs.rows();
  writer.add(rows);
  bool given_up = false;
  write_entries(writer, give_up, given_up);
  std::string why = "there was no time for it";
  auto const highest_epoch = shared_.epochs.number();  // before the number that it must not be above
  if (!given_up) why = writer.commit(shared_.purges.current(), highest_epoch).message();
  if (!given_up && !writer.failed()) {
    observe::log_info(
        "snapshot-written",
        {{"file", path}, {"entries", writer.entries()}, {"bytes", writer.bytes()}, {"seconds", seconds_since(began)}});
    ::unlink((path + ".loaded").c_str());  // one that stays is in nobody's way
    return true;
  }
  observe::log_error("snapshot-not-written", {{"file", path}, {"why", why}});
  if (loaded_path_ == path + ".loaded") give_back();
  return false;
}

void SnapshotKeeper::give_back() {
  if (loaded_path_.empty() || shared_.purges.current() != loaded_at_number_) return;
  auto const path = loaded_path_.substr(0, loaded_path_.size() - std::string_view(".loaded").size());
  if (::access(path.c_str(), F_OK) == 0) return;
  if (auto const error = store::move_file(loaded_path_, path))
    observe::log_error("snapshot-not-kept", {{"file", path}, {"why", error.message()}});
}

// What may never be used again without the origin's word is left out: the numbers that say so by key end with this process.
void SnapshotKeeper::write_entries(store::SnapshotWriter& writer, std::function<bool()> const& give_up,
                                   bool& given_up) const {
  auto const now = base::Clock::now();
  unsigned seen = 0;
  store_.visit_kept([&](store::Kept const& kept) {
    if (given_up || writer.failed()) return;
    if (++seen % entries_a_look == 0 && give_up()) given_up = true;
    auto const began = kept.entry->facts().purge_number;
    auto const of_url = shared_.invalidated_urls.number(base::hash_bytes(cache::url_part(kept.entry->key())));
    if (cache::overruled_by_url(kept.overrule, began, of_url).mode < Invalidation::soft || kept.keep_until <= now) return;
    writer.add(*kept.entry, kept.keep_until);
  });
}

}  // namespace weir::daemon
