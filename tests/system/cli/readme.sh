#!/usr/bin/env bash
# readme.sh PROGRAM_DIR README: runs the commands of "Command line" in the README, with small lists,
# and checks what they promise.
set -eu
programs=$(realpath "$1") readme=$(realpath "$2")
commands=$("$(dirname "$0")/../../../scripts/readme_example.sh" "$readme" sh "Command line")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export PATH=$programs:$PATH NO_COLOR=1

seq -f 'bad%g.example' 1000 >phishing.txt
printf '%s\n' good.example news.example >popular.txt
printf '%s\n' bad7.example good.example shop.example bad8.example >log.txt
while IFS= read -r command; do # 1 is a no: here, that shop.example was no false positive
  bash -c "$command" >>output 2>>messages || [[ $? == 1 ]] || {
    cat messages
    echo "a command of the README fails: $command"
    exit 1
  }
done <<<"$commands"
[[ $(besom has blocked.besom bad7.example) == yes* ]]
[[ $(besom query blocked.besom log.txt) == $'bad7.example\nbad8.example' ]]
grep -q '^bad8.example$' output
grep -qi 'filter' output # the advice
