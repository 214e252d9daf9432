#!/usr/bin/env bash
# rooms.sh ROOT: a folder of src/ and cli/ that has C files is a room: it has a README.md of at most
# 30 lines, and at most 25 C files. So have the folders directly in tests/ a README.md. Prints every
# violation as PLACE: what is wrong, and ends with 1 if there is one.
set -eu
cd "$1"
lines=30 files=25

rooms() {
  find src cli -name '*.[ch]' -printf '%h\n' 2>/dev/null | sort -u
  if [[ -d tests ]]; then find tests -mindepth 1 -maxdepth 1 -type d | sort; fi
}

bad=0
while read -r room; do
  if [[ ! -e $room/README.md ]]; then
    echo "$room: no README.md"
    bad=1
  elif (($(wc -l <"$room/README.md") > lines)); then
    echo "$room/README.md: more than $lines lines"
    bad=1
  fi
  if [[ $room == tests/* ]]; then continue; fi
  if (($(find "$room" -maxdepth 1 -name '*.[ch]' | wc -l) > files)); then
    echo "$room: more than $files C files"
    bad=1
  fi
done < <(rooms)
exit $bad
