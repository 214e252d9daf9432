#!/usr/bin/env bash
# reproducible.sh SOURCE WORK [deb]: builds the sources twice, in directories of different names, with
# different time zones, languages, umasks and numbers of jobs, and compares what `make install`
# installs, the package for Python and the modules. With deb it compares the Debian packages instead.
# Prints the files that differ. CMAKE_ARGS has further options of CMake, for example
# -DBESOM_PORTABLE=ON for a faster run.
set -eu
source=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
work=$(cd "$2" && pwd)
what=${3-cmake}

fail() {
  echo "reproducible.sh: $1"
  exit 1
}
header=${BESOM_REDISMODULE_H-}
if [[ -z $header && -e $source/build/redis/header/redismodule.h ]]; then
  header=$source/build/redis/header/redismodule.h
fi
export BESOM_REDISMODULE_H=$header

# copy INTO: the sources, without build products.
copy() {
  mkdir -p "$1"
  tar -C "$source" --exclude=./build --exclude=./data --exclude=./.git -cf - . | tar -C "$1" -xf -
}

build_cmake() { # JOBS INTO: the current directory has the sources
  # shellcheck disable=SC2086 # words
  cmake -S . -B build -DBESOM_BENCH=OFF -DBESOM_EXAMPLES=OFF -DBESOM_REDISMODULE_H="$header" ${CMAKE_ARGS-}
  cmake --build build -j"$1"
  DESTDIR=$2 cmake --install build --prefix /usr
  cp -r build/python/besom "$2/python"
  # As they are in the build directory, with the paths by which libraries find each other.
  mkdir "$2/build"
  cp -P build/*.so* build/*.a build/besom "$2/build"
}
build_deb() { # the same
  DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$1" dpkg-buildpackage -b -us -uc
  cp ../*.deb "$2"
}

# once NAME JOBS DIRECTORY: builds the sources in DIRECTORY, and puts what is compared into WORK/NAME.
once() {
  mkdir -p "$work/$1"
  (cd "$3" && "build_$what" "$2" "$work/$1") >"$work/$1.log" 2>&1 || {
    tail -50 "$work/$1.log"
    fail "the build in $3 failed"
  }
}
one=$work/a/besom other=$work/another/directory-with-a-longer/name
copy "$one"
copy "$other"
umask 022
TZ=UTC LC_ALL=C once one 1 "$one"
umask 002
TZ=Asia/Tokyo LC_ALL=C.UTF-8 once other "$(nproc)" "$other"

[[ $(find "$work/one" -type f | wc -l) -gt 10 ]] || fail "there is nothing to compare"
bad=0
while IFS= read -r file; do
  if ! cmp -s "$work/one/$file" "$work/other/$file"; then
    echo "differs: $file"
    bad=1
  fi
done < <({ cd "$work/one" && find . -type f && cd "$work/other" && find . -type f; } | LC_ALL=C sort -u)
[[ $bad == 0 ]] || fail "two builds of the same sources differ; they are in $work"
echo "identical: $(find "$work/one" -type f | wc -l) files"
