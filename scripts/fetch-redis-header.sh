#!/usr/bin/env bash
# fetch-redis-header.sh header FILE: fetches redismodule.h from Debian's source package of Redis.
# fetch-redis-header.sh valkey DIRECTORY: fetches valkey-server and valkey-cli from Debian's
# backports and unpacks them. Both use the package sources of this machine in a private directory of
# apt: nothing is installed, and nothing outside of FILE or DIRECTORY changes.
set -eu -o pipefail

usage() {
  echo "usage: $0 header FILE | valkey DIRECTORY" >&2
  exit 2
}
[[ $# -eq 2 ]] || usage

fail() {
  echo "$0: $1" >&2
  exit 1
}
command -v apt-get >/dev/null || fail "apt-get not found: get the $1 by hand (docs/redis.md says where)"

mkdir -p "$(dirname "$2")"
into=$(realpath "$(dirname "$2")")/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts"
# apt may download as another user.
chmod -R a+rX "$work"

codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[[ -n $codename ]] || fail "this is not Debian"

# Every entry for this release in the machine's own sources, as lines "options uri suite
# components".
own_sources() {
  shopt -s nullglob
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $file ]] && sed -nE 's/^[[:space:]]*deb[[:space:]]+//p' "$file" | grep -E "[[:space:]]$codename" || true
  done
  for file in /etc/apt/sources.list.d/*.sources; do stanzas "$file"; done
}

# The same for a file in the deb822 format.
stanzas() {
  awk -v codename="$codename" -v RS= '{
    uris = suites = components = key = ""
    count = split($0, lines, "\n")
    for (i = 1; i <= count; i++) {
      if (lines[i] ~ /^#/) continue
      value = lines[i]
      sub(/^[^:]*:[ \t]*/, "", value)
      if (lines[i] ~ /^URIs:/) uris = value
      if (lines[i] ~ /^Suites:/) suites = value
      if (lines[i] ~ /^Components:/) components = value
      if (lines[i] ~ /^Signed-By:[ \t]*\//) key = "[signed-by=" value "] "
    }
    number = split(suites, each, /[ \t]+/)
    split(uris, uri, /[ \t]+/)
    for (i = 1; i <= number; i++) if (index(each[i], codename) == 1) print key uri[1], each[i], components
  }' "$1"
}

private_apt() {
  apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts="$work/parts" \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o Acquire::Languages=none \
    -o APT::Sandbox::User="$(id -un)" "$@"
}

fetch_header() {
  own_sources | sed 's/^/deb-src /' >"$work/sources.list"
  [[ -s $work/sources.list ]] || fail "no sources of $codename under /etc/apt"
  private_apt update
  (cd "$work" && private_apt source --download-only redis)
  tar -xOf "$work"/redis_*.orig.tar.* --wildcards '*/src/redismodule.h' >"$work/redismodule.h"
  mv "$work/redismodule.h" "$into"
}

fetch_valkey() {
  own_sources | grep -E " $codename " | sed -E "s/^/deb /; s/ $codename / $codename-backports /" >"$work/sources.list"
  [[ -s $work/sources.list ]] || fail "no sources of $codename under /etc/apt"
  private_apt update
  (cd "$work" && private_apt download valkey-server valkey-tools)
  mkdir -p "$into"
  local package
  for package in "$work"/*.deb; do dpkg-deb -x "$package" "$into"; done
}

case $1 in
header) fetch_header ;;
valkey) fetch_valkey ;;
*) usage ;;
esac
