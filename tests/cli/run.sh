#!/usr/bin/env bash
# run.sh PROGRAM_DIR SESSION...: plays sessions of the besom command and compares what it says with what it said.
#
# A session is a text of commands, each behind "$ ", and what they print; a line "[exit N]" stands for an exit code that
# is not 0. It runs in an empty directory. With UPDATE=1 sessions are rewritten instead: look at the difference.
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

for session in "$@"; do
  session=$(realpath "$session")
  place=$(mktemp -d)
  actual=$(cd "$place" && PATH=$programs:$PATH NO_COLOR=1 play "$session"; echo end)
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
