#!/usr/bin/env bash
# fetch-node-redis.sh DIRECTORY: installs the npm package redis, for the test of the compatibility
# mode, into DIRECTORY/node_modules. It uses npm's own configuration; nothing outside of DIRECTORY
# changes.
set -eu

[[ $# -eq 1 ]] || {
  echo "usage: $0 DIRECTORY" >&2
  exit 2
}
command -v npm >/dev/null || {
  echo "$0: npm not found (Debian: apt-get install nodejs npm)" >&2
  exit 1
}
mkdir -p "$1"
cd "$1"
[[ -e package.json ]] || echo '{"private": true}' >package.json
npm install --no-audit --no-fund --loglevel=error redis
