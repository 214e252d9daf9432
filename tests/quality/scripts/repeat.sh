#!/usr/bin/env bash
# repeat.sh SUITE N [CTEST OPTION...]: runs every quick test N times, then N times again while all
# cores are busy with something else. A test that fails once is listed, and the exit code is 1. Such
# a test is mended, not repeated until it passes.
set -eu
suite=$1 times=$2
shift 2

load=()
trap 'kill "${load[@]}" 2>/dev/null || true' EXIT

# repeat LOG OPTION...
repeat() {
  local log=$1
  shift
  ctest --test-dir "$suite" --repeat "until-fail:$times" --output-on-failure --no-tests=error \
    -L quick "$@" >"$log" 2>&1 && return
  sed -n '/tests FAILED/,$p' "$log"
  echo "The output is in $log."
  return 1
}

code=0
echo "$times times, idle"
repeat "$suite/repeat-idle.log" -j"$(nproc)" "$@" || code=1
for ((i = 0; i < $(nproc); i++)); do
  while :; do :; done &
  load+=($!)
done
echo "$times times, with $(nproc) cores busy"
repeat "$suite/repeat-busy.log" -j"$(nproc)" "$@" || code=1
exit $code
