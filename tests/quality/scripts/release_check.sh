#!/usr/bin/env bash
# release_check.sh DIR: makes a small source tree in DIR that is ready for a release, and tests that
# every check of scripts/release-check.sh accepts it and fails when its thing is broken. The exit
# code is 77 (skipped) if there is no git.
set -eu
command -v git >/dev/null || exit 77
check=$(cd "$(dirname "$0")/../../../scripts" && pwd)/release-check.sh
rm -rf "$1"
mkdir -p "$1"/{include,src,docs/images,tests/golden,debian,build/man,build/web/playground}
cd "$1"

# ------------------------------------------------------------------ a tree that is ready

cat >include/besom.h <<'END'
#define BESOM_VERSION_MAJOR 1
#define BESOM_VERSION_MINOR 2
#define BESOM_VERSION_PATCH 3
/* The version of the library at run time, for example "1.2.3". */
/* False-positive rate, bits per key, load factor, read-copy-update, grace period, seqlock, */
/* objective, reverse map, reserve, thread-safe. */
END
page=$'# Page\n\n1\n2\n3\n4\n5\n6\n7\n8'
for name in README SECURITY CONTRIBUTING docs/{compatibility,install,platforms,releasing,trust}; do
  echo "$page" >"$name.md"
done
{
  echo "$page"
  printf '[x](%s.md)\n' compatibility install platforms releasing trust results
} >docs/README.md
printf '%s\n' '# Changes' '' '## Unreleased' '' '## 1.2.3 (2020-01-02)' '' '- a' '- b' '- c' '' '## 1.2.2' >CHANGELOG.md
echo 'besom (1.2.3-1) unstable; urgency=medium' >debian/changelog
printf '%s\n' '`make all`' '```sh' 'make demo # shows it' 'make test' '```' >>README.md
printf '%s: ## something\n\t@true\n' all demo test >Makefile
echo 'cmake_minimum_required(VERSION 3.25)' >CMakeLists.txt
printf 'int besom_one(void) {\n  return 1;\n}\n' >src/one.c
echo besom_one >src/besom.symbols
echo good >tests/golden/one-v1.besom
echo '.TH BESOM 1 2020-01-02 "besom 1.2.3"' >build/man/besom.1
printf '.SH NAME\nbesom \\- filters\n' >>build/man/besom.1
echo 'set(PACKAGE_VERSION "1.2.3")' >build/besom-config-version.cmake
cat >build/besom <<'END'
#!/bin/sh
case $1 in
--version) echo besom 1.2.3 ;;
verify) grep -q good "$2" ;;
esac
END
cat >build/web/playground/playground-numbers <<'END'
#!/bin/sh
echo '[{"kind": "bloom", "numbers": [0, 9]}, {"kind": "cached", "numbers": [0, 5]}, {"kind": "aqf", "numbers": [0, 1]}]'
END
chmod +x build/besom build/web/playground/playground-numbers
"$(dirname "$check")/plot_savings.py" build/web/playground/playground-numbers docs/images/savings.svg
cp "$(dirname "$check")/../.clang-format" .
echo build >.gitignore
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_{AUTHOR,COMMITTER}_NAME=test GIT_{AUTHOR,COMMITTER}_EMAIL=test@example.org
git init -q .
git add -A
git commit -q -m first
echo "- Measured today, commit $(git rev-parse HEAD)" >docs/results.md
git add -A
git commit -q -m results
git tag v1.2.2
cc -shared -Wl,-soname,libbesom.so.1.2 src/one.c -o build/libbesom.so.1.2.3
ln -s libbesom.so.1.2.3 build/libbesom.so

# ------------------------------------------------------------------ break something for every check

ready=(version changelog debian committed tag built symbols golden links pages prose targets readme results picture clone)
if command -v mandoc >/dev/null; then ready+=(manual); fi
if command -v clang-format-14 >/dev/null; then ready+=(format); fi
"$check" . build "${ready[@]}" || {
  echo "release-check.sh: finds something to do in a tree that is ready"
  exit 1
}

# fails CHECK...: exactly these checks fail now. Then the tree is restored.
fails() {
  local output
  output=$("$check" . build "${ready[@]}") && true
  diff <(printf '%s\n' "$@" | sort) <(sed -n 's/^TO DO //p' <<<"$output" | sort) || {
    echo "release-check.sh: other checks fail (>) than the broken ones (<)"
    exit 1
  }
  git checkout -q .
  git clean -q -f -d
  touch build/libbesom.so.1.2.3
}

sed -i s/1.2.3/1.2.4/ debian/changelog
sed -i 's/ (2020.*/ (soon)/' CHANGELOG.md
git tag v1.2.3
touch -d 'next year' src/one.c
echo besom_two >>src/besom.symbols
echo bad >tests/golden/one-v1.besom
echo '[x](nowhere.md)' >>README.md
echo '# Empty' >docs/trust.md
echo 'It waits for ever.' >>README.md
echo "\`make nothing\`" >>README.md
sed -i 's/commit.*/commit/' docs/results.md
echo >>docs/images/savings.svg
broken=(version changelog committed tag built symbols golden links pages prose targets results picture)
if [[ ${ready[*]} == *manual* ]]; then
  echo .XX >>build/man/besom.1
  broken+=(manual)
fi
if [[ ${ready[*]} == *format* ]]; then
  echo 'int  x ;' >>src/one.c
  touch -d 'next year' src/one.c
  broken+=(format)
fi
fails "${broken[@]}"
git tag -d v1.2.3 >/dev/null
sed -i '/^.XX/d' build/man/besom.1
touch src/one.c build/libbesom.so.1.2.3

# The other cases of a check. picture, format and clone are slow, and have one.
ready=(version changelog debian committed golden links results)
sed -i s/unstable/UNRELEASED/ debian/changelog
sed -i '3a - new' CHANGELOG.md
echo 'good, but not as released' >tests/golden/one-v1.besom
echo '[x](docs/trust.md#nothing)' >>README.md
sed -i 's/commit.*/commit 0123456789abcdef/' docs/results.md
fails debian changelog committed golden links results

ready=(symbols)
echo besom_two >src/besom.symbols
echo 'int besom_two(void) { return 2; }' | cc -shared -x c - -o build/libbesom.so.1.2.3
fails symbols # besom_one of v1.2.2 is gone

ready=(version changelog links)
sed -i 's/MINOR 2/MINOR 3/' include/besom.h
echo '# New' >docs/new.md
fails version changelog links

ready=(readme clone)
sed -i '/^make test/d' README.md
fails readme
printf 'test:\n\t@false\n' >>Makefile
git commit -q -a -m 'a test that fails'
ready=(clone)
fails clone
