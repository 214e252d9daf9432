#!/usr/bin/env bash
# version.sh ROOT [BUILD]: include/besom.h defines the version, and nothing else disagrees: neither
# the files of ROOT that state a version, nor what was built from it in BUILD. Prints every
# violation and ends with 1 if there is one.
set -eu
root=$1 build=${2-}

part() { sed -nE "s/^#define BESOM_VERSION_$1 ([0-9]+)$/\1/p" "$root/include/besom.h"; }
version=$(part MAJOR).$(part MINOR).$(part PATCH)
minor=${version%.*} # the soname has it until 1.0
bad=0

# equal PLACE FOUND EXPECTED
equal() {
  if [[ $2 == "$3" ]]; then return; fi
  echo "$1: \"$2\" should be \"$3\""
  bad=1
}

# ------------------------------------------------------------------ sources

if [[ ! $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
  echo "include/besom.h: \"$version\" is no version"
  exit 1
fi
equal "include/besom.h, example of besom_version" \
  "$(sed -nE 's/.*version of the library at run time, for example "([^"]*)".*/\1/p' "$root/include/besom.h")" \
  "$version"

if [[ -e $root/CHANGELOG.md ]]; then
  equal "CHANGELOG.md, newest release" \
    "$(sed -nE 's/^## ([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' "$root/CHANGELOG.md" | head -n 1)" "$version"
fi
if [[ -e $root/debian/changelog ]]; then
  equal "debian/changelog, newest version" \
    "$(sed -nE '1s/^besom \(([0-9.]+)(-[^)]*)?\).*/\1/p' "$root/debian/changelog")" "$version"
fi
if [[ -e $root/CITATION.cff ]]; then
  equal "CITATION.cff" "$(sed -nE 's/^version: (.*)/\1/p' "$root/CITATION.cff")" "$version"
fi
if [[ -e $root/web/package.json ]] && grep -n '"version"' "$root/web/package.json"; then
  echo "web/package.json: web/build.mjs adds the version; remove it here"
  bad=1
fi

# Names with the version before 1.0: "libbesom.so.0.2", "libbesom0.2", "find_package(besom 0.2", and
# "Version 0.2" at the beginning of a line. CHANGELOG.md tells the past.
shopt -s nullglob
files=("$root"/*.md "$root"/docs/*.md "$root"/CMakeLists.txt "$root"/tests/system/install/CMakeLists.tx[t]
  "$root"/debian/contro[l] "$root"/debian/*.install "$root"/debian/*.symbols)
for file in "${files[@]}"; do
  if [[ $file == */CHANGELOG.md ]]; then continue; fi
  while IFS=: read -r line stated; do
    equal "${file#"$root"/}:$line" "$stated" "$minor"
  done < <(grep -noP '(libbesom(-[a-z]+)?\.so\.|\blibbesom(-[a-z]+)?|find_package\(besom |^(- )?Version )\K[0-9]+\.[0-9]+' \
    "$file")
done

# ------------------------------------------------------------------ what was built

if [[ -n $build ]]; then
  equal "$build/libbesom.so" "$(readlink -f "$build/libbesom.so")" \
    "$(readlink -f "$build")/libbesom.so.$version"
  equal "$build/libbesom.so, soname" \
    "$(objdump -p "$build/libbesom.so" | awk '$1 == "SONAME" { print $2 }')" "libbesom.so.$minor"
  for file in "$build"/besom*.pc; do
    equal "$file" "$(sed -n 's/^Version: //p' "$file")" "$version"
  done
  equal "$build/besom-config-version.cmake" \
    "$(sed -nE 's/^set\(PACKAGE_VERSION "(.*)"\)/\1/p' "$build/besom-config-version.cmake")" "$version"
  if [[ -e $build/besom ]]; then equal "besom --version" "$("$build/besom" --version)" "besom $version"; fi
  if [[ -e $build/besom-bench ]]; then
    equal "besom-bench --version" "$("$build/besom-bench" --version)" "besom-bench $version"
  fi
  for file in "$build"/man/*.1; do
    equal "$file" "$(sed -nE '1s/.*"(.*)"$/\1/p' "$file")" "besom $version"
  done
fi
exit $bad
