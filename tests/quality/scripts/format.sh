#!/usr/bin/env bash
# format.sh ROOT [--update]: checks that clang-format 14 leaves all C files as they are, and that no
# comment made it split a line. Prints what is wrong. With --update, formats the files. The exit
# code is 77 (skipped) if there is no clang-format 14: other versions format differently.
set -eu
cd "$1"
update=${2-}

find_clang_format() {
  local name
  for name in clang-format-14 clang-format; do
    if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then
      echo "$name"
      return
    fi
  done
  echo "clang-format 14 not found (Debian: apt-get install clang-format-14)" >&2
  exit 77
}

all_files() {
  local dir dirs=()
  for dir in include src program cli redis sqlite python web bench tests fuzz examples cmake; do
    if [[ -d $dir ]]; then dirs+=("$dir"); fi
  done
  find "${dirs[@]}" \( -name '*.[ch]' -o -name '*.[ch]pp' \) -print0
}

# A trailing comment that is too long makes clang-format split the code before it, although that
# code alone fits on a line. Such a comment belongs above the line.
find_split_lines() {
  # shellcheck disable=SC2016 # an awk program
  all_files | xargs -0 awk '
    FNR == 1 { last = "" }
    {
      code = $0
      at = index(code, "/*")
      if (at) {
        code = substr(code, 1, at - 1)
        sub(/[ \t]+$/, "", code)
        sub(/^[ \t]+/, "", code)
        if (code != "" && last ~ /[A-Za-z0-9_=+\-*\/&|?(]$/ && last !~ /^[ \t]*(#|\/\*|\*|\/\/)/ &&
            length(last) + 1 + length(code) <= 100) {
          printf "%s:%d: the comment does not fit, so the line is split: put it above\n", FILENAME, FNR
          bad = 1
        }
        last = ""
      } else {
        last = $0
      }
    }
    END { exit bad }'
}

clang_format=$(find_clang_format)
if [[ $update == --update ]]; then
  all_files | xargs -0 -n 20 -P "$(nproc)" "$clang_format" -i
  exit 0
fi

bad=0
all_files | xargs -0 -n 20 -P "$(nproc)" "$clang_format" --dry-run --Werror 2>&1 |
  sed -nE 's/^([^:]+:[0-9]+):[0-9]+: error: .*/\1: not as clang-format writes it (make format)/p' |
  sort -u | { ! grep .; } || bad=1
find_split_lines || bad=1
exit $bad
