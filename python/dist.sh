#!/usr/bin/env bash
# dist.sh DIRECTORY: makes the source distribution, and from that the wheel, in the directory. The
# wheel has the libraries of LMDB, hiredis, zstd and libsodium in it, if they are installed, and no
# store over RocksDB, no libcurl and no libidn2, whose libraries are many. CMAKE_ARGS: as for setup.py.
set -eu
out=$(realpath -m "$1")
cd "$(dirname "$0")"
python=/usr/bin/python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }; }

mkdir -p "$out" "$work/source"
rm -f "$out"/besom-*.tar.gz "$out"/besom-*.whl
run $python -m build --no-isolation --sdist --outdir "$out"
tar xzf "$out"/besom-*.tar.gz -C "$work/source" --strip-components=1
export BESOM_BUNDLE=1 CMAKE_ARGS="${CMAKE_ARGS-} -DROCKSDB_LIBRARY= -DCURL_LIBRARY= -DIDN2_LIBRARY="
cd "$work/source"
run $python -m build --no-isolation --wheel --outdir "$out"
$python platform_tag.py --check "$out"/besom-*.whl >/dev/null
