#!/usr/bin/env bash
# test.sh OUT: tests OUT/besom.jar: the class, and the same answers as in every language.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out/tests"
javac --release 17 -Xlint:all -Werror -cp "$out/besom.jar" -d "$out/tests" "$here"/test/*.java
java -Xcheck:jni -Xmx512m -cp "$out/besom.jar:$out/tests" FilterTest "$here/../tests/vectors" | tee "$out/tests.log"
if grep -E 'WARNING|FATAL' "$out/tests.log"; then exit 1; fi
