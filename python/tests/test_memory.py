"""Nothing is leaked: the resident size over many cycles, and references."""

import gc
import sys

import besom
import numpy as np
import pytest
from conftest import IS_ASAN

pytestmark = pytest.mark.skipif(IS_ASAN, reason="the sanitizer delays frees")


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def grows_by(cycle, rounds):
    for _ in range(rounds // 10):  # caches fill
        cycle()
    before = resident()
    for _ in range(rounds):
        cycle()
    return resident() - before


NAMES = [f"name {i}" for i in range(8)]
NUMBERS = np.arange(8, dtype=np.uint64)


def create_use_drop():
    f = besom.Filter(16)
    f.add("a")
    f.add_many(NAMES)
    f.contains_many(NUMBERS)
    "a" in f
    f.report("b")


def create_use_drop_removable():
    f = besom.Filter(16, removable=True)
    f.add("a")
    f.add_many(NAMES)
    f.count("a")
    f.discard("a")


@pytest.mark.parametrize("cycle", [create_use_drop, create_use_drop_removable])
def test_create_use_drop(cycle):
    assert grows_by(cycle, 100_000) < 2 << 20


def whole_filters():
    f = besom.build(NAMES, capacity=100)
    g = besom.Filter.from_bytes(f.to_bytes())
    g.stats()
    f | f
    f.diff(g)
    f.rekey(NAMES)
    f.clear()
    f.union(NAMES)
    g.union(g.empty(), NAMES)
    repr(f), f.abilities, besom.kinds()


def failures():
    f = besom.Filter(capacity=1)
    for call in (lambda: f.add(1.5), lambda: f.remove("x"), lambda: f.add_many(range(1000)),
                 lambda: f.contains_many([1, None]), lambda: besom.Filter.from_bytes(b"x"),
                 lambda: besom.Filter("no"), lambda: besom.build(x for x in [1, 1.5]),
                 lambda: besom.build([1], progress=1 / 2), lambda: f.contains_many(b"x"),
                 lambda: besom.Filter.load("/nonexistent"), lambda: f | 1,
                 lambda: besom.Filter(10, 0), lambda: besom.Filter(10, kind="taf"),
                 lambda: besom.Filter(10, kind="bloom", removable=True),
                 lambda: besom.build(["a", "b"], no=["b"])):
        try:
            call()
        except (besom.Error, TypeError, OSError):
            pass


def guards():
    with besom.Guard(store="memory", capacity=16) as guard:
        guard.update(a="1", b="2")
        guard["a"], guard.get("c"), guard.items(), guard.stats(), guard.offenders()
        try:
            guard["a"] = 7
        except TypeError:
            pass


def wrapped():
    guard = besom.Guard.wrap({"a": 1})
    guard["a"], guard.get("b")


@pytest.mark.parametrize("cycle", [whole_filters, failures, guards, wrapped])
def test_other_calls(cycle):
    assert grows_by(cycle, 2000) < 1 << 20


def test_references():
    f = besom.Filter(capacity=1000, removable=True)
    key, keys, numbers = "key" + str(id(f)), [object(), "a"], [12345678]
    before = [sys.getrefcount(x) for x in (key, keys, keys[0], keys[1], numbers[0], None, besom.Filter)]
    for _ in range(100):
        f.add(key)
        key in f
        f.count(key)
        f.discard(key)
        f.contains_many([key] * 300)
        f.add_many(numbers)
        for call in (f.add_many, f.contains_many, besom.build):
            try:
                call(keys)
            except TypeError:
                pass
    after = [sys.getrefcount(x) for x in (key, keys, keys[0], keys[1], numbers[0], None, besom.Filter)]
    assert all(abs(a - b) < 50 for a, b in zip(after, before))
