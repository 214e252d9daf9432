#!/usr/bin/env bash
# make_manual.sh BESOM DIRECTORY: writes the manual page of every verb,
# and besom.1 with the list of verbs.
set -eu
besom=$1
mkdir -p "$2"
cd "$2"
"$besom" --verbs | while read -r verb _; do
  "$besom" --manual "$verb" >"besom-$verb.1"
done
{
  sed -n '1s/BESOM-[A-Z]*/BESOM/p' besom-build.1
  printf '.SH NAME\nbesom \\- adaptive membership filters\n'
  printf '.SH SYNOPSIS\n.B besom\nVERB [arguments]\n.SH DESCRIPTION\n.nf\n'
  "$besom" help | sed -n '3,/^$/ { /./p }' | sed 's/-/\\-/g'
  printf '.fi\n.PP\n'
  "$besom" help | sed '1,/^ /d; /^ /d; /^$/d; /^Exit codes:/,$d' | sed 's/-/\\-/g'
  sed -n '/^.SH EXIT STATUS/,$p' besom-build.1
  printf '.SH SEE ALSO\n'
  "$besom" --verbs | sed 's/ .*//; s/.*/.BR besom\\-& (1),/' | LC_ALL=C sort | sed '$ s/,$//'
} >besom.1
