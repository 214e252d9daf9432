#!/usr/bin/env bash
# fetch-lists.sh [directory]: fetches real lists, as npm packages, for `besom-bench run real-lists`. Default: data/lists.
#   yes.txt  domains of phishing and malware
#   no.txt   the most linked domains, and a million and more names that are no such domains
set -eu -o pipefail

into=${1-data/lists}
command -v npm >/dev/null || {
  echo "npm is needed: apt-get install npm" >&2
  exit 1
}
mkdir -p "$into"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch NAME FILE...: prints files of an npm package.
fetch() {
  local name=$1
  shift
  echo "fetching $name" >&2
  (cd "$work" && npm pack --silent "$name") >"$work/packed"
  local file
  for file in "$@"; do tar xzOf "$work/$(cat "$work/packed")" "package/$file"; done
}

rules=dist/filters/declarative
fetch @adguard/dnr-rulesets $rules/ruleset_208/ruleset_208.json $rules/ruleset_255/ruleset_255.json |
  grep -oE '"urlFilter":"\|\|[^/^"*]+\^"' | sed -E 's/^"urlFilter":"\|\|//; s/\^"$//' | sort -u >"$work/yes"
{
  fetch top-sites top-sites.json | sed -nE 's/.*"rootDomain": *"([^"]*)".*/\1/p'
  fetch all-the-package-names@2.0.0 names.json | sed -nE 's/^[^"]*"([^"]*)".*/\1/p'
} | sort -u | comm -23 - "$work/yes" >"$work/no"
mv "$work/yes" "$into/yes.txt"
mv "$work/no" "$into/no.txt"
wc -l "$into/yes.txt" "$into/no.txt"
