#!/usr/bin/env bash
# package.sh: makes the source distribution and the wheel without git, installs each into a clean
# virtual environment, and runs the lines of the READMEs there. The C sources are compiled in
# portable code only, which takes a quarter of the time.
set -eu
cd "$(dirname "$0")/.."
root=$(realpath ..)
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "package.sh: $*" >&2; exit 1; }

cp -r ../CMakeLists.txt ../LICENSE ../cmake ../include ../src ../cli ../program "$work"
mkdir "$work/python" "$work/no-git"
cp -r pyproject.toml setup.py platform_tag.py dist.sh README.md CMakeLists.txt ext src "$work/python"
printf '#!/bin/sh\nexit 1\n' >"$work/no-git/git"
chmod +x "$work/no-git/git"
export PATH="$work/no-git:$PATH" TMPDIR="$work" PIP_DISABLE_PIP_VERSION_CHECK=1
export CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=portable \
  -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1"
if command -v ccache >/dev/null; then # the second build compiles the same files
  export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1
fi
"$work/python/dist.sh" "$work/dist"
wheel=$(echo "$work"/dist/*.whl)

# The tag is what the files need: not less, and it is checked.
[[ $wheel == *-cp311-abi3-manylinux_2_*.whl ]] || fail "the wheel has the wrong tag: $wheel"
cp "$wheel" "$work/besom-0-cp311-abi3-manylinux_2_5_$(uname -m).whl"
! $python platform_tag.py --check "$work"/besom-0-*.whl >/dev/null 2>&1 || fail "a false tag is accepted"
rm "$work"/besom-0-*.whl

# use ENVIRONMENT: the installed package, run where it was built: nothing there shadows it.
use() {
  local bin=$work/$1/bin
  cd "$work/python"
  "$bin/python" - "$root" <<'END'
import pathlib, re, sys
import besom
assert besom.__file__.startswith(sys.prefix), besom.__file__
for page, title in (("README.md", "## Python\n\n"), ("python/README.md", "")):
    text = (pathlib.Path(sys.argv[1]) / page).read_text()
    exec(re.search(title + r"```python\n(.*?)^```$", text, re.M | re.S).group(1), {})
END
  "$bin/besom" --version
  printf 'apple\npear\n' | "$bin/besom" build "$work/list.besom" --yes -
  "$bin/python" -m besom has "$work/list.besom" apple
  "$bin/python" -c '
import besom, sys
assert "pear" in besom.Filter.load(sys.argv[1])
with besom.Guard(sys.argv[2]) as guard:
    guard["a"] = "1"
' "$work/list.besom" "$work/$1.db"
}

$python -m venv "$work/of-wheel"
"$work/of-wheel/bin/pip" install -q --no-index "$wheel"
use of-wheel
# setuptools and wheel of the system, instead of those that pip would download.
$python -m venv --system-site-packages "$work/of-sdist"
"$work/of-sdist/bin/pip" install -q --no-index --no-build-isolation "$work"/dist/*.tar.gz
use of-sdist
