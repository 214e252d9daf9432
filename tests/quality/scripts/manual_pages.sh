#!/usr/bin/env bash
# manual_pages.sh DIRECTORY: mandoc finds nothing to complain about in the manual pages. The exit
# code is 77 (skipped) if there is no mandoc.
set -eu
command -v mandoc >/dev/null || exit 77
cd "$1"
! mandoc -T lint ./*.1 | grep .
