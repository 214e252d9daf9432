#!/usr/bin/env bash
# oss_fuzz.sh ROOT DIR: runs fuzz/oss-fuzz/build.sh as OSS-Fuzz does, with its variables, and then
# every target that it built, with its corpus, for some seconds.
set -eu
root=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2/src/besom" "$2/out" "$2/work"
SRC=$(cd "$2/src" && pwd) OUT=$(cd "$2/out" && pwd) WORK=$(cd "$2/work" && pwd)
(cd "$root" && git ls-files -z | xargs -0 cp --parents -t "$SRC/besom")
export SRC OUT WORK CC=clang CXX=clang++ LIB_FUZZING_ENGINE=-fsanitize=fuzzer
export CFLAGS='-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address -fsanitize=fuzzer-no-link'
export CXXFLAGS=$CFLAGS
"$root/fuzz/oss-fuzz/build.sh"

for target in "$OUT"/fuzz_*; do
  [[ $target != *.zip ]] || continue
  name=$(basename "$target")
  corpus=$WORK/corpus/$name
  mkdir -p "$corpus"
  [[ ! -e ${target}_seed_corpus.zip ]] || python3 -m zipfile -e "${target}_seed_corpus.zip" "$corpus"
  if ! "$target" -max_total_time=5 -artifact_prefix="$WORK/$name." "$corpus" >"$WORK/$name.log" 2>&1; then
    tail -n 40 "$WORK/$name.log"
    echo "$name failed"
    exit 1
  fi
  echo "$name: $(grep -c . < <(ls "$corpus")) inputs, no failure"
done
