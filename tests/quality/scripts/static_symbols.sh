#!/usr/bin/env bash
# static_symbols.sh LIBRARY: a static library shares the name space of its user, so all of its
# global symbols begin with besom_, internal ones (besom__) included.
set -eu

if nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | grep -v '^besom_'; then
  echo "These global symbols of $1 do not begin with besom_: make them static or rename them to besom__..."
  exit 1
fi
