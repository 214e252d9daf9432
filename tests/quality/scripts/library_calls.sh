#!/usr/bin/env bash
# library_calls.sh ROOT: the library does not print, exit or abort, and allocates only with the
# allocator of the filter. Prints every call in src/ that breaks this; src/core/system/memory.c is exempt.
set -eu
cd "$1"

# shellcheck disable=SC2016 # an awk program
find src -name '*.[ch]' ! -path src/core/system/memory.c -print0 | xargs -0 awk '
  BEGIN {
    memory = "malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup"
    output = "printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|exit|_exit|abort|assert"
    call = "(^|[^A-Za-z0-9_.>])(" memory "|" output ")[ \t]*[(]"
  }
  FNR == 1 { in_comment = 0 }
  {
    code = without_comments($0)
    if (match(code, call)) {
      name = substr(code, RSTART, RLENGTH)
      gsub(/[^A-Za-z_]/, "", name)
      if (name ~ "^(" memory ")$") advice = "use core/memory.h"
      else advice = "return a status"
      printf "%s:%d: the library may not call %s: %s\n", FILENAME, FNR, name, advice
      bad = 1
    }
  }
  END { exit bad }

  function without_comments(line,   code, end) {
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    for (;;) {
      if (in_comment) {
        end = index(line, "*/")
        if (!end) return code
        line = substr(line, end + 2)
        in_comment = 0
      }
      if (!match(line, /\/[*\/]/)) return code line
      code = code substr(line, 1, RSTART - 1) " "
      if (substr(line, RSTART, 2) == "//") return code
      line = substr(line, RSTART + 2)
      in_comment = 1
    }
  }
'
