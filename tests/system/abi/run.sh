#!/usr/bin/env bash
# run.sh SOURCE_DIR LIBRARY_DIR WORK_DIR CC: compiles client.c against older headers
# (older_headers.py) and runs it with the current shared library. numbers.c is compiled only.
set -eu
source=$1 library=$2 work=$3 cc=$4
rm -rf "$work"
mkdir -p "$work"
python3 "$source/tests/system/abi/older_headers.py" "$source/include" "$work/include"
"$cc" -std=c11 -Wall -Wextra -Werror -Wno-missing-field-initializers -I"$work/include" \
  "$source/tests/system/abi/client.c" -o "$work/client" "$library/libbesom.so" -Wl,-rpath,"$library"
"$work/client" "$work/filter.besom"
"$cc" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$source/include" "$source/tests/system/abi/numbers.c"
