#!/usr/bin/env bash
# cli_speed.sh [LINES]: measures besom build and besom query with LINES lines (default 10 million) of
# 20 bytes, from the page cache. Prints million keys per second of one core, the best of three runs, and
# the memory of the build. CPU time is measured, because other load on the machine affects it less.
set -eu
lines=${1-10000000}
besom=$(realpath "$(dirname "$0")/../build/besom")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

echo "writing $lines lines" >&2
seq -f 'key-%015.0f' 1 "$lines" >set.txt
seq -f 'key-%015.0f' $((lines / 2 + 1)) $((lines + lines / 2)) >stream.txt

# best COMMAND...: the shortest of three runs, in CPU seconds.
best() {
  local i TIMEFORMAT='%U %S'
  for i in 1 2 3; do
    { time "$@" >/dev/null 2>>"$place/stderr"; } 2>&1
  done | awk '{ print $1 + $2 }' | sort -n | head -1
}

speed() { awk -v n="$lines" -v s="$2" -v name="$1" 'BEGIN { printf "%-22s %5.1f M keys/s  (%.2f s)\n", name, n / s / 1e6, s }'; }

speed "besom build" "$(best "$besom" build set.besom --yes set.txt)"
speed "besom query --count" "$(best "$besom" query set.besom stream.txt --count)"
speed "besom query" "$(best "$besom" query set.besom stream.txt)"

# Peak memory of the build, as the kernel reports it.
"$besom" build set.besom --yes set.txt 2>/dev/null &
build=$!
most=0
while read -r _ now _ < <(grep VmHWM "/proc/$build/status" 2>/dev/null); do
  most=$now
  sleep 0.02
done
wait "$build"
awk -v kb="$most" -v n="$lines" -v size="$(stat -c %s set.besom)" 'BEGIN {
  printf "memory of the build    %5.0f MB: %.1f bytes per key in addition to the filter\n", kb / 1024, (kb * 1024 - size) / n }'
