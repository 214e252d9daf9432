#!/usr/bin/env bash
# run.sh BUILD [ASAN_BUILD]: the tests of the package for Python, with the package in BUILD/python.
# If there is a build with the address sanitizer, most of them run with it, too. Then a wheel is
# built from an sdist.
set -eu
build=$(realpath "$1")
asan=${2-}
cd "$(dirname "$0")" # not in python/: its directory besom has no extension modules
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1 BESOM_BUILD=$build

for module in "$build"/python/besom/*.so; do
  name=$(basename "$module" .abi3.so)
  ../../tests/quality/scripts/module_symbols.sh "$module" "PyInit_$name"
done
PYTHONPATH=$build/python $python -m pytest -q -p no:cacheprovider .

if [[ -n $asan && -e ../../$asan/python/besom/_besom.abi3.so ]]; then
  # The interpreter is not built with the sanitizer, and it does not free everything at exit. Its
  # objects are allocated by malloc, so that the sanitizer sees them.
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 BESOM_ASAN=1
  PYTHONMALLOC=malloc LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    PYTHONPATH=../../$asan/python $python -m pytest -q -p no:cacheprovider --capture=sys .
fi

./package.sh
