#!/usr/bin/env bash
# instructions.sh BUILD_DIR...: instructions per query in builds for aarch64, counted by qemu: one
# column per build. For the builds with and without NEON:
#   cmake -S . -B build/cross/plain -DCMAKE_TOOLCHAIN_FILE=$PWD/tests/system/cross/aarch64.cmake \
#     -DCMAKE_C_FLAGS=-DBESOM_NO_NEON && cmake --build build/cross/plain --target besom_static
#   tests/system/cross/instructions.sh build/cross/plain build/cross/aarch64
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -std=c11 -O2 -Wall -Wextra -shared -fPIC "$here/qemu_count.c" -o "$work/count.so"

# count BUILD ARGUMENTS: instructions of a run of queries.c, which the plugin writes to stderr.
count() {
  local build=$1
  shift
  # shellcheck disable=SC2069
  qemu-aarch64 -L /usr/aarch64-linux-gnu -plugin "$work/count.so" \
    "$work/$(basename "$build")" "$@" 2>&1 >/dev/null
}

for build in "$@"; do
  aarch64-linux-gnu-gcc -std=c11 -O2 -I"$here/../../../include" "$here/queries.c" \
    "$build/libbesom.a" -lm -o "$work/$(basename "$build")"
done
while read -r kind fpr form; do
  printf '%-14s %-10s %s' "$kind" "$fpr" "$form"
  for build in "$@"; do
    first=$(count "$build" "$kind" "$fpr" 1 "$form")
    third=$(count "$build" "$kind" "$fpr" 3 "$form")
    printf ' %5d' $(((third - first) / 40000))
  done
  echo
done <<'END'
qf 0.01 one
qf 0.0039 one
qf 0.0039 many
qf 0.001 one
qf 0.0000153 one
aqf 0.0039 one
blocked-bloom 0.01 one
blocked-bloom 0.01 many
cf 0.01 one
END
