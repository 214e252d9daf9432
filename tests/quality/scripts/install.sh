#!/usr/bin/env bash
# install.sh BUILD WORK CC SOVERSION: installs a build into WORK/prefix, checks the sonames, then
# builds and runs an outside program against the installed copy: with pkg-config and with
# find_package, shared and static. Then uninstalls it; and checks that a project which has besom as a
# subdirectory, or by FetchContent, gets the library and nothing else.
set -eu
build=$1 work=$2 cc=$3 soversion=$4
outside=$(cd "$(dirname "$0")/../../system/install" && pwd)
scripts=$(cd "$(dirname "$0")/../../../scripts" && pwd)

run() {
  echo "+ $*"
  "$@"
}

unset DESTDIR # of the `make install` that may run this
rm -rf "$work"
mkdir -p "$work"
prefix=$work/prefix
run cmake --install "$build" --prefix "$prefix"

libdir=$(dirname "$(find "$prefix" -name libbesom.so)")
for library in "$libdir"/libbesom*.so; do
  soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
  if [[ $soname != $(basename "$library").$soversion ]]; then
    echo "$library: the soname is $soname, not $(basename "$library").$soversion"
    exit 1
  fi
done
export PKG_CONFIG_PATH=$libdir/pkgconfig
shared=() static=()
eval "shared=($(pkg-config --cflags --libs besom))" # pkg-config quotes for the shell
eval "static=($(pkg-config --static --cflags --libs besom))"
run "$cc" "$outside/main.c" "${shared[@]}" -o "$work/pc_shared"
run "$cc" -static "$outside/main.c" "${static[@]}" -o "$work/pc_static"
LD_LIBRARY_PATH=$libdir run "$work/pc_shared"
run "$work/pc_static"

# A store over a database, if it was built.
if [[ -e $libdir/libbesom-lmdb.so ]]; then
  eval "shared=($(pkg-config --cflags --libs besom-lmdb))"
  run "$cc" "$outside/store.c" "${shared[@]}" -o "$work/pc_store"
  LD_LIBRARY_PATH=$libdir run "$work/pc_store" "$work/database"
fi

run cmake -S "$outside" -B "$work/cmake" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix"
run cmake --build "$work/cmake"
run "$work/cmake/shared"
run "$work/cmake/static"
if [[ -e $libdir/libbesom-lmdb.so ]]; then
  run "$work/cmake/store" "$work/database"
  run "$work/cmake/store_static" "$work/database"
fi

"$scripts/uninstall.sh" --remember "$build" "$prefix"
touch "$libdir/other"
run "$scripts/uninstall.sh" "$prefix"
left=$(find "$prefix" -not -type d)
if [[ $left != "$libdir/other" ]] || [[ -n $(find "$prefix" -type d -name besom) ]]; then
  echo "uninstall.sh has left, or removed too much:" "$left"
  exit 1
fi
if "$scripts/uninstall.sh" "$prefix" 2>/dev/null; then
  echo "uninstall.sh finds something to remove a second time"
  exit 1
fi

# parent NAME OPTION...: a project that has besom inside installs and tests nothing of it.
parent() {
  local into=$work/$1
  shift
  run cmake -S "$outside/parent" -B "$into" -DCMAKE_C_COMPILER="$cc" \
    -DBESOM_SOURCE="$(realpath "$scripts/..")" "$@"
  run cmake --install "$into" --prefix "$into/prefix"
  if [[ -e $into/prefix ]]; then
    echo "a project with besom inside installs it"
    exit 1
  fi
  ctest --test-dir "$into" -N | grep -x "Total Tests: 0"
}
parent subdirectory
parent fetched -DFETCH=ON -DBUILD_SHARED_LIBS=OFF
