#!/usr/bin/env bash
# release-check.sh ROOT BUILD [CHECK...]: what is missing for a release of the sources in ROOT, built
# in BUILD. Prints a line per check: "ok", or what to do. Ends with 1 if there is something to do.
# With CHECKs, runs these only. docs/releasing.md has the steps that people do.
# shellcheck disable=SC2317 # the checks are called by name
set -u
tests=$(cd "$(dirname "$0")/../tests/quality/scripts" && pwd)
scripts=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$1" && pwd) build=$2
shift 2
cd "$root" || exit 1
part() { sed -nE "s/^#define BESOM_VERSION_$1 ([0-9]+)$/\1/p" include/besom.h; }
version=$(part MAJOR).$(part MINOR).$(part PATCH)

# A check prints what is wrong, and fails; or it prints nothing or a remark, and succeeds.

check_version() { # every place that states a version agrees, in sources and in what was built
  "$tests/version.sh" "$root" "$build"
}

check_changelog() { # the release has a date, and nothing is unreleased
  local newest unreleased
  newest=$(grep -m1 -E '^## [0-9]' CHANGELOG.md)
  if [[ ! $newest =~ ^##\ "$version"\ \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$ ]]; then
    echo "CHANGELOG.md: the first release should be \"## $version (YYYY-MM-DD)\", not \"$newest\""
    return 1
  fi
  unreleased=$(sed -n '/^## Unreleased/,/^## [0-9]/p' CHANGELOG.md | grep -v '^## ' | grep .)
  if [[ -n $unreleased ]]; then
    echo "CHANGELOG.md: move what is unreleased to $version"
    return 1
  fi
  if ! grep -q '^## Unreleased' CHANGELOG.md; then
    echo "CHANGELOG.md: add an empty heading \"## Unreleased\""
    return 1
  fi
}

check_debian() { # the packages are of this version; version.sh compares the number
  if [[ ! -e debian/changelog ]]; then
    echo "no debian/"
  elif head -n 1 debian/changelog | grep -q UNRELEASED; then
    echo "debian/changelog: still UNRELEASED: dch --release"
    return 1
  fi
}

check_committed() { # what is released is in the repository
  local changes
  changes=$(git status --porcelain | head -n 5)
  if [[ -n $changes ]]; then
    echo "commit or remove these first:"
    echo "$changes"
    return 1
  fi
}

check_tag() { # a release is made once
  if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
    echo "the tag v$version exists: raise the version in include/besom.h"
    return 1
  fi
}

check_built() { # the library is newer than its sources; those of databases are other libraries
  local newer
  newer=$(find include src -name '*.[ch]' ! -path 'src/store/*' \
    -newer "$(readlink -f "$build/libbesom.so")" 2>&1 | head -n 3)
  if [[ -n $newer ]]; then
    echo "run make: the library is older than these files"
    echo "$newer"
    return 1
  fi
}

last_release() { git tag --list 'v[0-9]*' --sort=-v:refname | head -n 1; }

check_symbols() { # the list of exported symbols is current, and within a minor version it only grows
  local last gone
  "$tests/shared_symbols.sh" "$build/libbesom.so" src/besom.symbols || return 1
  last=$(last_release)
  if [[ ${last%.*} != "v${version%.*}" ]]; then return 0; fi
  gone=$(git show "$last:src/besom.symbols" | LC_ALL=C comm -23 - src/besom.symbols)
  if [[ -n $gone ]]; then
    echo "these symbols of $last are gone: raise the minor version"
    echo "$gone"
    return 1
  fi
}

check_golden() { # every golden file can be read, and none of an earlier release has changed
  local file last changed bad=0
  for file in tests/golden/*.besom; do
    "$build/besom" verify "$file" >/dev/null 2>&1 || {
      echo "$file: besom verify refuses it"
      bad=1
    }
  done
  last=$(last_release)
  if [[ -z $last ]]; then return "$bad"; fi
  changed=$(git diff --name-only --diff-filter=MDRT "$last" -- 'tests/golden/*.besom' tests/system/redis/fixtures \
    'tests/releases/[0-9]*')
  if [[ -n $changed ]]; then
    echo "these files are of $last and must stay as they were:"
    echo "$changed"
    bad=1
  fi
  return "$bad"
}

check_links() { # links of the documentation lead somewhere
  python3 "$tests/links.py" "$root"
}

check_pages() { # pages that a release needs, as more than a heading
  local page bad=0
  for page in README.md SECURITY.md CHANGELOG.md docs/{README,compatibility,install,platforms,releasing,trust}.md; do
    if [[ ! -e $page ]] || [[ $(wc -l <"$page") -lt 10 ]]; then
      echo "$page: write it"
      bad=1
    fi
  done
  return "$bad"
}

check_manual() { # manual pages are clean
  local code=0
  "$tests/manual_pages.sh" "$build/man" || code=$?
  if [[ $code -eq 77 ]]; then echo "install mandoc"; fi
  return "$code"
}

check_prose() { # words and columns of texts
  "$tests/prose_rules.sh" "$root"
}

check_format() { # C files are formatted
  local code=0
  "$tests/format.sh" "$root" || code=$?
  if [[ $code -eq 77 ]]; then echo "install clang-format 14"; fi
  return "$code"
}

check_targets() { # every "make TARGET" of the documentation exists
  local target bad=0
  while read -r target; do
    grep -qE "^$target:" Makefile || {
      echo "the documentation has \"make $target\", the Makefile has not"
      bad=1
    }
  done < <(cat README.md CONTRIBUTING.md SECURITY.md docs/*.md |
    grep -oP '(`make |^make (?=[a-z-]+ *(#|$)))\K[a-z][a-z-]*' | sort -u)
  return "$bad"
}

check_readme() { # its first commands are make demo and make test, and the Makefile knows all of them
  local commands target
  commands=$("$scripts/readme_example.sh" README.md sh | sed -nE 's/^make ([a-z-]+).*/\1/p') || return 1
  for target in demo test; do
    grep -qx "$target" <<<"$commands" || {
      echo "README.md: name \"make $target\" in the first block of commands"
      return 1
    }
  done
  for target in $commands; do
    make -n "$target" >/dev/null 2>&1 || {
      echo "README.md has \"make $target\", but \"make -n $target\" fails"
      return 1
    }
  done
}

check_clone() { # the two commands of the README work in a clean checkout: ten minutes
  local place command code=0
  place=$(mktemp -d)
  git clone -q . "$place/besom" || return 1
  for command in demo test; do
    make -C "$place/besom" "$command" >"$place/log" 2>&1 </dev/null || {
      echo "make $command fails in a clean checkout:"
      tail -n 20 "$place/log"
      code=1
    }
  done
  rm -rf "$place"
  return "$code"
}

check_results() { # docs/results.md says which commit it is of
  local commit since
  commit=$(sed -nE 's/^- Measured .*commits? ([0-9a-f]{7,40}).*/\1/p' docs/results.md | head -n 1)
  if [[ -z $commit ]]; then
    echo "docs/results.md: it names no commit: run make report"
    return 1
  fi
  if ! since=$(git rev-list --count "$commit..HEAD" -- src include 2>/dev/null); then
    echo "docs/results.md: $commit is no commit of this repository: run make report"
    return 1
  fi
  if [[ $since -gt 0 ]]; then echo "of $commit; $since commits have changed src/ or include/ since"; fi
}

check_picture() { # the picture of the README has the numbers of this code
  local numbers=$build/web/playground/playground-numbers
  if [[ ! -e $numbers ]]; then
    echo "run make picture"
    return 1
  fi
  "$scripts/plot_savings.py" --check "$numbers" docs/images/savings.svg
}

bad=0
if [[ $# -eq 0 ]]; then
  set -- version changelog debian committed tag built symbols golden links pages manual prose format targets \
    readme results picture clone
fi
for check in "$@"; do
  if text=$("check_$check" 2>&1); then
    printf 'ok    %-10s%s\n' "$check" "${text:+ ($text)}"
  else
    printf 'TO DO %s\n%s\n' "$check" "${text//$'\n'/$'\n'      }" | sed '2s/^/      /'
    bad=1
  fi
done
exit $bad
