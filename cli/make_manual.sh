#!/usr/bin/env bash
# make_manual.sh BESOM DIRECTORY: writes the manual page of every verb,
# and besom.1 with the list of verbs.
set -eu
besom=$1
mkdir -p "$2"
cd "$2"
{
  printf '.TH besom 1\n.SH NAME\nbesom \\- adaptive membership filters\n'
  printf '.SH SYNOPSIS\n.B besom\nVERB [arguments]\n.SH DESCRIPTION\n.nf\n'
  "$besom" --help | tail -n +3 | sed 's/-/\\-/g'
  printf '.fi\n.SH SEE ALSO\n'
  "$besom" --verbs | sed 's/ .*//; s/.*/.BR besom\\-& (1),/; $ s/,$//'
} >besom.1
"$besom" --verbs | while read -r verb _; do
  "$besom" --manual "$verb" >"besom-$verb.1"
done
