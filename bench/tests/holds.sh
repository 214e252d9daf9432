#!/usr/bin/env bash
# holds.sh BENCH CLAIM: puts a claim to the test; fails, and prints its numbers, unless it holds.
set -eu
numbers=$("$1" run "$2" --csv)
grep -q '^# verdict: holds$' <<<"$numbers" && exit
echo "$numbers" >&2
exit 1
