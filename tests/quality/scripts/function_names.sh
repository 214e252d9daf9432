#!/usr/bin/env bash
# function_names.sh ROOT: a name finds one function. Prints every function of src/ whose name another
# file of src/ defines, too. Sources that are compiled several times count once. The code has the
# form that clang-format gives it: a definition begins in column 1 and its body with " {".
set -eu
cd "$1"

# shellcheck disable=SC2016 # an awk program
find src -name '*.[ch]' -print0 | sort -z | xargs -0 awk '
  FNR == 1 { head = "" }
  /^[A-Za-z_][^;={]*\(/ && !/^(typedef|struct|enum|union|return|else)[^(]*[;{]/ {
    head = $0
    line = FNR
  }
  head != "" && FNR > line { head = head " " $0 }
  head != "" && /[;]$/ { head = "" }
  head != "" && /\{$/ {
    name = head
    while (sub(/__attribute__ *\(\([^)]*\)+\)/, "", name)) continue
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    if (name in file && file[name] != FILENAME) {
      printf "%s:%d: %s is a function of %s, too\n", FILENAME, line, name, file[name]
      bad = 1
    } else if (name !~ /^[A-Z_]+$/) file[name] = FILENAME
    head = ""
  }
  END { exit bad }
'
