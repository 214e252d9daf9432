#!/usr/bin/env bash
# include_rules.sh ROOT: who may include whom (docs/architecture.md). Prints every include that is against it.
set -eu
cd "$1"

# The patterns that a file may include, besides its own directory.
allowed() {
  case $1 in
  src/core/*) echo 'include/besom.h' ;;
  src/quotient/* | src/cuckoo/* | src/bloom/* | src/layered/* | src/file/*)
    echo 'src/core/* src/filter.h include/besom.h'
    ;;
  src/store/lmdb.c | src/store/rocksdb.c | src/store/redis.c) echo 'include/*' ;; # libraries of their own
  src/store/*) echo 'src/core/* include/*' ;;
  src/guard/*) echo 'src/core/* src/filter.h include/*' ;;
  cli/* | bench/*) echo 'include/* program/*' ;;
  redis/*) echo 'include/* program/counters.h program/config_text.h' ;;
  program/* | examples/*) echo 'include/*' ;;
  *) echo '*' ;; # src/*.c ties the parts together
  esac
}

# src/quotient/table.c -> src/quotient, bench/claims/x.c -> bench
own_directory() {
  local parts
  IFS=/ read -ra parts <<<"$1"
  if [[ ${parts[0]} == src ]]; then echo "src/${parts[1]}"; else echo "${parts[0]}"; fi
}

# The file that #include "$2" in file $1 means, searched where the compiler searches.
resolve() {
  local dir
  for dir in "$(dirname "$1")" "$(own_directory "$1")" src include program; do
    if [[ -e $dir/$2 ]]; then
      realpath --relative-to=. "$dir/$2"
      return
    fi
  done
  echo "$2"
}

# What stands for itself does not see its neighbours.
own_files() {
  case $1 in
  src/store/lmdb.c | src/store/rocksdb.c | src/store/redis.c) ;;
  *) echo "$(own_directory "$1")/*" ;;
  esac
}

may_include() {
  local pattern patterns
  read -ra patterns <<<"$(allowed "$1") $(own_files "$1")"
  for pattern in "${patterns[@]}"; do
    # shellcheck disable=SC2053 # it is a pattern
    [[ $2 == $pattern ]] && return 0
  done
  return 1
}

dirs=()
for dir in src program cli redis bench examples; do
  if [[ -d $dir ]]; then dirs+=("$dir"); fi
done

bad=0
while IFS=: read -r file line text; do
  included=$(resolve "$file" "$(sed -E 's/[^"]*"([^"]*)".*/\1/' <<<"$text")")
  if ! may_include "$file" "$included"; then
    echo "$file:$line: may not include $included (allowed: $(allowed "$file") and $(own_files "$file"))"
    bad=1
  fi
done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "${dirs[@]}")
exit $bad
