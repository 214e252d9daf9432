#!/usr/bin/env bash
# module_symbols.sh MODULE: the module exports only its entry point, so that its symbols do not
# clash with other modules of the server. Prints what else it exports.
set -eu
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
if [[ $exported != RedisModule_OnLoad ]]; then
  echo "these symbols are exported, but only RedisModule_OnLoad should be:" "$exported"
  exit 1
fi
