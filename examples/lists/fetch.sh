#!/usr/bin/env bash
# The client's part of a nightly blocklist with signed patches (publish.sh).
#
#   fetch.sh NAME PUBLIC_KEY MIRROR LIST
#
# MIRROR is a URL or a directory. LIST is the client's file; LIST.minisig is beside it. Nobody needs
# to trust the mirror: besom update verifies everything, and refuses older versions and expired
# ones.
set -eu
name=$1 key=$2 mirror=$3 list=$4
fetched=$(mktemp -d)
trap 'rm -rf "$fetched"' EXIT

get() {
  case $mirror in
  *://*) curl -fsS -o "$fetched/$1" "$mirror/$1" 2>/dev/null ;;
  *) cp "$mirror/$1" "$fetched/$1" 2>/dev/null ;;
  esac
}

get_signed() { get "$1" && get "$1.minisig"; }

sequence_of() {
  sed -n 's/^trusted comment: .* sequence=\([0-9]*\) .*/\1/p' "$1" 2>/dev/null || true
}

# Is there something new? A mirror that lies here is noticed when the list expires.
mine=$(sequence_of "$list.minisig")
get "$name.besom.minisig" || { echo "$mirror: no list $name" >&2; exit 3; }
if [[ $mine && $mine == "$(sequence_of "$fetched/$name.besom.minisig")" ]]; then
  besom verify "$list" --verify "$key" --name "$name"
  exit
fi

# A patch if there is one from my version, else the whole list.
if [[ $mine ]] && get_signed "$name.from-$mine.patch" &&
  besom update "$list" "$fetched/$name.from-$mine.patch" --verify "$key" --name "$name"; then
  exit 0
fi
get_signed "$name.besom" || { echo "$mirror: no list $name" >&2; exit 3; }
besom update "$list" "$fetched/$name.besom" --verify "$key" --name "$name"
