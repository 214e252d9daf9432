#!/usr/bin/env bash
# large.sh BESOM DIR KEYS CHANGED [KIND]: publishes KEYS synthetic keys of 32 characters, then the
# next day, with CHANGED keys in and CHANGED out, and syncs a copy. Prints sizes, times and memory
# (docs/publish.md). 10^9 keys take 35 GB of disk in DIR and an hour. The script of the large run:
# no test.
set -euo pipefail
besom=$1 dir=$2 keys=$3 changed=$4 kind=${5:-updated}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
cc -O2 -o "$dir/key_stream" "$here/key_stream.c"
cat >"$dir/set.key" <<'KEY'
untrusted comment: key of a test
RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKWmvLE61RyWhfukdaEJldCLgMN+73jfrRxDlwbIuhA5VEEGHzTKphbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcNAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
KEY
public=RWQpaa8sTrVHJbX2FHbiJEXLYaDQJpxtJG6ELsf0OwNcfAzgCMKDQNcN

measured() { # NAME COMMAND...: seconds, processor seconds, memory
  local name=$1
  shift
  /usr/bin/env python3 - "$name" "$@" <<'PY'
import resource, subprocess, sys, time
start = time.time()
code = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%s: %.0f s, %.0f s of processor time, %.2f GB of memory, exit code %d" % (
    sys.argv[1], time.time() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20, code), flush=True)
sys.exit(code if code > 1 else 0)
PY
}

day() { # NUMBER FROM TO
  mkfifo "$dir/keys"
  "$dir/key_stream" "$2" "$3" >"$dir/keys" &
  measured "publish, day $1" "$besom" publish "$dir/www" --key "$dir/set.key" --name large --kind "$kind" \
    --sequence "$1" --yes "$dir/keys"
  rm "$dir/keys"
  measured "sync, day $1" "$besom" sync "$dir/www" "$dir/local" --verify "$public" --name large
}

asked() { # NAME FROM TO STRIDE: how many of these keys the copy answers yes
  local n
  n=$("$dir/key_stream" "$2" "$3" "$4" | "$besom" query "$dir/local" --count || true)
  echo "$1: $n of $((($3 - $2 + $4 - 1) / $4)) are answered yes"
}

day 1 0 "$keys"
day 2 "$changed" $((keys + changed))
"$besom" info "$dir/local"
asked "members, a sample" "$changed" $((keys + changed)) 101
asked "new keys" "$keys" $((keys + changed)) 1
asked "keys that left" 0 "$changed" 1
asked "absent keys" $((2 * keys)) $((2 * keys + 10000000)) 1
