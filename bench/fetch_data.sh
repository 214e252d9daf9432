#!/usr/bin/env bash
# fetch_data.sh [-d DIRECTORY] [NAME...]: fetches public data from packages, with npm and apt-get.
# Default: all, into data/lists.
#   blocklist   ads.txt, phishing.txt, malware.txt   domains of blocklists (npm: @adguard/dnr-rulesets)
#   popular     popular.txt     the most linked domains (npm: top-sites)
#   npm         npm.txt         more than a million package names (npm: all-the-package-names)
#   disposable  disposable.txt  domains of disposable e-mail addresses (npm: disposable-domains)
#   words       words.txt       English words (Debian: wamerican-huge)
#   trace       trace.txt       blocks that a web server read and wrote, in order (Debian:
#                               blkreplay-examples)
#               trace-web.txt, trace-mysql.txt, trace-mssql.txt   the same of another web server and
#                               of two databases, each block after R or W
# The first three also give the two lists of `besom-bench run real-lists`:
#   yes.txt     domains of phishing and malware
#   no.txt      the most linked domains and the package names, without those of yes.txt
set -eu -o pipefail

into=data/lists
if [[ ${1-} == -d ]]; then
  into=$2
  shift 2
fi
[[ $# -gt 0 ]] || set -- blocklist popular npm disposable words trace linker
mkdir -p "$into"
into=$(realpath "$into")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

need() {
  command -v "$1" >/dev/null && return
  echo "$1 is needed: install it (Debian: apt-get install $2)" >&2
  exit 1
}

# keep FILE: writes standard input to that list, sorted and atomically.
keep() {
  sort -u >"$work/list"
  mv "$work/list" "$into/$1"
}

# from_npm PACKAGE: fetches a package; then from_archive FILE prints one of its files.
from_npm() {
  need npm npm
  echo "fetching $1" >&2
  archive=$work/$(cd "$work" && npm pack --silent "$1")
}
from_archive() { tar xzOf "$archive" "package/$1"; }

# from_debian PACKAGE: fetches a package without installing it; then from_package FILE prints one of
# its files.
from_debian() {
  need apt-get apt
  echo "fetching $1" >&2
  package=$work/$1
  mkdir "$package"
  (cd "$package" && apt-get download -qq "$1" 2>/dev/null) || {
    echo "cannot download $1: check the network; apt-get update may help" >&2
    exit 1
  }
}
from_package() { dpkg --fsys-tarfile "$package"/*.deb | tar xOf - "./$1"; }

# The requests of a block device: R or W, and the first block.
requests_of() {
  from_package "usr/share/doc/blkreplay-examples/examples/example-load/natural/$1.load.gz" | gzip -dc |
    awk -F ' *; *' '$4 == "R" || $4 == "W" { print $4, $2 + 0 }'
}

# keep_order FILE: like keep, but keeps the order of the lines.
keep_order() {
  cat >"$work/list"
  mv "$work/list" "$into/$1"
}

# The domains that a rule set blocks completely.
domains_of() {
  from_archive "dist/filters/declarative/ruleset_$1/ruleset_$1.json" |
    grep -oE '"urlFilter":"\|\|[^/^"*]+\^"' | sed -E 's/^"urlFilter":"\|\|//; s/\^"$//'
}

strings_of_json() { sed -nE 's/^[^"]*"([^"]*)".*/\1/p'; }

# The lookups of the dynamic linker while some programs start: the path of a file, and a symbol.
lookups_of_linker() {
  local program
  for program in "python3 -c 'import ssl, sqlite3, json, ctypes, decimal, lzma'" "git --version" \
    "gcc --version" "perl -v" "curl --version" "apt-get --version" "tar --version" "sort --version"; do
    LD_DEBUG=symbols LD_BIND_NOW=1 LD_DEBUG_OUTPUT=$work/ld bash -c "exec $program" \
      >"$work/output" 2>&1 </dev/null || true # a program that is missing is left out
    cat "$work"/ld.*
    rm "$work"/ld.*
  done | sed -nE 's/.*symbol=([^;]*);  lookup in file=(\/[^ ]*) .*/\2 \1/p'
}

# symbols_of: reads paths, and writes FILE SYMBOL for the symbols that they define.
symbols_of() {
  local file
  while read -r file; do
    nm -D --defined-only "$file" | awk -v file="$file" '{ sub(/@.*/, "", $NF); print file, $NF }'
  done
}

fetch() {
  case $1 in
  blocklist)
    from_npm @adguard/dnr-rulesets
    domains_of 2 | keep ads.txt
    domains_of 208 | keep malware.txt
    domains_of 255 | keep phishing.txt
    ;;
  popular)
    from_npm top-sites
    from_archive top-sites.json | sed -nE 's/.*"rootDomain": *"([^"]*)".*/\1/p' | keep popular.txt
    ;;
  npm)
    from_npm all-the-package-names@2.0.0
    from_archive names.json | strings_of_json | keep npm.txt
    ;;
  disposable)
    from_npm disposable-domains
    from_archive index.json | strings_of_json | keep disposable.txt
    ;;
  words)
    from_debian wamerican-huge
    from_package usr/share/dict/american-english-huge | keep words.txt
    ;;
  trace)
    from_debian blkreplay-examples
    requests_of linux-webserver-2 | cut -d ' ' -f 2 | keep_order trace.txt
    requests_of linux-webserver-1 | keep_order trace-web.txt
    requests_of linux-mysql | keep_order trace-mysql.txt
    requests_of windows-mssql | keep_order trace-mssql.txt
    ;;
  linker)
    need nm binutils
    lookups_of_linker | keep_order linker.txt
    cut -d ' ' -f 1 "$into/linker.txt" | sort -u | symbols_of | keep linker-set.txt
    ;;
  *)
    echo "there is no list $1: see the comment at the top of $0" >&2
    exit 2
    ;;
  esac
}

for name in "$@"; do fetch "$name"; done

cd "$into"
if [[ -e phishing.txt && -e malware.txt && -e popular.txt && -e npm.txt ]]; then
  sort -u phishing.txt malware.txt | keep yes.txt
  sort -u popular.txt npm.txt | comm -23 - yes.txt | keep no.txt
fi
wc -l ./*.txt
