# What the scripts of this folder share; each sources it from the root of the tree. Programs come from build/release, where each
# script builds what it wants, or with BUILD=folder in the environment from there, as they are; `work` is a folder in memory that goes at the end, and so do the processes in `pids`.
build=${BUILD:-build/release}
work=$(mktemp -d -p /dev/shm weir-bench.XXXXXX)
chmod 755 "$work"
pids=()
stop_all() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  pids=()
}
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
ulimit -n "$(ulimit -H -n)" 2>/dev/null || true
PATH=$PATH:/usr/sbin

build() { [ -n "${BUILD:-}" ] || cmake --build "$build" --target "$@" >/dev/null; }
fail() { echo "$0: $1" >&2; exit 1; }
machine() {
  echo "$(nproc) cores ($(awk -F': ' '/model name/ {print $2; exit}' /proc/cpuinfo)), $(uname -sr), $(g++ -dumpfullversion) -O2; $(date -u '+%F %H:%M'); load average $(cut -d' ' -f1-3 /proc/loadavg)"
}

# The bytes of an answer: answer FILE BODY_BYTES HEAD_BYTES STATUS_LINE [FIELD...]. Content-Length is added where the status has
# a body; a last field fills the head up to HEAD_BYTES (its blank line not counted), 0: as it is.
answer() {
  local file=$1 body=$2 head_bytes=$3 head="HTTP/1.1 $4"$'\r\n'
  shift 4
  local field
  for field in "$@"; do head+="$field"$'\r\n'; done
  [[ $head == "HTTP/1.1 304"* ]] || head+="Content-Length: $body"$'\r\n'
  if ((head_bytes > ${#head} + 12)); then head+="X-Filler: $(printf "%$((head_bytes - ${#head} - 12))s" "" | tr ' ' a)"$'\r\n'; fi
  { printf '%s\r\n' "$head"; head -c "$body" /dev/zero | tr '\0' x; } >"$file"
}
now_date() { LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT'; }

free_port() { "$build/weir-demo-burst" --free-port; }
wait_for() {
  local _
  for _ in 1 2 3; do if "$build/weir-demo-burst" --wait "127.0.0.1:$1" 2>/dev/null; then return; fi; done
  fail "nothing listens on $1"
}

# A process and its children.
family() { echo "$1"; pgrep -P "$1" || true; }
# User + system CPU of a family, in clock ticks.
ticks() {
  local total=0 pid
  for pid in $(family "$1"); do total=$((total + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12 + $13}'))); done
  echo "$total"
}
# Resident memory of a family, in KiB.
resident() {
  local total=0 pid
  for pid in $(family "$1"); do total=$((total + $(awk '/^VmRSS/ {print $2}' "/proc/$pid/status"))); done
  echo "$total"
}
median() { sort -n | awk '{a[NR] = $1} END {if (NR) print (NR % 2) ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2; else print "-"}'; }
