#!/usr/bin/env bash
# real_lists.sh PROGRAM_DIR SOURCE_DIR: real lists from end to end. Domains of phishing must be blocked, popular ones and
# the names of packages must not: every key of both is asked. Exits with 77, which is no failure, if they cannot be had.
set -eu -o pipefail
besom=$(realpath "$1")/besom
source=$(realpath "$2")
lists=$source/data/lists
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

if [[ ! -e $lists/phishing.txt || ! -e $lists/no.txt ]]; then
  lists=$place/lists
  "$source/bench/fetch_data.sh" -d "$lists" blocklist popular npm >"$place/log" 2>&1 || {
    echo "skipped: the lists could not be fetched: $(tail -1 "$place/log")"
    exit 77
  }
fi

cd "$place"
expect() { # COUNT FILE
  local count
  count=$("$besom" query list.besom "$2" --count || true)
  [[ $count == "$1" ]] || {
    echo "$2: $count keys are answered yes, not $1"
    exit 1
  }
}

size() { wc -l <"$1"; }
(($(size "$lists/phishing.txt") > 10000 && $(size "$lists/no.txt") > 100000)) || {
  echo "the lists are too short: has a package changed?"
  exit 1
}
"$besom" build list.besom --yes "$lists/phishing.txt" --no "$lists/no.txt"
"$besom" verify list.besom
expect "$(size "$lists/phishing.txt")" "$lists/phishing.txt"
expect 0 "$lists/no.txt"

# A list of tomorrow, a hundredth of it changed, shipped as a patch.
awk 'NR % 100' "$lists/phishing.txt" >fresh.txt
"$besom" build old.besom --yes "$lists/phishing.txt"
"$besom" build new.besom --like old.besom --yes fresh.txt
"$besom" delta old.besom new.besom patch
"$besom" apply old.besom patch made.besom
cmp made.besom new.besom
