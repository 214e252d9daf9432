#!/usr/bin/env bash
# build_forms.sh SOURCE WORK: builds of other forms than the usual one, each with a few tests:
# - static only (BUILD_SHARED_LIBS=OFF): no shared library is built or installed, and an outside
#   program finds the static one with pkg-config and with find_package;
# - with link-time optimization: some laws of filters, programs of older headers, and the same
#   exported symbols;
# - by FetchContent: the program of the project runs.
# CMAKE_ARGS has further options of CMake, for example -DBESOM_PORTABLE=ON for a faster run.
set -eu
source=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
jobs=$(nproc)
read -ra options <<<"${CMAKE_ARGS-}"

run() {
  echo "+ $*"
  "$@"
}
fail() {
  echo "build_forms.sh: $1"
  exit 1
}
# quietly COMMAND...: its output is shown if it fails.
quietly() {
  echo "+ $*"
  "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "failed: $*"; }
}

echo "== static"
quietly cmake -S "$source" -B "$work/static" -DBUILD_SHARED_LIBS=OFF -DBESOM_TESTS=ON -DBESOM_BENCH=OFF \
  -DBESOM_REDIS=OFF -DBESOM_SQLITE=OFF -DBESOM_PYTHON=OFF -DBESOM_EXAMPLES=OFF "${options[@]}"
quietly cmake --build "$work/static" -j"$jobs" --target besom_static besom-command example_readme
for store in lmdb rocksdb redis; do
  if [[ -e $work/static/besom-$store.pc ]]; then
    quietly cmake --build "$work/static" -j"$jobs" --target "besom_${store}_static"
  fi
done
run "$work/static/examples/example_readme"
quietly cmake --install "$work/static" --prefix "$work/static/prefix"
[[ -z $(find "$work/static" -name 'libbesom*.so*') ]] || fail "a shared library was built"
export PKG_CONFIG_PATH=$work/static/prefix/lib/pkgconfig
if [[ ! -e $PKG_CONFIG_PATH ]]; then
  PKG_CONFIG_PATH=$(dirname "$(find "$work/static/prefix" -name besom.pc)")
fi
flags=()
eval "flags=($(pkg-config --cflags --libs besom))"
run cc "$source/tests/system/install/main.c" "${flags[@]}" -o "$work/static/outside"
run "$work/static/outside"
quietly cmake -S "$source/tests/system/install" -B "$work/static/cmake" -DCMAKE_PREFIX_PATH="$work/static/prefix"
quietly cmake --build "$work/static/cmake"
run "$work/static/cmake/shared" # besom::besom, which is the static library

echo "== link-time optimization"
quietly cmake -S "$source" -B "$work/lto" -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DBESOM_TESTS=ON \
  -DBESOM_BENCH=OFF -DBESOM_PYTHON=OFF -DBESOM_REDISMODULE_H="${BESOM_REDISMODULE_H-}" "${options[@]}"
quietly cmake --build "$work/lto" -j"$jobs" --target besom besom_static besom-command contract_tests example_readme
run "$work/lto/examples/example_readme"
run "$work/lto/besom" --version
run "$source/tests/quality/scripts/shared_symbols.sh" "$work/lto/libbesom.so" "$source/src/besom.symbols"
quietly "$source/tests/system/abi/run.sh" "$source" "$work/lto" "$work/lto/abi" cc
quietly "$work/lto/tests/contract_tests" --defaults --part 1/4
# module NAME TARGET ENTRY: the module exports only its entry point; if it is not left out.
module() {
  if cmake --build "$work/lto" --target help | grep -w "$2" >"$work/log"; then
    quietly cmake --build "$work/lto" -j"$jobs" --target "$2"
    run "$source/tests/quality/scripts/module_symbols.sh" "$work/lto/$1" "$3"
  fi
}
module besom-redis.so besom_redis_module RedisModule_OnLoad
module besom-sqlite.so besom_sqlite sqlite3_besomsqlite_init

echo "== FetchContent"
quietly cmake -S "$source/tests/system/install/parent" -B "$work/fetched" -DFETCH=ON -DBESOM_SOURCE="$source" \
  "${options[@]}"
quietly cmake --build "$work/fetched" -j"$jobs" --target app
run "$work/fetched/app"
