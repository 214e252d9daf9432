#!/usr/bin/env bash
# readme_example.sh FILE.md [LANGUAGE [HEADING]]: prints the first example of a language (c) in a
# Markdown file, from the line "## HEADING" on.
set -eu

# #line: the compiler reports errors at the lines of the Markdown file.
awk -v file="$1" -v language="${2-c}" -v heading="${3-}" '
  BEGIN { here = heading == "" }
  $0 == "## " heading { here = 1 }
  /^```/ && inside { exit }
  inside { print }
  here && $0 == "```" language {
    inside = 1
    if (language == "c") printf "#line %d \"%s\"\n", NR + 1, file
  }
  END { if (!inside) { print file ": no ```" language " block" >"/dev/stderr"; exit 1 } }
' "$1"
