#!/usr/bin/env bash
# static_symbols.sh LIBRARY: a static library shares its user's name space, so every global name of it,
# an internal one (besom__) too, begins with besom_.
set -eu

if nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | grep -v '^besom_'; then
  echo "These global symbols of $1 do not begin with besom_: make them static or call them besom__..."
  exit 1
fi
