#!/usr/bin/env bash
# build.sh AMALGAMATION OUT: compiles the library and the class, and packs besom.jar in OUT.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
amalgamation=$1 out=$2
mkdir -p "$out/classes/besom"
home=$(dirname "$(dirname "$(realpath "$(command -v javac)")")")
${CC:-cc} -std=c11 -O2 -fPIC -fvisibility=hidden -c "$amalgamation/besom.c" -o "$out/besom.o"
${CC:-cc} -std=c11 -O2 -fPIC -Wall -Wextra -Wno-unused-parameter -Werror -fvisibility=hidden -shared \
  -I"$amalgamation" -I"$home/include" -I"$home/include/linux" "$here/filter_jni.c" "$out/besom.o" \
  -o "$out/classes/besom/libbesom_java.so" -lm -lpthread
javac --release 17 -Xlint:all -Werror -d "$out/classes" "$here/besom/Filter.java"
jar --create --file "$out/besom.jar" --date=1980-01-01T00:00:02Z -C "$out/classes" besom
echo "$out/besom.jar"
