#!/usr/bin/env bash
# jobs.sh PROGRAM_DIR PAGE...: runs the console blocks of pages as sessions (run.sh), each page in a
# directory with the lists of examples/data, and compares the output.
set -eu
programs=$(realpath "$1") here=$(realpath "$(dirname "$0")")
shift
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export BESOM_REDIS=$programs/besom-redis.so

for page in "$@"; do
  session=$place/$(basename "$page" .md).session
  awk '/^```/ { inside = $0 == "```console"; next } inside' "$page" >"$session"
  [[ -s $session ]] || { echo "$page: no console block"; exit 1; }
done
DATA=$here/../../../examples/data "$here/run.sh" "$programs" "$place"/*.session
