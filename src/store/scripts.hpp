// The Lua that runs in the Valkey server: whatever must be one step among all nodes (STO-6, KEY-6, SRV-6, PRG-1). Loaded by
// every link when it connects. Threads: any, constant.
//
// A key record is JSON: n, m, u (an invalidation's number and mode, and until when it is remembered), h (until when a marker
// stands), v (variants by name: {u: until, s: last stored, f: names of its Vary, blanks between}). Times in ms of the
// server. A key without any of these has no record: only what is stored under the variant "-".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir::store {

struct Script {
  explicit Script(std::string_view lua);
  std::string_view text;
  std::string sha1;  // hex: EVALSHA's name for it
};

// KEYS: key record, stored record, counter, and where more than the URL is keyed the URL's record, which tells what
// invalidated it for as long as something of it is stored. ARGV: purge number, request time (µs), stored record, its life
// (ms), variant, names of its Vary, most variants. 1: stored; 0: one that began later is there; -1: overruled.
extern Script const put_script;
// KEYS: key record. ARGV: until when the marker stands (ms).
extern Script const mark_script;
// KEYS: counter, key record. ARGV: highest number known here, mode, how long it is remembered (ms). The new number.
extern Script const invalidate_script;
// KEYS: counter, newest epoch, epochs, floor, times. ARGV: highest number known here, mode, most epochs, channel, tags
// (hex). The new number.
extern Script const purge_script;
// KEYS: as before. ARGV: number already applied, most. The newest epoch's number, the floor's for each mode, then for each
// epoch beyond: mode and tag, number, time (µs); in order of their numbers.
extern Script const epochs_script;

// COA-11. KEYS: lease. ARGV: token, life (ms). 1: it is still its owner's.
extern Script const renew_script;
// KEYS: lease. ARGV: token, channel, what is announced: by its owner, or if somebody else's it is by now, unless "released".
extern Script const release_script;

std::span<Script const* const> scripts();

}  // namespace weir::store
