// What a memory store held, as a file that the next process reads (MEM-2). A head, twice, so that one of the two may be
// damaged; then the epochs; then the entries, each a record with its own checksum (record.hpp). Each piece begins with a
// marker that the file alone knows, so that behind a damaged piece the next is found, and no body can pretend to hold one.
// Both sides hold one piece at a time. Threads: each side belongs to one; may block on the file, so never a worker.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "weir/cache/epochs.hpp"
#include "weir/store/record.hpp"

namespace weir::store {

// The same moment by the wall clock and by base::Clock, which goes on as long as the machine does not start again.
struct Instant {
  std::int64_t wall = 0;    // µs since 1970
  std::int64_t steady = 0;  // ns of base::Clock
  std::uint64_t boot = 0;   // another one for each start of the machine
};

struct SnapshotHead {
  Instant written;
  std::uint64_t purge_number = 0;   // none that was given is higher
  std::uint64_t highest_epoch = 0;  // not above it
  std::uint64_t epochs = 0;         // rows
  std::uint64_t entries = 0;
};

// The moment of writing as `now` sees it: at least as long ago as either clock says, so that no wall clock that was set
// back makes anything younger than it is.
Moment moment_of_writing(Instant const& written, Instant const& now) noexcept;

class SnapshotWriter {
 public:
  // Writes beside `path`, into a file that only its owner reads. `moment`: of writing.
  SnapshotWriter(std::string path, Instant const& written);
  ~SnapshotWriter();  // what was not committed is removed
  SnapshotWriter(SnapshotWriter const&) = delete;
  SnapshotWriter& operator=(SnapshotWriter const&) = delete;

  // All epochs first. After the first error nothing is written any more, and `commit` tells it.
  void add(std::span<cache::Epochs::Row const> epochs);
  void add(cache::StoredResponse const& entry, base::SteadyTime keep_until);
  // All is on the disk and has taken the place of what was at `path`, or nothing has changed there.
  std::error_code commit(std::uint64_t purge_number, std::uint64_t highest_epoch);

  bool failed() const noexcept { return static_cast<bool>(error_); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t entries() const noexcept { return head_.entries; }

 private:
  void add_piece(char kind, std::string_view bytes);
  void write(std::string_view bytes);
  void flush();
  void give_up();

  std::string path_, new_path_;
  Moment moment_;
  SnapshotHead head_;
  std::array<char, 16> marker_{};
  int file_ = -1;
  std::string waiting_;
  std::uint64_t bytes_ = 0, synced_ = 0;
  std::error_code error_;
};

// Takes the place of what is at `to`, durably.
std::error_code move_file(std::string const& from, std::string const& to) noexcept;

enum class SnapshotFault : std::uint8_t { not_a_snapshot, other_version, damaged, none };
std::string_view label(SnapshotFault fault) noexcept;  // "other-version"

class SnapshotReader {
 public:
  // Fills what it is given as far as there is something; 0: the end.
  using Source = std::function<std::size_t(std::span<char> into)>;
  // Reads the head. A piece of more than `longest` bytes is passed over.
  SnapshotReader(Source source, std::size_t longest);

  SnapshotFault fault() const noexcept { return fault_; }
  SnapshotHead const& head() const noexcept { return head_; }

  struct Piece {
    enum class Kind : std::uint8_t { end, epochs, entry } kind = Kind::end;
    std::string_view bytes;  // valid until the next call
  };
  // The next whose frame is sound; damaged ones in between are passed over.
  Piece next();

 private:
  bool has(std::size_t bytes);
  std::string_view unread() const noexcept { return {buffer_.data() + begin_, end_ - begin_}; }
  void read_head();

  Source source_;
  std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0, taken_ = 0;  // taken: of the piece that was given out last
  std::array<char, 16> marker_{};
  SnapshotHead head_;
  SnapshotFault fault_ = SnapshotFault::not_a_snapshot;
};

// Of a piece; nothing if it is damaged.
std::optional<std::vector<cache::Epochs::Row>> read_epochs(std::string_view piece, Moment const& moment);

}  // namespace weir::store
