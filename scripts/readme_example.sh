#!/usr/bin/env bash
# readme_example.sh README.md: prints the first C example of a Markdown file.
set -eu

# #line: the compiler reports errors at the lines of the README.
awk -v file="$1" '
  /^```/ && inside { exit }
  inside { print }
  /^```c$/ { inside = 1; printf "#line %d \"%s\"\n", NR + 1, file }
  END { if (!inside) { print file ": no ```c block" >"/dev/stderr"; exit 1 } }
' "$1"
