#!/usr/bin/env bash
# needs_64_bits.sh SOURCE_DIR WORK_DIR: a build for 32 bits is refused when it is configured, in one
# sentence. The 32-bit C library is not needed.
set -u
source=$(realpath "$1") work=$(realpath -m "$2")
case $(uname -m) in
x86_64) ;;
*)
  echo "the compiler of this processor has no -m32" >&2
  exit 77
  ;;
esac
rm -rf "$work"
mkdir -p "$work"
bad=0

# refuses NAME ARGUMENTS: of cmake.
refuses() {
  local name=$1 output
  shift
  if output=$(cmake -S "$source" -B "$work/$name" "$@" 2>&1); then
    echo "$name: a 32-bit build was configured"
    bad=1
  # CMake breaks the sentence into lines.
  elif ! tr -s ' \n' ' ' <<<"$output" | grep -q 'besom needs a 64-bit processor: it is not supported'; then
    printf '%s: refused with another message:\n%s\n' "$name" "$output"
    bad=1
  fi
}

unset CC CFLAGS
refuses flags -DCMAKE_C_FLAGS='-O2 -m32'
CFLAGS=-m32 refuses environment
# A compiler for 32 bits, by its size of a pointer.
echo 'set(CMAKE_C_FLAGS_INIT -m32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)' >"$work/toolchain.cmake"
refuses compiler -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake"
exit $bad
