#!/usr/bin/env bash
# shared_symbols.sh LIBRARY LIST [--update]: the shared library exports exactly the symbols of LIST,
# and all of them begin with besom_. With --update, writes LIST.
set -eu

# LC_ALL: the same order in every locale.
exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | LC_ALL=C sort; }

if [[ ${3-} == --update ]]; then
  exported "$1" >"$2"
elif ! diff "$2" <(exported "$1"); then
  echo "The exported symbols (>) differ from those of $2 (<)."
  echo "If the change of the public API is intended, run: make symbols"
  exit 1
fi

if grep -v '^besom_' "$2"; then
  echo "These exported symbols do not begin with besom_."
  exit 1
fi
