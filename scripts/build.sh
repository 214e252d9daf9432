#!/usr/bin/env bash
# build.sh DIRECTORY JOBS: configures the release in DIRECTORY and builds it, with one line of progress.
# Warnings and errors are shown as they are. VERBOSE=1 shows everything.
set -eu -o pipefail
configure=(cmake -S . -B "$1")
build=(cmake --build "$1" "-j$2")
if [[ ${VERBOSE-} ]]; then
  "${configure[@]}"
  exec "${build[@]}"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "${configure[@]}" >"$log" 2>&1; then
  cat "$log"
  exit 1
fi
sed -n '/Left out:/,/^-- [A-Z]/p' "$log" | sed -n '/Left out:\|^--   /p' # what was not found, and what would bring it

terminal=0
if [[ -t 1 ]]; then terminal=1; fi
# Lines of progress begin with [ 12%]. On a terminal each replaces the one before it.
"${build[@]}" 2>&1 | awk -v terminal="$terminal" '
  /^\[ *[0-9]+%\]/ {
    percent = substr($0, 2, 3) + 0
    if (terminal) printf "\r%3d %% built", percent
    else if (percent >= next_told) { printf "%3d %% built\n", percent; next_told = percent + 25 }
    fflush()
    next
  }
  /^(gmake|make)\[[0-9]+\]: (Entering|Leaving)/ || /^Consolidate|^Scanning|^--/ { next }
  { if (terminal) printf "\r"; print }
  END { if (terminal) print "" }'
