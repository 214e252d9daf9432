"""besom.build: from any iterable, with progress, and what interrupts it."""

import collections
import os
import signal
import subprocess
import sys
import threading

import besom
import numpy as np
import pytest

N = 3000


@pytest.mark.parametrize("make", [
    list, tuple, set, dict.fromkeys, iter, lambda k: (x for x in k), np.array,
    lambda k: {x: 1 for x in k}.keys(), collections.deque,
], ids=str)
def test_every_iterable(make):
    keys = [f"key {i}" for i in range(N)]
    for kind in ("aqf", "bloom", "fuse", "learned"):
        f = besom.build(make(keys), kind, no=["no"] if kind == "learned" else None)
        assert f.contains_many(keys).all(), kind
        assert kind != "aqf" or N * 0.99 < len(f) <= N


def test_a_generator_with_capacity_is_not_copied():
    alive = 0

    class Key:
        def __init__(self, i):
            nonlocal alive
            alive += 1
            self.i = i

        def __index__(self):
            return self.i

        def __del__(self):
            nonlocal alive
            alive -= 1

    most = 0

    def keys():
        nonlocal most
        for i in range(N):
            most = max(most, alive)
            yield Key(i)

    f = besom.build(keys(), capacity=N)
    assert f.contains_many(range(N)).all() and alive == 0 and most < 600


def test_progress():
    seen = []
    f = besom.build(range(500000), progress=lambda done, total: seen.append((done, total)))
    assert 0 <= 500000 - len(f) < 2000 and seen and seen == sorted(seen)
    assert {total for _, total in seen} <= {500000, 1000000}
    with pytest.raises(ZeroDivisionError):
        besom.build(range(500000), progress=lambda done, total: 1 / 0)
    with pytest.raises(TypeError):
        besom.build(range(500000), progress=7)


def test_an_iterable_that_fails():
    def keys():
        yield "a"
        raise LookupError("gone")

    for config in ({}, {"capacity": 100}):
        with pytest.raises(LookupError, match="gone"):
            besom.build(keys(), **config)
        with pytest.raises(TypeError):
            besom.build(["a", 1.5], **config)
    with pytest.raises(LookupError):
        besom.build(["x"], no=keys())
    with pytest.raises(TypeError):
        besom.build(7)
    with pytest.raises(TypeError):
        besom.build("one key")

    class Again:
        """The second pass gives other keys."""

        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter(range(self.passes * 1000))

    besom.build(Again(), "learned", no=["no"], capacity=100000)


def test_like():
    old = besom.build(range(1000), "aqf", capacity=2000, fpr=0.01)
    new = besom.build(iter(range(1000)), like=old)
    assert new.to_bytes() == old.to_bytes()
    with pytest.raises(TypeError):
        besom.build([1], like={1})


def test_weights():
    sample = collections.Counter({f"often {i}": 1000 for i in range(20)})
    sample.update(f"seldom {i}" for i in range(2000))
    members = [f"member {i}" for i in range(2000)]
    f = besom.build(members, "stacked", no=sample, bits_per_key=10)
    assert f.contains_many(members).all()
    assert f.contains_many([f"often {i}" for i in range(20)]).sum() <= 1
    with pytest.raises((TypeError, OverflowError)):
        besom.build(members, "stacked", no={"a": -1})


def test_threads_and_memory_limits():
    keys = np.arange(300000, dtype=np.uint64)
    plain = besom.build(keys, seed=bytes(16))
    assert besom.build(keys, seed=bytes(16), threads=3).to_bytes() == plain.to_bytes()
    assert besom.build(keys, seed=bytes(16), build_memory=10**6).contains_many(keys).all()
    doubled = np.concatenate([keys, keys])
    assert len(besom.build(doubled, distinct=True, removable=True, capacity=300000)) == 300000
    once = besom.build(doubled, capacity=300000, seed=bytes(16))
    assert once.to_bytes() == besom.build(keys, capacity=300000, seed=bytes(16)).to_bytes()


INTERRUPTED = """
import os, signal, sys, threading, besom
def keys():
    i = 0
    while True:
        if i == 5000:
            os.kill(os.getpid(), signal.SIGINT)
        yield i
        i += 1
before = set(os.listdir("/proc/self/fd"))
try:
    besom.build(KEYS, capacity=10**9, build_memory=10**7)
except KeyboardInterrupt:
    assert set(os.listdir("/proc/self/fd")) == before and threading.active_count() == 1
    print("interrupted")
"""


def test_keyboard_interrupt():
    run = subprocess.run([sys.executable, "-c", INTERRUPTED.replace("KEYS", "keys()")],
                         capture_output=True, text=True)
    assert run.stdout == "interrupted\n", run.stderr


def test_keyboard_interrupt_of_an_array():
    """A signal that arrives while C code reads an array."""
    ticks = []

    def progress(done, total):
        ticks.append(done)
        if len(ticks) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        besom.build(np.arange(3000000), progress=progress)
    assert len(ticks) == 2


def test_other_threads_run_while_a_filter_is_built():
    ran = threading.Event()
    seen = []

    def progress(done, total):
        seen.append(ran.wait(0.01))

    thread = threading.Thread(target=ran.set)
    thread.start()
    besom.build(np.arange(1000000), progress=progress)
    thread.join()
    assert ran.is_set() and os.getpid()
