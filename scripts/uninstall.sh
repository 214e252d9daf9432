#!/usr/bin/env bash
# uninstall.sh [--remember BUILD] PREFIX: removes what `make install` has installed under PREFIX, and
# the directories that are empty then and named after besom. DESTDIR as for `make install`, which
# lists the files with --remember.
set -eu
build=
if [[ ${1-} == --remember ]]; then
  build=$2
  shift 2
fi
destdir=${DESTDIR-}
list=$destdir$1/share/besom/installed-files

if [[ $build ]]; then
  mkdir -p "$(dirname "$list")"
  { cat "$build/install_manifest.txt" && echo; } | sed '/^$/d' >"$list"
  exit 0
fi

if [[ ! -e $list ]]; then
  echo "$list does not exist: nothing was installed there by 'make install', or not with this PREFIX and DESTDIR" >&2
  exit 1
fi
while IFS= read -r file; do
  rm -f "$destdir$file"
  directory=$(dirname "$destdir$file")
  if [[ ${directory##*/} == besom ]]; then rmdir --ignore-fail-on-non-empty "$directory" 2>/dev/null || true; fi
done <"$list"
rm -f "$list"
rmdir --ignore-fail-on-non-empty "$(dirname "$list")"
