#!/usr/bin/env bash
# holds.sh BENCH CLAIM: tests a claim. Fails and prints its numbers unless it holds.
set -eu
numbers=$("$1" run "$2" --csv)
grep -q '^# verdict: holds$' <<<"$numbers" && exit
echo "$numbers" >&2
exit 1
