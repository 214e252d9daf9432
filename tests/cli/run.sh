#!/usr/bin/env bash
# run.sh PROGRAM_DIR SESSION...: plays sessions of the besom command and compares what it says with what it said.
#
# A session is a text of commands, each behind "$ ", and what they print; a line "[exit N]" stands for an exit code that
# is not 0. It runs in an empty directory. Sizes in memory change with the structs: they are shown as N. With UPDATE=1 sessions are rewritten instead: look at the difference.
set -u
programs=$(realpath "$1")
shift
bad=0

play() {
  local line code
  while IFS= read -r line; do
    [[ $line == '$ '* ]] || continue
    printf '%s\n' "$line"
    bash -c "${line#\$ }" 2>&1 </dev/null
    code=$?
    [[ $code -eq 0 ]] || echo "[exit $code]"
  done <"$1"
}

mask_sizes() {
  sed -E 's/[0-9.]+ bits a key/N bits a key/; s/^(bytes|bits a key)( +)[0-9.]+$/\1\2N/; s/[0-9.]+ % of the filter/N % of the filter/'
}

for session in "$@"; do
  session=$(realpath "$session")
  place=$(mktemp -d)
  actual=$(cd "$place" && PATH=$programs:$PATH NO_COLOR=1 play "$session" | mask_sizes; echo end)
  rm -rf "$place"
  actual=${actual%end}
  if [[ ${UPDATE:-} ]]; then
    printf '%s' "$actual" >"$session"
  elif ! diff -u "$session" <(printf '%s' "$actual"); then
    echo "$(basename "$session"): not what it said"
    bad=1
  fi
done
exit $bad
