#!/usr/bin/env bash
# run.sh PROGRAM_DIR SESSION...: runs sessions of the besom command and compares the output.
#
# A session is a text file of commands, each after "$ ", followed by their expected output. A line
# "[exit N]" is an exit code other than 0. A session runs in an empty directory; EXAMPLES is the
# directory of the examples, RELEASES that of files of earlier releases. If DATA is set, it is
# examples/data with its files, beside the other examples and the programs in build. Sizes in
# memory depend on struct layouts and are replaced by N. With UPDATE=1 the script rewrites the
# expected output instead: review the difference.
set -u
programs=$(realpath "$1")
EXAMPLES=$(realpath "$(dirname "$0")/../../../examples")
RELEASES=$(realpath "$(dirname "$0")/../../releases")
export EXAMPLES RELEASES
shift
bad=0

run_session() {
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
  sed -E 's/[0-9.]+ bits per key/N bits per key/; s/^(bytes|bits per key)( +)[0-9.]+( \(|$)/\1\2N\3/
          s/(least possible[^:]*:) [0-9.]+/\1 N/
          s/[0-9.]+ % of the filter/N % of the filter/'
}

for session in "$@"; do
  session=$(realpath "$session")
  root=$(mktemp -d) place=$root
  if [[ ${DATA:-} ]]; then
    place=$root/examples/data
    mkdir -p "$place"
    cp "$DATA"/* "$place"
    ln -s "$EXAMPLES"/lists "$root/examples"
    ln -s "$programs" "$root/build"
  fi
  actual=$(
    cd "$place" && PATH=$programs:$PATH NO_COLOR=1 run_session "$session" | mask_sizes
    echo end
  )
  rm -rf "$root"
  actual=${actual%end}
  if [[ ${UPDATE:-} ]]; then
    printf '%s' "$actual" >"$session"
  elif ! diff -u <(mask_sizes <"$session") <(printf '%s' "$actual"); then
    echo "$(basename "$session"): the output differs from the session"
    bad=1
  fi
done
exit $bad
