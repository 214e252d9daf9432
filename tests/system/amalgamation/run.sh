#!/usr/bin/env bash
# run.sh AMALGAMATION WORK CONTRACT_OBJECTS CMOCKA LIBRARY...: compiles besom.c and besom.h of
# AMALGAMATION with gcc and clang, without warnings, and runs the laws of the public API against it.
# Prints the CPU time that gcc -O2 needs for each form; the reader opens all golden files.
# The libraries come last: they have the test support, and the guards that some laws use. A symbol
# that both they and besom.c define is an error of the linker if both are linked.
set -euo pipefail
amalgamation=$1 work=$2 objects=$3 cmocka=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)

run() {
  echo "+ $*"
  "$@"
}

warnings=(-Wall -Wextra -Werror)
compilers=()
for cc in gcc clang; do
  command -v $cc >/dev/null && compilers+=($cc) || echo "$cc is not installed: not tested"
done

rm -rf "$work"
mkdir -p "$work"
for cxx in g++ clang++; do
  if command -v $cxx >/dev/null; then
    echo '#include "besom.h"' |
      run $cxx -std=c++17 -pedantic "${warnings[@]}" -I"$amalgamation" -x c++ -fsyntax-only -
  fi
done

# Nothing but the two files: the copies have no other file beside them.
cp "$amalgamation"/besom.[ch] "$work"
compiling=()
for cc in "${compilers[@]}"; do
  run $cc -std=c11 "${warnings[@]}" -O1 -c "$work/besom.c" -o "$work/$cc.o" &
  compiling+=($!)
done
for process in "${compiling[@]}"; do wait "$process"; done

TIMEFORMAT='%U seconds of CPU time'
if command -v gcc >/dev/null; then
  for form in full small reader; do
    directory=$amalgamation/$form
    [[ $form = full ]] && directory=$amalgamation
    echo "$form: $(wc -l <"$directory/besom.c") lines, gcc -O2:"
    time gcc -std=c11 "${warnings[@]}" -O2 -c "$directory/besom.c" -o "$work/$form.o"
  done
  for form in full small reader; do
    run gcc -std=c11 "${warnings[@]}" -I"$here/../../../include" "$here/../../vectors/vectors.c" \
      "$work/$form.o" -lm -pthread -o "$work/vectors_$form"
    run "$work/vectors_$form" "$here/../../vectors" MANY | grep -v 'not a kind of this build'
  done
  run gcc -std=c11 "${warnings[@]}" -I"$amalgamation/reader" "$here/reader.c" "$work/reader.o" \
    -lm -pthread -o "$work/reader"
  run "$work/reader" "$here"/../../golden/*.besom
fi
for form in small reader; do
  for cc in "${compilers[@]}"; do
    run $cc -std=c11 "${warnings[@]}" -fsyntax-only "$amalgamation/$form/besom.c"
  done
done

running=()
for cc in "${compilers[@]}"; do
  run $cc -std=c11 "${warnings[@]}" -DBESOM_WITHOUT_PAPERS -fsyntax-only "$work/besom.c"
  run $cc -std=c11 "${warnings[@]}" -DBESOM_PORTABLE -fsyntax-only "$work/besom.c"
  exported=$(nm -g --defined-only "$work/$cc.o" | awk '$3 !~ /^besom_/ { print $3 }')
  if [[ $exported ]]; then
    echo "$cc: global names that do not start with besom_: $exported"
    exit 1
  fi
  run $cc -std=c11 "${warnings[@]}" -I"$work" "$here/main.c" "$work/$cc.o" -lm -pthread \
    -o "$work/main_$cc"
  run "$work/main_$cc"
  run $cc -Wl,--undefined=getentropy "$objects"/*.o "$work/$cc.o" "$@" "$cmocka" -lm -pthread \
    -o "$work/contract_$cc"
  "$work/contract_$cc" --sample >"$work/contract_$cc.log" 2>&1 &
  running+=($!)
done

for i in "${!compilers[@]}"; do
  log=$work/contract_${compilers[i]}.log
  if ! wait "${running[i]}"; then
    grep -v ' OK \| RUN ' "$log" | tail -n 50
    exit 1
  fi
  echo "${compilers[i]}: $(grep -c ' OK ' "$log") laws hold"
done
