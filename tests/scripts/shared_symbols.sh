#!/usr/bin/env bash
# shared_symbols.sh LIBRARY LIST [--update]: the shared library exports what LIST says, and only besom_ names.
set -eu

# LC_ALL: the same order everywhere.
exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort; }

if [[ ${3-} == --update ]]; then
  exported "$1" >"$2"
elif ! diff "$2" <(exported "$1"); then
  echo "The exported symbols (>) are not those of $2 (<)."
  echo "If the public API was meant to change: make symbols"
  exit 1
fi

if grep -v '^besom_' "$2"; then
  echo "These exported symbols do not begin with besom_."
  exit 1
fi
