#!/usr/bin/env bash
# redis_speed.sh [MODULE [SERVER]]: compares AF.ADD with SADD and AF.EXISTS with SISMEMBER in one
# server, by redis-benchmark -P 16. The commands alternate, and the best of five rounds counts. Then
# it measures commands with 100 items each, and the memory of a large filter.
# Environment: REQUESTS (per round, default 500000), ITEMS (of the large filter, default 10000000).
set -eu -o pipefail

module=$(realpath "${1-build/besom-redis.so}")
server=${2-redis-server}
requests=${REQUESTS-500000}
items=${ITEMS-10000000}

dir=$(mktemp -d)
port=$((20000 + RANDOM % 20000))
"$server" --port $port --bind 127.0.0.1 --dir "$dir" --save '' --appendonly no \
  --loadmodule "$module" --logfile "$dir/log" &
pid=$!
trap 'kill $pid; wait $pid; rm -rf "$dir"' EXIT
cli() { redis-cli -p $port "$@"; }
until cli ping >/dev/null 2>&1; do sleep 0.1; done

# Requests per second of a command. __rand_int__ is a random number below a million.
throughput() {
  redis-benchmark -p $port -P 16 -n "$1" -r 1000000 --csv "${@:2}" |
    tail -1 | cut -d, -f2 | tr -d '"'
}

declare -A best
measure() {
  local got
  got=$(throughput "$requests" "${@:2}")
  best[$1]=$(awk -v a="${best[$1]-0}" -v b="$got" 'BEGIN { print (a + 0 > b + 0) ? a : b }')
}
ratio() { awk -v a="${best[$1]}" -v b="${best[$2]}" 'BEGIN { printf "%.2f", a / b }'; }

cli af.reserve filter 0.01 20000000 >/dev/null
for _ in 1 2 3 4 5; do
  measure SADD sadd set __rand_int__
  measure AF.ADD af.add filter __rand_int__
done
for _ in 1 2 3 4 5; do
  measure SISMEMBER sismember set __rand_int__
  measure AF.EXISTS af.exists filter __rand_int__
done
for name in SADD AF.ADD SISMEMBER AF.EXISTS; do
  printf '%-12s %10.0f requests per second\n' "$name" "${best[$name]}"
done
echo "AF.ADD / SADD          $(ratio AF.ADD SADD)   (target: at least 0.8; in server CPU time see below)"
echo "AF.EXISTS / SISMEMBER  $(ratio AF.EXISTS SISMEMBER)   (target: at least 0.9; in server CPU time see below)"

python3 "$(dirname "$0")/redis_batches.py" $port

# Memory: the increase of used_memory, divided by the size that AF.INFO reports.
cli flushall >/dev/null
used() { cli info memory | sed -nE 's/^used_memory:([0-9]+).*/\1/p'; }
before=$(used)
cli af.reserve large 0.01 "$items" NONSCALING >/dev/null
seq "$items" | awk '{ line = line " " $1 } NR % 1000 == 0 { print "af.madd large" line; line = "" }' |
  redis-cli -p $port >/dev/null
after=$(used)
size=$(cli af.info large size)
awk -v a=$((after - before)) -v b="$size" -v n="$(cli af.card large)" 'BEGIN {
  printf "%d items: used_memory grows by %.1f MB, the filter has %.1f MB", n, a / 1e6, b / 1e6
  printf ", ratio %.3f   (target: at most 1.1)\n", a / b }'
