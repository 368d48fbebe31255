// MEM-2: what the memory store holds, over a restart. Written when no worker runs any more, read by a thread of its own
// while they run. Everything that comes out of it is soft-stale: one epoch for all, made before the first worker starts,
// overrules what began before, so that it is served stale as its own windows allow and is validated.
//
// A snapshot is good for one start: as soon as it is read its name gets `.loaded` behind it. Whatever is purged or written
// to from then on is not in it, and a process that dies must not bring that back. It gets its name back only where nothing
// was, and the new one could not be written. Owner: the daemon. Threads: `load`, `write` and `stop` from the owner's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "weir/proxy/context.hpp"
#include "weir/store/memory_store.hpp"
#include "weir/store/snapshot.hpp"

namespace weir::daemon {

enum class Restored : std::uint8_t { loaded, expired, refused, damaged };  // the metric's label
inline constexpr std::size_t restored_count = 4;

class SnapshotKeeper {
 public:
  // What it refers to outlives it.
  SnapshotKeeper(proxy::Shared& shared, store::MemoryStore& store);
  ~SnapshotKeeper() { stop(); }
  SnapshotKeeper(SnapshotKeeper const&) = delete;
  SnapshotKeeper& operator=(SnapshotKeeper const&) = delete;

  // Before the first worker runs. Reads the head and the epochs, and starts the thread for the rest. A snapshot that is not
  // there or no good is none: Weir starts cold.
  void load(std::string const& path);
  bool loading() const noexcept { return loading_.load(std::memory_order_acquire); }
  // The rest stays unread.
  void stop() noexcept;
  // Nothing runs any more, and nobody can purge. `give_up` is asked now and then. False: it was not written, for a reason
  // that is in the log, and what stood at `path` is still there.
  bool write(std::string const& path, std::function<bool()> const& give_up);
  // What was loaded gets its name back, for the next start, if nothing was purged or written to since.
  void give_back();

  std::uint64_t restored(std::size_t result) const noexcept { return restored_[result].load(std::memory_order_relaxed); }

 private:
  struct Loading;
  bool restore_epochs(Loading& loading);
  void load_entries(Loading& loading) noexcept;
  void put(std::string_view record, Loading const& loading);
  void count(Restored result, std::uint64_t number = 1) noexcept;
  void write_entries(store::SnapshotWriter& writer, std::function<bool()> const& give_up, bool& given_up) const;

  proxy::Shared& shared_;
  store::MemoryStore& store_;
  std::string loaded_path_;             // of what was loaded, under its new name; empty: nothing was
  std::uint64_t loaded_at_number_ = 0;  // nothing was purged or written to as long as this is the current one
  std::array<std::atomic<std::uint64_t>, restored_count> restored_{};
  std::atomic<bool> loading_{false}, stopping_{false};
  std::thread thread_;
  std::string foreign_path_;  // somebody else's file, which is not written over; empty: none
};

}  // namespace weir::daemon
