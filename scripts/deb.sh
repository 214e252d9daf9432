#!/usr/bin/env bash
# deb.sh DIRECTORY [OPTION...]: builds the Debian packages in DIRECTORY, from a copy of the sources,
# so that the tree itself stays clean, and checks them with lintian. OPTIONs are those of
# dpkg-buildpackage. DEB_BUILD_OPTIONS=nocheck builds without the laws of filters.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd -P) # as git names it
mkdir -p "$1"
into=$(cd "$1" && pwd)
shift

# What git knows, or everything but the build products.
files() {
  if [[ $(git rev-parse --show-toplevel 2>/dev/null) == "$source" ]]; then
    git ls-files -z --cached --others --exclude-standard
  else
    find . -path ./build -prune -o -path ./data -prune -o -type f -print0
  fi
}

tree=$into/besom
rm -rf "$tree" "$into"/*.deb "$into"/*.buildinfo "$into"/*.changes
mkdir -p "$tree"
cd "$source"
files | while IFS= read -r -d '' file; do if [[ -e $file ]]; then printf '%s\0' "$file"; fi; done |
  tar --null --files-from=- -cf - | tar -C "$tree" -xf -

# redismodule.h is fetched once.
if [[ -z ${BESOM_REDISMODULE_H-} ]]; then
  header=$source/build/redis/header/redismodule.h
  if [[ -e $header ]] || scripts/fetch-redis-header.sh header "$header"; then
    export BESOM_REDISMODULE_H=$header
  else
    echo "redismodule.h cannot be fetched: there will be no package besom-redis" >&2
    set -- "$@" -Ppkg.besom.noredis
  fi
fi

cd "$tree"
dpkg-buildpackage -b -us -uc "$@"
cd "$into"
lintian --info --display-info --pedantic --fail-on error --allow-root ./*.changes
ls ./*.deb
