#!/usr/bin/env bash
# readme.sh PROGRAM_DIR README: runs the commands of "Command line" in the README on examples/data,
# and checks what they promise.
set -eu
programs=$(realpath "$1") readme=$(realpath "$2")
commands=$("$(dirname "$0")/../../../scripts/readme_example.sh" "$readme" sh "Command line")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/examples"
cp -r "$(dirname "$readme")/examples/data" "$place/examples"
ln -s "$programs" "$place/build"
cd "$place"
export NO_COLOR=1

while IFS= read -r command; do # 1 is a no: here, that shop.example was no false positive
  eval "$command" >>"$place/output" 2>>"$place/messages" || [[ $? == 1 ]] || {
    cat "$place/messages"
    echo "a command of the README fails: $command"
    exit 1
  }
done <<<"$commands"
[[ -d examples/data ]] # the next blocks of the README begin where this one did
cd examples/data
[[ $(besom has blocked.besom bank-basil896.example) == yes* ]]
[[ $(besom query blocked.besom log.txt | sort -u | grep -Fxf phishing.txt | wc -l) == 3 ]]
grep -q '^bank-basil896.example$' "$place/output"
grep -qi 'filter' "$place/output" # the advice
