#!/usr/bin/env bash
# real_lists.sh PROGRAM_DIR SOURCE_DIR: builds and queries filters of real lists. Phishing domains
# must be blocked; popular domains and package names must not. Every key of both lists is queried.
# Exits with 77 (test skipped) if the lists cannot be fetched.
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
    echo "$2: $count keys are answered yes, expected $1"
    exit 1
  }
}

size() { wc -l <"$1"; }
(($(size "$lists/phishing.txt") > 10000 && $(size "$lists/no.txt") > 100000)) || {
  echo "the lists are too short: did a package change?"
  exit 1
}
"$besom" build list.besom --yes "$lists/phishing.txt" --no "$lists/no.txt"
"$besom" verify list.besom
expect "$(size "$lists/phishing.txt")" "$lists/phishing.txt"
expect 0 "$lists/no.txt"

# An update that removes one key in a hundred, shipped as a patch.
awk 'NR % 100' "$lists/phishing.txt" >fresh.txt
"$besom" build old.besom --yes "$lists/phishing.txt"
"$besom" build new.besom --like old.besom --yes fresh.txt
"$besom" diff old.besom new.besom patch
"$besom" patch old.besom patch made.besom
cmp made.besom new.besom
