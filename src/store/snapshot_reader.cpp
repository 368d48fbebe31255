#include <algorithm>
#include <utility>

#include "little_endian.hpp"
#include "number_limit.hpp"
#include "snapshot_format.hpp"
#include "weir/base/hash.hpp"
#include "weir/store/snapshot.hpp"

namespace weir::store {
namespace {

// What is read in one go, and kept while pieces are small.
constexpr std::size_t usual_size = std::size_t{256} * 1024;
// Whoever comes back after longer finds nothing that could still be used; and no sum of times overflows.
constexpr base::Duration longest_absence = std::chrono::hours(24 * 3650);

struct HeadCopy {
  SnapshotFault fault = SnapshotFault::damaged;
  SnapshotHead head;
};

HeadCopy decode_head(std::string_view bytes) noexcept {
  if (!bytes.starts_with(snapshot::magic)) return {SnapshotFault::not_a_snapshot, {}};
  if (read_number<std::uint8_t>(bytes, snapshot::version_at) != snapshot::version) return {SnapshotFault::other_version, {}};
  auto const checked = snapshot::head_size - sizeof(std::uint64_t);
  if (read_number<std::uint64_t>(bytes, checked) != base::checksum(bytes.substr(0, checked), {})) return {};
  HeadCopy copy{SnapshotFault::none, {}};
  auto at = snapshot::numbers_at;
  auto const number = [&] { return read_number<std::uint64_t>(bytes, std::exchange(at, at + sizeof(std::uint64_t))); };
  copy.head.written.wall = static_cast<std::int64_t>(number());
  copy.head.written.steady = static_cast<std::int64_t>(number());
  copy.head.written.boot = number();
  copy.head.purge_number = number();
  copy.head.highest_epoch = number();
  copy.head.epochs = number();
  copy.head.entries = number();
  // PRG-1: the next number must be above all others.
  if (copy.head.purge_number >= number_limit || copy.head.highest_epoch > copy.head.purge_number) return {};
  return copy;
}

}  // namespace

std::string_view label(SnapshotFault fault) noexcept {
  switch (fault) {
    case SnapshotFault::not_a_snapshot:
      return "not-a-snapshot";
    case SnapshotFault::other_version:
      return "other-version";
    case SnapshotFault::damaged:
      return "damaged";
    case SnapshotFault::none:
      return "none";
  }
  return "damaged";
}

Moment moment_of_writing(Instant const& written, Instant const& now) noexcept {
  auto const difference = [](std::int64_t later, std::int64_t earlier) {
    std::int64_t out = 0;
    return __builtin_sub_overflow(later, earlier, &out) ? std::int64_t{0} : out;
  };
  // In another life of the machine at least the time since its start has passed.
  base::Duration absence(written.boot == now.boot ? difference(now.steady, written.steady) : now.steady);
  auto const by_wall = std::chrono::microseconds(difference(now.wall, written.wall));
  if (by_wall >= std::chrono::duration_cast<std::chrono::microseconds>(longest_absence))
    absence = longest_absence;
  else if (by_wall > absence)
    absence = by_wall;
  absence = std::clamp(absence, base::Duration::zero(), longest_absence);
  return {base::SteadyTime(base::Duration(now.steady) - absence), written.wall};
}

SnapshotReader::SnapshotReader(Source source, std::size_t longest)
    : source_(std::move(source)), longest_(longest), buffer_(usual_size) {
  read_head();
}

void SnapshotReader::read_head() {
  has(2 * snapshot::head_size);
  for (auto const at : {std::size_t{0}, snapshot::head_size}) {
    auto const bytes = unread().substr(std::min(at, unread().size()), snapshot::head_size);
    auto const copy = bytes.size() < snapshot::head_size ? HeadCopy{SnapshotFault::not_a_snapshot, {}} : decode_head(bytes);
    if (at == 0 || copy.fault == SnapshotFault::none) fault_ = copy.fault;
    if (copy.fault != SnapshotFault::none) continue;
    head_ = copy.head;
    bytes.copy(marker_.data(), marker_.size(), snapshot::marker_at);
    break;
  }
  taken_ = std::min(2 * snapshot::head_size, unread().size());
}

// Whether so many bytes are there, or all that was left is less.
bool SnapshotReader::has(std::size_t bytes) {
  if (end_ - begin_ >= bytes) return true;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= std::exchange(begin_, 0);
  auto const room = std::max(bytes, usual_size);
  if (buffer_.size() > room && end_ <= room) {
    buffer_.resize(room);
    buffer_.shrink_to_fit();
  }
  while (end_ < bytes) {
    // MEM-2: room for as much again as has come, and not for all that a frame promises.
    if (end_ == buffer_.size()) buffer_.resize(std::min(bytes, 2 * end_));
    auto const got = source_(std::span(buffer_).subspan(end_));
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

SnapshotReader::Piece SnapshotReader::next() {
  begin_ += std::exchange(taken_, 0);
  if (fault_ != SnapshotFault::none) return {};
  std::string_view const marker(marker_.data(), marker_.size());
  while (has(snapshot::frame_size)) {
    auto const frame = unread().substr(0, snapshot::frame_size);
    auto const checked = frame.substr(0, snapshot::frame_size - sizeof(std::uint64_t));
    bool const sound =
        frame.starts_with(marker) && read_number<std::uint64_t>(frame, checked.size()) == base::checksum(checked, {});
    auto const word = read_number<std::uint64_t>(frame, snapshot::marker_size);
    auto const size = word & ((std::uint64_t{1} << snapshot::kind_shift) - 1);
    auto const kind = static_cast<char>(word >> snapshot::kind_shift);
    if (sound && size <= longest_) {
      auto const whole = snapshot::frame_size + static_cast<std::size_t>(size);
      if (!has(whole)) return {};  // it was cut here
      taken_ = whole;
      auto const bytes = unread().substr(snapshot::frame_size, static_cast<std::size_t>(size));
      return {kind == snapshot::entry ? Piece::Kind::entry : Piece::Kind::epochs, bytes};
    }
    // On to the next marker; its first bytes may stand at the end of what is here.
    auto const found = unread().find(marker, 1);
    begin_ = found != std::string_view::npos ? begin_ + found : end_ - (marker.size() - 1);
  }
  return {};
}

std::optional<std::vector<cache::Epochs::Row>> read_epochs(std::string_view piece, Moment const& moment) {
  if (piece.size() < sizeof(std::uint64_t)) return std::nullopt;
  auto const rows = piece.substr(0, piece.size() - sizeof(std::uint64_t));
  if (rows.size() % snapshot::row_size != 0) return std::nullopt;
  if (read_number<std::uint64_t>(piece, rows.size()) != base::checksum(rows, {})) return std::nullopt;
  std::vector<cache::Epochs::Row> out;
  out.reserve(rows.size() / snapshot::row_size);
  for (std::size_t at = 0; at < rows.size(); at += snapshot::row_size) {
    auto const number = [&](std::size_t index) { return read_number<std::uint64_t>(rows, at + 8 * index); };
    auto const time = [&](std::size_t index) { return to_here(moment, static_cast<std::int64_t>(number(index))); };
    out.push_back({number(0) != 0, number(1), number(2), number(3), number(4), number(5), time(6), time(7)});
    auto const& row = out.back();
    if (std::max({row.hard, row.invalid, row.soft, row.first_soft}) >= number_limit) return std::nullopt;
  }
  return out;
}

}  // namespace weir::store
