#!/usr/bin/env bash
# run.sh SOURCE_DIR WORK_DIR: saved filters with learned state are the same bytes on this machine, on
# aarch64 and on s390x (big-endian), and each machine reads the files of the others. Needs qemu-user and
# the cross compilers (scripts/setup.sh cross).
set -eu
source=$(cd "$1" && pwd) work=$2
mkdir -p "$work"
cd "$work"

# xxhash.h is all that the library needs besides libc: it is copied away from the system's headers.
mkdir -p include
cp /usr/include/xxhash.h include/

# build NAME COMPILER: the library and learned.c as one static program.
build() {
  local compiler=$2 objects=() file name flags
  mkdir -p "$1"
  while read -r file; do
    flags=()
    case $file in
    */lmdb.c | */rocksdb.c | */redis.c) continue ;;
    */table_ops*.c | */table_slots*.c | */quotient_calls.c | */blocked_ops.c) flags=(-DBESOM_ISA=portable) ;;
    esac
    name=$1/$(basename "$file" .c).o
    objects+=("$name")
    echo "$compiler -std=gnu11 -O1 ${flags[*]} -Iinclude -I$source/include -I$source/src -c $file -o $name"
  done < <(find "$source/src" -name '*.c') | xargs -P "$(nproc)" -I{} sh -c '{}'
  "$compiler" -std=c11 -O1 -static -I"$source/include" "$source/tests/files/learned.c" "$1"/*.o -lm \
    -o "$1/learned"
}

build native "${CC:-cc}"
native/learned native/saved
for machine in s390x aarch64; do
  build "$machine" "$machine-linux-gnu-gcc"
  "qemu-$machine" "$machine/learned" "$machine/saved"
  "qemu-$machine" "$machine/learned" native/saved check
  native/learned "$machine/saved" check
  for file in native/saved-*.besom; do
    cmp "$file" "$machine/${file#native/}"
    echo "$machine: ${file#native/saved-} has the same bytes"
  done
done
