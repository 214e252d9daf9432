#!/usr/bin/env python3
"""Counts the functions and files that a key passes, and how deep the calls are.

walk.py PROGRAM [--list [CALL]]    PROGRAM is build/walk/tests/walk; --list prints the functions
"""

import collections
import os
import subprocess
import sys
import tempfile


ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))


def paths(program):
    """Yields the name of a call, its depth, and the addresses of its functions."""
    with tempfile.TemporaryDirectory() as directory:
        out = subprocess.run([program, directory], check=True, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        call, rest = line.split("\t")
        depth, *addresses = rest.split()
        yield call, int(depth), addresses


def functions(program, addresses):
    """Those of besom, as pairs of file and name. One in a header has an address per source file."""
    out = subprocess.run(["addr2line", "-f", "-e", program], check=True, capture_output=True,
                         text=True, input="\n".join(addresses)).stdout.splitlines()
    found = {}
    for name, place in zip(out[::2], out[1::2]):
        path = place.rsplit(":", 1)[0]
        path = os.path.relpath(os.path.join(ROOT, path), ROOT)
        if path.startswith(("src/", "include/")):
            found[(path, name)] = None
    return list(found)


def main(program, listed=None):
    print(f"{'':28}functions  files  depth")
    for call, depth, addresses in paths(program):
        found = functions(program, addresses)
        files = collections.defaultdict(list)
        for path, name in found:
            files[path].append(name)
        print(f"{call:28}{len(found):9}{len(files):7}{depth:7}")
        if listed is not None and listed in call:
            for path, names in files.items():
                print(f"  {path}: {', '.join(names)}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(__doc__)
    main(sys.argv[1], " ".join(sys.argv[3:]) if "--list" in sys.argv else None)
