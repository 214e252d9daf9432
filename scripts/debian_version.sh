#!/usr/bin/env bash
# debian_version.sh [--update]: debian/ agrees with include/besom.h and src/besom.symbols: the version
# of the changelog, the names of the library packages, which contain the soversion, and the symbols
# of libbesom. With --update, makes them agree: an entry of the changelog that is UNRELEASED gets the
# new version; otherwise there is a new entry.
set -eu
cd "$(dirname "$0")/.."

number() { sed -n "s/^#define BESOM_VERSION_$1 //p" include/besom.h; }
version=$(number MAJOR).$(number MINOR).$(number PATCH)
soversion=$(number MAJOR)
if [[ $soversion == 0 ]]; then soversion=0.$(number MINOR); fi # as in CMakeLists.txt

found_version=$(sed -nE '1s/^besom \(([^)]*)\).*/\1/p' debian/changelog)
found_soversion=$(sed -nE 's/^Package: libbesom([0-9][0-9.]*)$/\1/p' debian/control)
symbols=debian/libbesom$soversion.symbols

# The file of the library's symbols. A symbol keeps the version in which it came, as long as the
# soversion is the same; a new symbol gets this version.
wanted_symbols() {
  echo "libbesom.so.$soversion libbesom$soversion #MINVER#"
  echo "* Build-Depends-Package: libbesom-dev"
  local known=/dev/null
  if [[ -e $symbols ]]; then known=$symbols; fi
  awk -v version="$version" -v prefix="$soversion." '
    NR == FNR && sub(/@Base$/, "", $1) && index($2, prefix) == 1 { since[$1] = $2 }
    NR != FNR || FILENAME == "src/besom.symbols" {
      print " " $1 "@Base " ($1 in since ? since[$1] : version)
    }' "$known" src/besom.symbols
}

update() {
  if [[ $found_soversion != "$soversion" ]]; then
    local file
    for file in debian/libbesom*"$found_soversion".*; do
      mv "$file" "${file/$found_soversion/$soversion}"
    done
    sed -i "s/\(libbesom[a-z-]*\)${found_soversion//./\\.}\b/\1$soversion/g" debian/control
    sed -i "s/${found_soversion//./\\.}/$soversion/g" debian/libbesom-*"$soversion".symbols
  fi
  if [[ $found_version != "$version" ]]; then
    if head -1 debian/changelog | grep -q UNRELEASED; then
      sed -i "1s/(.*)/($version)/" debian/changelog
    else
      { printf 'besom (%s) UNRELEASED; urgency=medium\n\n  * Release %s.\n\n' "$version" "$version"
        printf ' -- %s  %s\n\n' "$(sed -n 's/^Maintainer: //p' debian/control)" "$(date -R)"
        cat debian/changelog; } >debian/changelog.new
      mv debian/changelog.new debian/changelog
    fi
  fi
  wanted_symbols >debian/symbols.new
  mv debian/symbols.new "$symbols"
}

bad=0
complain() {
  echo "debian_version.sh: $1" >&2
  bad=1
}

check() {
  [[ $found_version == "$version" ]] ||
    complain "debian/changelog has version $found_version, include/besom.h has $version"
  local package file
  for package in libbesom libbesom-lmdb libbesom-rocksdb libbesom-redis; do
    grep -qx "Package: $package$soversion" debian/control ||
      complain "debian/control has no package $package$soversion"
    for file in "debian/$package$soversion".{install,symbols}; do
      [[ -e $file ]] || complain "there is no $file"
    done
  done
  if [[ -e $symbols ]] && ! diff "$symbols" <(wanted_symbols); then
    complain "$symbols (<) differs from src/besom.symbols (>)"
  fi
  if [[ $bad != 0 ]]; then echo "Run: scripts/debian_version.sh --update" >&2; fi
  exit $bad
}

case ${1-} in
--update) update ;;
'') check ;;
*)
  echo "usage: $0 [--update]" >&2
  exit 2
  ;;
esac
