#!/usr/bin/env bash
# include_rules.sh ROOT: which directories may include which (docs/architecture.md). Prints every
# #include that breaks the rule. Functions return in $REPLY: a subshell per line would take seconds.
set -eu
cd "$1"

# The patterns that a file may include, besides its own directory.
allowed() {
  case $1 in
  src/core/*) REPLY='include/besom.h' ;;
  src/quotient/* | src/cuckoo/* | src/bloom/* | src/ribbon/* | src/layered/* | src/file/*)
    REPLY='src/core/* src/filter.h include/besom.h include/besom_plan.h include/besom_reverse.h'
    [[ $1 != src/layered/* ]] || REPLY+=' src/ribbon/retrieval.h'
    ;;
  src/store/lmdb.c | src/store/rocksdb.c | src/store/redis.c | src/store/*_sidecar.c) REPLY='include/*' ;; # own libraries
  src/store/*) REPLY='src/core/* include/*' ;;
  src/guard/*) REPLY='src/core/* src/filter.h include/*' ;;
  src/sidecar/*) REPLY='src/core/* include/*' ;;
  bench/prototypes/*) REPLY='include/* src/*' ;;
  cli/* | bench/*) REPLY='include/* program/*' ;;
  web/playground/*) REPLY='include/* src/* program/*' ;; # draws what is inside a table
  web/wasm/*) REPLY='include/* src/*' ;;
  redis/*) REPLY='include/* program/counters.h program/config_text.h src/layered/cache.h' ;;
  program/* | examples/* | sqlite/* | python/*) REPLY='include/*' ;;
  *) REPLY='*' ;; # src/*.c connects the parts
  esac
}

# src/quotient/table.c -> src/quotient, bench/claims/x.c -> bench
own_directory() {
  local parts
  IFS=/ read -ra parts <<<"$1"
  if [[ ${parts[0]} == src ]]; then REPLY="src/${parts[1]}"; else REPLY="${parts[0]}"; fi
}

# The file that #include "$2" in file $1 means, searched where the compiler searches.
resolve() {
  local dir own
  own_directory "$1"
  own=$REPLY
  for dir in "${1%/*}" "$own" src include program; do
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

# The files of a library of its own may include only each other.
own_files() {
  case $1 in
  src/store/lmdb.c | src/store/lmdb_sidecar.c) REPLY=src/store/lmdb_errors.h ;;
  src/store/rocksdb.c | src/store/rocksdb_sidecar.c) REPLY=src/store/rocksdb_errors.h ;;
  src/store/redis.c) REPLY= ;;
  *)
    own_directory "$1"
    REPLY+='/*'
    ;;
  esac
}

may_include() {
  local pattern patterns
  allowed "$1"
  patterns=$REPLY
  own_files "$1"
  read -ra patterns <<<"$patterns $REPLY"
  for pattern in "${patterns[@]}"; do
    # shellcheck disable=SC2053 # it is a pattern
    [[ $2 == $pattern ]] && return 0
  done
  REPLY=${patterns[*]}
  return 1
}

dirs=()
for dir in src program cli redis sqlite python web bench examples; do
  if [[ -d $dir ]]; then dirs+=("$dir"); fi
done

bad=0
while IFS=: read -r file line text; do
  text=${text#*\"}
  resolve "$file" "${text%%\"*}"
  included=$REPLY
  if ! may_include "$file" "$included"; then
    echo "$file:$line: may not include $included (allowed: $REPLY)"
    bad=1
  fi
done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "${dirs[@]}")
exit $bad
