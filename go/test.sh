#!/usr/bin/env bash
# test.sh MODULE COMMAND: tests the module for Go (build/go), with COMMAND as the besom command. Each
# `go test` compiles besom.c: both run at once.
set -eu
module=$1
BESOM=$(realpath "$2")
BESOM_VECTORS=$(realpath "$(dirname "$0")/../tests/vectors")
export BESOM BESOM_VECTORS GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
here=$(cd "$(dirname "$0")" && pwd)
PATH=/usr/bin:$PATH # the Go of Debian: the oldest that is supported
unformatted=$(gofmt -l "$here")
if [[ $unformatted ]]; then
  echo "gofmt -w $unformatted"
  exit 1
fi
cd "$module"
go version
go vet -tags besom_papers .
go test -tags besom_papers -race -timeout 10m . &
race=$!
failed=0
# Tests and examples, and then some seconds of a fuzzer.
go test -tags besom_papers -timeout 10m -fuzz '^FuzzKeys$' -fuzztime 2s . || failed=1
go test -tags besom_papers -timeout 10m -run '^$' -fuzz '^FuzzLoadBytes$' -fuzztime 2s . || failed=1
wait "$race" || failed=1
if staticcheck=$(command -v go-staticcheck || command -v staticcheck); then # Debian's, or its own name
  "$staticcheck" -tags besom_papers . || failed=1
else
  echo "staticcheck is not installed: not run"
fi
exit "$failed"
