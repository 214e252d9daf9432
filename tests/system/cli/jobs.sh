#!/usr/bin/env bash
# jobs.sh PROGRAM_DIR PAGE...: runs the sh blocks of pages as sessions (run.sh), each page in a copy
# of examples/data, and compares the output: the comments of these blocks. The line that leads to
# this directory is left out.
set -eu
programs=$(realpath "$1") here=$(realpath "$(dirname "$0")")
shift
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

for page in "$@"; do
  session=$place/$(basename "$page" .md).session
  awk '/^```/ { inside = $0 == "```sh"; next }
    !inside || /; cd examples\/data$/ { next }
    /^# / { print substr($0, 3); next }
    { print "$ " $0 }' "$page" >"$session"
  [[ -s $session ]] || { echo "$page: no sh block"; exit 1; }
done
DATA=$here/../../../examples/data "$here/run.sh" "$programs" "$place"/*.session
