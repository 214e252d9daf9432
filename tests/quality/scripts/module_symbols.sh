#!/usr/bin/env bash
# module_symbols.sh MODULE [ENTRY]: the module exports only its entry point, so that its symbols do
# not clash with other modules of the server. Prints what else it exports.
set -eu
entry=${2-RedisModule_OnLoad}
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
if [[ $exported != "$entry" ]]; then
  echo "these symbols are exported, but only $entry should be:" "$exported"
  exit 1
fi
