#!/usr/bin/env bash
# cli_speed.sh [LINES [BESOM_BEFORE]]: measures besom build and besom query with LINES lines (default 10
# million) of 20 bytes, from the page cache, and the memory of the build. With the besom command of an
# earlier commit, compares with it: both run in turns. Then, with a tenth of the lines, what other
# tools need to find the lines of one file that are in another. Prints CPU seconds of one core, the best
# of three runs: other load on the machine affects CPU time less than elapsed time.
set -eu
lines=${1-10000000}
before=${2:+$(realpath "$2")}
besom=$(realpath "$(dirname "$0")/../build/besom")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

echo "writing $lines lines" >&2
write_lines() { # N
  seq -f 'key-%015.0f' 1 "$1" >set.txt
  seq -f 'key-%015.0f' $(($1 / 2 + 1)) $(($1 + $1 / 2)) >stream.txt
}
write_lines "$lines"

# seconds COMMAND...: of one run, in CPU time, with that of children.
seconds() {
  local TIMEFORMAT='%U %S'
  { time "$@" >/dev/null 2>>"$place/stderr"; } 2>&1 | awk '{ print $1 + $2 }'
}

least() { sort -n "$1" | head -1; }

# compare NAME ARGUMENTS...: of besom, in turns with the earlier one.
compare() {
  local name=$1 i
  shift
  rm -f now then
  for i in 1 2 3; do
    if [[ $before ]]; then seconds "$before" "$@" >>then; fi
    seconds "$besom" "$@" >>now
  done
  awk -v n="$lines" -v s="$(least now)" -v then="$([[ $before ]] && least then)" -v name="$name" 'BEGIN {
    printf "%-22s %5.1f M keys/s  (%.2f s)", name, n / s / 1e6, s
    if (then) printf "  %.2f of %.2f s before", s / then, then
    print "" }'
}

compare "besom build" build set.besom --yes set.txt
compare "besom query --count" query set.besom stream.txt --count
compare "besom query" query set.besom stream.txt

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

# Other tools, with a tenth of the lines. Each prepares its own form of the set first.
lines=$((lines / 10))
write_lines "$lines"
with_comm() { LC_ALL=C comm -12 <(LC_ALL=C sort set.txt) <(LC_ALL=C sort stream.txt); }
load_sqlite() {
  rm -f set.db
  sqlite3 set.db "create table t(k text primary key) without rowid" ".mode tabs" ".import set.txt t"
}
query_sqlite() {
  sqlite3 set.db "create temp table q(k text)" ".mode tabs" ".import stream.txt q" \
    "select count(*) from q where k in (select k from t)"
}
row() { printf '%-34s %6.2f s\n' "$1" "$2"; }
echo "$lines lines in a set of $lines lines:"
row "besom build" "$(seconds "$besom" build set.besom --yes set.txt)"
row "besom query" "$(seconds "$besom" query set.besom stream.txt)"
row "sort | comm" "$(seconds with_comm)"
row "grep -F -x -f" "$(seconds grep -F -x -f set.txt stream.txt)"
if command -v sqlite3 >/dev/null; then
  row "sqlite3: load with an index" "$(seconds load_sqlite)"
  row "sqlite3: load queries and join" "$(seconds query_sqlite)"
fi
