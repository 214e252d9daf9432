"""Speed and memory beside a plain set, and beside the C library, in one run.

    make && make python && PYTHONPATH=build/python /usr/bin/python3 python/bench/speed.py

Measurements are in processor time of the thread, and the fastest of several rounds counts, because
the machine does other things, too.
"""

import argparse
import ctypes
import gc
import pathlib
import random
import sys
import tempfile
import time

import besom
import numpy as np


LARGEST_SET = 5_000_000


def fastest(rounds, *calls):
    """Seconds of each call, measured in turns."""
    best = [float("inf")] * len(calls)
    gc.disable()
    for _ in range(rounds):
        for i, call in enumerate(calls):
            start = time.thread_time()
            call()
            best[i] = min(best[i], time.thread_time() - start)
    gc.enable()
    return best


def names(numbers):
    return (f"user:{i:015}" for i in numbers)


def ask_each(container, keys):
    for key in keys:
        key in container


def strings(n, queries, rounds):
    """Single queries and lists; half of the queried keys are members."""
    rng = random.Random(n)
    f = besom.build(names(range(n)), capacity=n)
    keys = list(names(rng.randrange(2 * n) for _ in range(queries)))
    of_filter, listed, many = fastest(
        rounds,
        lambda: ask_each(f, keys),
        lambda: [key in f for key in keys],
        lambda: f.contains_many(keys),
    )
    of_set, set_bytes = beside_set(n, keys, rounds) if n <= LARGEST_SET else (float("nan"),) * 2
    scale = 1e9 / queries
    print(f"| {n:,} | {of_set * scale:.0f} | {of_filter * scale:.0f} | {of_filter / of_set:.2f} "
          f"| {many * scale:.0f} | {of_filter / many:.1f} | {listed / many:.1f} "
          f"| {set_bytes / n:.0f} | {f.stats().bytes / n:.2f} |")


def beside_set(n, keys, rounds):
    members = set(names(range(n)))
    (seconds,) = fastest(rounds, lambda: ask_each(members, keys))
    return seconds, sys.getsizeof(members) + sum(map(sys.getsizeof, members))


class CLibrary:
    """The same filter, queried by the C library itself."""

    def __init__(self, path, name):
        self.library = ctypes.CDLL(path)
        self.library.besom_contains_many_u64.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.filter = ctypes.c_void_p()
        status = self.library.besom_open_sized(name.encode(), None, 0, ctypes.byref(self.filter))
        assert status == 0, status

    def contains_many(self, keys, bitmap):
        self.library.besom_contains_many_u64(self.filter, keys.ctypes.data, len(keys),
                                             bitmap.ctypes.data)


def arrays(n, path, rounds):
    rng = np.random.default_rng(n)
    members = rng.integers(0, 2**63, n, dtype=np.uint64)
    keys = np.concatenate([members[: n // 2], rng.integers(0, 2**63, n - n // 2, dtype=np.uint64)])
    rng.shuffle(keys)
    with tempfile.NamedTemporaryFile() as file:
        besom.build(members).save(file.name)
        f, c = besom.Filter.load(file.name), CLibrary(path, file.name)
    bitmap = np.empty(n // 64 + 1, np.uint64)
    python, of_c = fastest(rounds, lambda: f.contains_many(keys),
                           lambda: c.contains_many(keys, bitmap))
    scale = 1e9 / n
    print(f"| {n:,} | {python * scale:.1f} | {of_c * scale:.1f} | {of_c / python:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    default = pathlib.Path(besom.__file__).parents[2] / "libbesom.so"
    parser.add_argument("--library", default=default, help="libbesom.so")
    parser.add_argument("--arrays", action="store_true", help="only the second table")
    options = parser.parse_args()
    if not options.arrays:
        measure_strings(options)
    print("uint64 arrays, ns per key\n")
    print("| keys | contains_many | the C library | ratio of speeds |\n|---|---|---|---|")
    for n in (100_000, 1_000_000, 10_000_000):
        arrays(n, options.library, options.rounds)


def measure_strings(options):
    print("str keys of 20 bytes, kind aqf, ns per key and bytes per key\n")
    print("| keys | set `in` | filter `in` | ratio | list | loop / list | comprehension / list "
          "| set, bytes | filter, bytes |\n|---|---|---|---|---|---|---|---|---|")
    for n in (10_000, 1_000_000, 20_000_000):
        strings(n, min(n, 500_000), options.rounds)
    print()


main()
