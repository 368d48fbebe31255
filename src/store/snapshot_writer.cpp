#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <random>
#include <utility>

#include "little_endian.hpp"
#include "snapshot_format.hpp"
#include "weir/base/hash.hpp"
#include "weir/store/snapshot.hpp"

namespace weir::store {
namespace {

// Written in one go; and put on the disk at once, so that the wait at the end is not for all of it.
constexpr std::size_t write_size = std::size_t{1} << 20U;
constexpr std::uint64_t sync_size = std::uint64_t{64} << 20U;

std::error_code last_error() noexcept { return {errno, std::generic_category()}; }

// That a name now means another file is known to its folder only.
std::error_code sync_folder_of(std::string const& path) noexcept {
  auto const slash = path.rfind('/');
  std::string const folder = slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  int const file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return last_error();
  std::error_code const error = ::fsync(file) == 0 ? std::error_code() : last_error();
  ::close(file);
  return error;
}

std::string encode_head(SnapshotHead const& head, std::string_view marker) {
  std::string out(snapshot::magic);
  append_number(out, snapshot::version);
  out.append(snapshot::marker_at - out.size(), '\0');
  out.append(marker);
  append_number(out, head.written.wall);
  append_number(out, head.written.steady);
  for (auto const number : {head.written.boot, head.purge_number, head.highest_epoch, head.epochs, head.entries})
    append_number(out, number);
  append_number(out, base::checksum(out, {}));
  return out + out;
}

}  // namespace

std::error_code move_file(std::string const& from, std::string const& to) noexcept {
  if (::rename(from.c_str(), to.c_str()) != 0) return last_error();
  return sync_folder_of(to);
}

SnapshotWriter::SnapshotWriter(std::string path, Instant const& written)
    : path_(std::move(path)),
      new_path_(path_ + ".new"),
      moment_{base::SteadyTime(base::Duration(written.steady)), written.wall} {
  head_.written = written;
  std::random_device random;
  for (char& byte : marker_) byte = static_cast<char>(random() & 0xFFU);
  file_ = ::open(new_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file_ < 0) error_ = last_error();
  waiting_.reserve(2 * write_size);
  waiting_.assign(2 * snapshot::head_size, '\0');  // the head's place, until all is known
}

SnapshotWriter::~SnapshotWriter() { give_up(); }

void SnapshotWriter::give_up() {
  if (file_ < 0) return;
  ::close(std::exchange(file_, -1));
  ::unlink(new_path_.c_str());
}

void SnapshotWriter::add(std::span<cache::Epochs::Row const> epochs) {
  for (; !epochs.empty(); epochs = epochs.subspan(std::min(epochs.size(), snapshot::rows_a_piece))) {
    std::string piece;
    for (auto const& row : epochs.first(std::min(epochs.size(), snapshot::rows_a_piece))) {
      for (auto const number : {std::uint64_t{row.is_floor}, row.tag, row.hard, row.invalid, row.soft, row.first_soft})
        append_number(piece, number);
      append_number(piece, to_there(moment_, row.soft_at));
      append_number(piece, to_there(moment_, row.first_soft_at));
      ++head_.epochs;
    }
    append_number(piece, base::checksum(piece, {}));
    add_piece(snapshot::epochs, piece);
  }
}

void SnapshotWriter::add(cache::StoredResponse const& entry, base::SteadyTime keep_until) {
  if (failed()) return;
  add_piece(snapshot::entry, encode(entry, keep_until, moment_));
  ++head_.entries;
}

void SnapshotWriter::add_piece(char kind, std::string_view bytes) {
  std::string frame(marker_.data(), marker_.size());
  append_number(frame,
                std::uint64_t{bytes.size()} | std::uint64_t{static_cast<unsigned char>(kind)} << snapshot::kind_shift);
  append_number(frame, base::checksum(frame, {}));
  write(frame);
  write(bytes);
}

void SnapshotWriter::write(std::string_view bytes) {
  if (failed()) return;
  waiting_.append(bytes);
  if (waiting_.size() >= write_size) flush();
}

void SnapshotWriter::flush() {
  std::string_view rest = waiting_;
  while (!rest.empty() && !failed()) {
    auto const written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) error_ = last_error();
    if (written <= 0) continue;
    rest.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += static_cast<std::uint64_t>(written);
  }
  waiting_.clear();
  if (failed() || bytes_ - synced_ < sync_size) return;
  if (::fdatasync(file_) != 0) error_ = last_error();
  synced_ = bytes_;
}

std::error_code SnapshotWriter::commit(std::uint64_t purge_number, std::uint64_t highest_epoch) {
  flush();
  head_.purge_number = purge_number;
  head_.highest_epoch = highest_epoch;
  auto const head = encode_head(head_, {marker_.data(), marker_.size()});
  auto const put_head = [&] { return ::pwrite(file_, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()); };
  if (!failed() && (!put_head() || ::fsync(file_) != 0)) error_ = last_error();
  if (!failed()) error_ = move_file(new_path_, path_);
  if (!failed()) ::close(std::exchange(file_, -1));
  give_up();
  return error_;
}

}  // namespace weir::store
