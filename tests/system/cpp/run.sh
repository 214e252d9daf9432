#!/usr/bin/env bash
# run.sh INCLUDE LIBRARY WORK: tests besom.hpp with the C++ compilers that are installed: without
# exceptions and with them; and that its calls are compiled to the code of the C calls.
set -eu
include=$1 library=$2 work=$3
here=$(cd "$(dirname "$0")" && pwd)
flags=(-std=c++17 -pedantic -Wall -Wextra -Wshadow -Werror -I"$include")

run() {
  echo "+ $*"
  "$@"
}

# The instructions of function $2 in object $1, without addresses and without its own name. The
# target of a call is on the line of its relocation.
code_of() {
  objdump -dr --no-show-raw-insn "$1" | awk -v name="$2" '
    /^[0-9a-f]+ <.*>:$/ { inside = $2 == "<" name ">:"; next }
    inside && NF { sub(/^[ \t]*[0-9a-f]+:[ \t]*/, ""); print }' |
    sed -E "s/[0-9a-f]+ <$2(\+0x[0-9a-f]+)?>/<\1>/; s/^(jmp|call) +[0-9a-f]+ <[a-z].*/\1/" | grep -v '^\(nop\|cs nop\|data16\|xchg *%ax,%ax\)'
}

rm -rf "$work"
mkdir -p "$work"
tested=
for cxx in g++ clang++; do
  command -v $cxx >/dev/null || continue
  tested+=" $cxx"
  run $cxx "${flags[@]}" -O2 -fno-exceptions -c "$here/calls.cpp" -o "$work/calls_$cxx.o"
  pairs=$(nm --defined-only "$work/calls_$cxx.o" | awk '$3 ~ /^c_/ { print substr($3, 3) }')
  for name in $pairs; do
    code_of "$work/calls_$cxx.o" "c_$name" >"$work/c"
    code_of "$work/calls_$cxx.o" "cpp_$name" >"$work/cpp"
    if [[ ! -s $work/c ]] || ! diff "$work/c" "$work/cpp"; then
      echo "$cxx: the code of $name in besom.hpp (>) is not that of the C call (<)"
      exit 1
    fi
  done
  echo "$cxx: $(wc -w <<<"$pairs") calls have equal code in C and C++"
done
if [[ ! $tested ]]; then
  echo "besom.hpp is not tested: no C++ compiler (Debian: apt-get install g++)"
  exit 0
fi
cxx=${tested##* }
run $cxx "${flags[@]}" -fno-exceptions "$here/filter.cpp" "$library" -lm -pthread -o "$work/plain"
run "$work/plain"
run $cxx "${flags[@]}" -DBESOM_EXCEPTIONS "$here/filter.cpp" "$library" -lm -pthread -o "$work/throwing"
run "$work/throwing"
