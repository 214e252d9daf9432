#!/usr/bin/env bash
# run.sh [PLATFORM...]: builds besom for platforms, runs the quick tests on each, and compares the
# files that they write. Platforms are gcc, clang, musl, aarch64 and s390x; all, if none is named.
# Builds and logs are in build/cross/, as is results.md: the table in bench/records/platforms.md.
# TESTS is a pattern of ctest for a part of the tests.
set -u
cd "$(dirname "$0")/../../.." || exit
work=build/cross
jobs=${JOBS:-$(nproc)}
[[ $# -gt 0 ]] || set -- gcc clang musl aarch64 s390x
mkdir -p $work
options=(-DBESOM_TESTS=ON -DBESOM_WERROR=ON -DBESOM_STORES=OFF -DBESOM_REDIS=OFF -DBESOM_SQLITE=OFF
  -DBESOM_PYTHON=OFF -DBESOM_BENCH=OFF)
if command -v ccache >/dev/null; then options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi

# The option of cmake that makes a build one for a platform.
choice() {
  case $1 in
  gcc | clang) echo "-DCMAKE_C_COMPILER=$1" ;;
  *) echo "-DCMAKE_TOOLCHAIN_FILE=$PWD/tests/system/cross/$1.cmake" ;;
  esac
}

# describe PLATFORM: its compiler and what runs the programs.
describe() {
  local compiler=$1 runs="this processor"
  case $1 in
  musl) compiler=musl-gcc ;;
  aarch64 | s390x)
    compiler=$1-linux-gnu-gcc
    runs=$("qemu-$1" --version | sed -nE 's/.*version ([0-9.]+).*/qemu-user \1/p')
    ;;
  esac
  echo "$compiler $($compiler -dumpfullversion 2>/dev/null || $compiler -dumpversion) | $runs"
}

# build PLATFORM [OPTIONS]: of cmake --build.
build() {
  cmake -S . -B "$work/$1" "${options[@]}" "$(choice "$1")" >"$work/$1.log" 2>&1 &&
    cmake --build "$work/$1" -j "$jobs" "${@:2}" >>"$work/$1.log" 2>&1
}

# Prints the number of tests that ran and of those that failed. The tests of pages need a browser.
run_tests() {
  ctest --test-dir "$work/$1" -j "$jobs" --output-on-failure --no-tests=error -L quick \
    -R "${TESTS:-.}" -E '^page_' >"$work/$1.tests" 2>&1
  sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+)/\2 | \1/p' "$work/$1.tests"
}

write_row() {
  local tests files
  if ! build "$1"; then
    echo "| $1 | $(describe "$1") | does not build | | |"
    return
  fi
  tests=$(run_tests "$1")
  tests/system/files/run.sh $work/files $work/gcc "$work/$1" >"$work/$1.files" 2>&1
  files=$(sed -n '$ s/.*: //p' "$work/$1.files")
  echo "| $1 | $(describe "$1") | ${tests:-none |} | $files |"
}

bad=0
# The files of the others are compared with those of gcc.
[[ " $* " == *" gcc "* ]] || build gcc --target besom-command learned_files || bad=1
for platform in "$@"; do
  echo "== $platform: the logs are $work/$platform.*"
  write_row "$platform" >"$work/$platform.row"
  cat "$work/$platform.row"
  grep -qE '\| 0 \| [0-9]+ files have' "$work/$platform.row" || bad=1
done
cat tests/system/cross/header.md $work/*.row >$work/results.md
echo "== $work/results.md"
exit $bad
