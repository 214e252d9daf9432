#!/usr/bin/env bash
# make_manual.sh BESOM DIRECTORY: writes the manual pages of all verbs, and besom.1 that lists them.
set -eu
besom=$1
mkdir -p "$2"
cd "$2"
{
  printf '.TH besom 1\n.SH NAME\nbesom \\- membership filters that can learn from their mistakes\n'
  printf '.SH SYNOPSIS\n.B besom\nVERB [arguments]\n.SH DESCRIPTION\n.nf\n'
  "$besom" --help | tail -n +3 | sed 's/-/\\-/g'
  printf '.fi\n.SH SEE ALSO\n'
  "$besom" --verbs | sed 's/ .*//; s/.*/.BR besom\\-& (1),/; $ s/,$//'
} >besom.1
"$besom" --verbs | while read -r verb _; do
  "$besom" --manual "$verb" >"besom-$verb.1"
done
