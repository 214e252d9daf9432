#!/usr/bin/env bash
# A breached-password check with a filter instead of a service.
#
#   breached_password.sh build HASHES LIST   HASHES: lines SHA1 or SHA1:COUNT, as Have I Been Pwned
#                                            publishes them
#   breached_password.sh check LIST          reads the password from standard input
#
# check exits with 0 if the password may be used, 1 if it is in the list, 3 if the check failed.
# One good password in 10,000 is refused, too; no breached one is accepted. The password is never an
# argument of a program, where other users could see it.
set -eu

build() {
  sed 's/:.*//; s/\r$//' "$1" | tr a-f A-F | besom build "$2" --kind ribbon --fpr 0.0001
}

check() {
  local password code=0
  IFS= read -rs password || [[ $password ]] || { echo "no password was given" >&2; return 3; }
  printf %s "$password" | sha1sum | cut -c 1-40 | tr a-f A-F |
    besom query "$1" >/dev/null || code=$?
  case $code in
  0) echo "This password is known from a breach: choose another one."; return 1 ;;
  1) echo "This password is in no known breach."; return 0 ;;
  *) echo "The password could not be checked: it is refused." >&2; return 3 ;;
  esac
}

case ${1-}:$# in
build:3) build "$2" "$3" ;;
check:2) check "$2" ;;
*) sed -n '2,/^set/ { /^#/ s/^# \{0,1\}//p; }' "$0" >&2; exit 2 ;;
esac
