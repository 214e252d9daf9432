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
  cmake -S "$source" -B "$1" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 -DCMAKE_C_COMPILER="$2" \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$1" -DXXHASH_INCLUDE_DIR="$PWD/include" \
    -DBESOM_BENCH=OFF -DBESOM_CLI=OFF -DBESOM_REDIS=OFF -DBESOM_SQLITE=OFF -DBESOM_EXAMPLES=OFF >/dev/null
  cmake --build "$1" --target besom_static -j "$(nproc)" >/dev/null
  "$2" -std=c11 -O1 -static -I"$source/include" "$source/tests/files/learned.c" "$1/libbesom.a" -lm \
    -o "$1/learned"
}

build "$(uname -m)" "${CC:-cc}"
ln -sfn "$(uname -m)" native
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
