#!/usr/bin/env bash
# package.sh: makes an sdist, builds a wheel from it in a clean directory, and uses that. The C
# sources are compiled in portable code only, which takes a quarter of the time.
set -eu
cd "$(dirname "$0")/.."
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r ../CMakeLists.txt ../LICENSE ../cmake ../include ../src ../cli ../program "$work"
mkdir "$work/python"
cp -r pyproject.toml setup.py README.md CMakeLists.txt src besom "$work/python"
(cd "$work/python" && $python -m build --no-isolation --sdist --outdir "$work" >"$work/log" 2>&1) ||
  { cat "$work/log"; exit 1; }

mkdir "$work/clean"
tar xzf "$work"/besom-*.tar.gz -C "$work/clean" --strip-components=1
export CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=portable \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1"
(cd "$work/clean" && $python -m build --no-isolation --wheel --outdir "$work" >"$work/log" 2>&1) ||
  { cat "$work/log"; exit 1; }

case $(echo "$work"/*.whl) in
*-cp311-abi3-linux_*.whl) ;;
*)
  echo "the wheel has the wrong tag:" "$work"/*.whl
  exit 1
  ;;
esac
$python -m zipfile -e "$work"/*.whl "$work/installed"
chmod +x "$work/installed/besom/bin/besom" # as pip does
cd "$work/installed"
$python -c '
import besom
f = besom.build(["apple", "pear"])
assert "apple" in f and besom.__file__.startswith("'"$work"'"), besom.__file__
with besom.Guard("users.db") as guard:
    guard["a"] = "1"
'
$python -m besom --version
