#!/usr/bin/env bash
# module_symbols.sh MODULE: the module exports its entry and nothing else, so that it and the server's other modules do not
# meet. Prints what is too much.
set -eu
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
if [[ $exported != RedisModule_OnLoad ]]; then
  echo "exported, but should be RedisModule_OnLoad alone:" "$exported"
  exit 1
fi
