#!/usr/bin/env bash
# include_rules.sh ROOT: which directories may include which. Prints every #include that breaks the
# rule, and those by which the module for Redis would need the path of xxhash.h: it has none.
# Functions return in $REPLY: a subshell per line would take seconds.
set -eu
cd "$1"

# Rooms of src/: each includes itself, src/core/, what a kind is, and what its line names.
kind='src/core/* src/kind.h src/kind_parts.h src/kinds.h src/kind_options.h include/besom.h include/besom_lists.h include/besom_plan.h include/besom_reverse.h include/besom_map.h'
allowed() {
  case $1 in
  src/core/*) REPLY='src/core/* include/besom.h' ;;
  src/api/*) REPLY="$kind src/file/container.h src/exceptions/*" ;;
  src/build/*) REPLY="$kind src/lists/updated.h src/exceptions/*" ;;
  src/quotient/table/*)
    REPLY="$kind src/quotient/fingerprint/multislot.h src/quotient/quotient_calls.h"
    REPLY+=' src/quotient/aqf/concurrent/concurrent_calls.h'
    ;;
  src/quotient/fingerprint/*) REPLY="$kind src/quotient/table/*" ;;
  src/quotient/*) REPLY="$kind src/exceptions/* src/quotient/*" ;;
  src/exceptions/* | src/bloom/* | src/cuckoo/* | src/partition/* | src/ribbon/*) REPLY=$kind ;;
  src/layers/* | src/file/*) REPLY="$kind src/exceptions/reports.h" ;;
  src/chains/*) REPLY="$kind src/layers/* src/exceptions/pairs.h" ;;
  src/stacked/*) REPLY="$kind src/layers/*" ;;
  src/lists/*) REPLY="$kind src/layers/* src/ribbon/retrieval.h" ;;
  src/papers/adaptive_cuckoo/*) REPLY="$kind src/cuckoo/*" ;;
  src/papers/adaptive_stacked/*) REPLY="$kind src/layers/* src/stacked/*" ;;
  src/papers/telescoping/* | src/papers/broom/*)
    REPLY="$kind src/quotient/* src/papers/telescoping/* src/papers/broom/rounds.h"
    ;;
  src/papers/yesno_dynamic/*) REPLY="$kind src/quotient/*" ;;
  src/papers/*) REPLY="$kind src/layers/*" ;;
  src/store/lmdb/* | src/store/rocksdb/* | src/store/redis/*) REPLY='include/* src/store/store_directory.h' ;; # own libraries
  src/store/*) REPLY='src/core/* include/* src/store/*.h' ;;
  src/guard/*) REPLY='src/core/* src/kind.h include/* src/guard/*' ;;
  src/published/*) REPLY='src/core/* src/kind.h include/*' ;;
  src/sidecar/*) REPLY='src/core/* include/*' ;;
  src/kind.h | src/kind_parts.h | src/kinds.[ch]) REPLY='src/core/* src/kind.h src/kinds.h src/kind_options.h include/*' ;;
  bench/prototypes/*) REPLY='include/* src/*' ;;
  cli/* | bench/*) REPLY='include/* program/*' ;;
  web/playground/*) REPLY='include/* src/* program/*' ;; # draws what is inside a table
  web/test/*) REPLY='include/* tests/*' ;; # the laws, in WebAssembly
  web/wasm/*) REPLY='include/* src/*' ;;
  redis/*) REPLY='include/* program/counters.h program/config_text.h src/papers/cached/cache.h src/exceptions/exceptions.h src/core/blocks.h src/file/container.h src/quotient/packed/packed.h' ;;
  program/* | examples/* | sqlite/* | python/*) REPLY='include/*' ;;
  *) REPLY= ;; # a new room needs a line
  esac
}

# src/quotient/table/walk.h -> src/quotient/table, bench/claims/x.c -> bench
own_directory() {
  if [[ $1 == src/*/* ]]; then REPLY=${1%/*}; else REPLY=${1%%/*}; fi
}

# The file that #include "$2" in file $1 means, searched where the compiler searches.
resolve() {
  local dir own search="program include src tests"
  [[ $1 != src/* && $1 != web/wasm/* ]] || search="src include"
  own_directory "$1"
  own=$REPLY
  for dir in "${1%/*}" "$own" $search; do
    if [[ -e $dir/$2 ]]; then
      normalize "$dir/$2"
      return
    fi
  done
  REPLY=$2
}

# a/b/../c -> a/c
normalize() {
  REPLY=$1
  while [[ $REPLY =~ ^(.*/)?[^/.]+/\.\./(.*)$ ]]; do REPLY=${BASH_REMATCH[1]}${BASH_REMATCH[2]}; done
}

may_include() {
  local pattern patterns
  allowed "$1"
  patterns=$REPLY
  own_directory "$1"
  read -ra patterns <<<"$patterns $REPLY/*"
  for pattern in "${patterns[@]}"; do
    # shellcheck disable=SC2053 # it is a pattern
    [[ $2 == $pattern ]] && return 0
  done
  REPLY=${patterns[*]}
  return 1
}

# Whether the file is src/core/hash.h, or includes it, also by others.
declare -A includes_of=()
reaches_hash() {
  local file
  [[ $1 == src/core/hash.h ]] && return
  for file in ${includes_of[$1]-}; do
    if reaches_hash "$file"; then return; fi
  done
  return 1
}

dirs=()
for dir in src program cli redis sqlite python web bench examples; do
  if [[ -d $dir ]]; then dirs+=("$dir"); fi
done

bad=0
of_redis=()
while IFS=: read -r file line text; do
  text=${text#*\"}
  resolve "$file" "${text%%\"*}"
  included=$REPLY
  includes_of[$file]+=" $included"
  if [[ $file == redis/* && $included == src/* ]]; then of_redis+=("$file:$line:$included"); fi
  if ! may_include "$file" "$included"; then
    echo "$file:$line: may not include $included (allowed: $REPLY)"
    bad=1
  fi
done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "${dirs[@]}")
for place in "${of_redis[@]}"; do
  if reaches_hash "${place##*:}"; then
    echo "${place%:*}: ${place##*:} needs xxhash.h"
    bad=1
  fi
done
exit $bad
