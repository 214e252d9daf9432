"""Threads that use one object at once."""

import gc
import itertools
import os
import signal
import sys
import threading
import time

import besom
import numpy as np
import pytest

N = 20000


@pytest.fixture(autouse=True)
def switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_all(*functions):
    """Runs functions in threads, and raises the first exception of any of them."""
    failures = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_query_add_and_grow_at_once():
    f = besom.Filter(capacity=N, max_capacity=64 * N)
    done = threading.Event()
    added = 0

    def add():
        nonlocal added
        try:
            for start in range(0, 4 * N, 1000):
                keys = np.arange(start, start + 1000, dtype=np.uint64)
                while len(keys):
                    try:
                        f.add_many(keys)
                        keys = keys[:0]
                    except besom.FullError as error:
                        keys = keys[error.done:]
                        f.grow()
                added = start + 1000
        finally:
            done.set()

    def query_many():
        while not done.is_set():
            seen = added
            assert f.contains_many(np.arange(seen, dtype=np.uint64)).all()

    def query_single():
        for i in itertools.count():
            if done.is_set():
                return
            if added:
                assert i % added in f

    def others():
        while not done.is_set():
            f.stats()
            len(f)
            f.copy().validate()
            f.empty()

    run_all(add, query_many, query_single, others)
    assert 0.99 * 4 * N < len(f) <= 4 * N and f.contains_many(range(4 * N)).all()
    f.validate()


def test_every_call_at_once():
    f, g = (besom.Filter(200000, removable=True) for _ in range(2))
    g.add_many(range(1000))
    f.add_many(range(1000))
    keys, names = np.arange(3000), [str(i) for i in range(2000)]

    def work(turn):
        for i in range(12):
            a, b = (f, g) if (i + turn) % 2 else (g, f)
            call = (lambda: a.contains_many(keys), lambda: a.contains_many(names),
                    lambda: a.add_many(names[:300]), lambda: a | b, lambda: a.diff(b),
                    lambda: a.to_bytes(), lambda: a.add(i), lambda: a.count(i), lambda: a.stats(),
                    lambda: a.rekey(keys), lambda: a.discard(7), lambda: a.report("x"),
                    lambda: a.copy(), lambda: a.__ior__(a.empty()))[(i * 5 + turn) % 14]
            try:
                call()
            except (besom.FullError, besom.IncompatibleError):  # another seed after rekey
                pass

    run_all(*(lambda turn=turn: work(turn) for turn in range(7)))
    f.validate()
    g.validate()


def test_a_list_that_other_threads_change():
    f = besom.build([str(i) for i in range(1000)])
    keys = [str(i) for i in range(60000)]
    done = threading.Event()

    def change():
        while not done.is_set():
            keys[::7] = [str(time.monotonic())] * len(keys[::7])

    def query():
        try:
            for _ in range(20):
                assert len(f.contains_many(keys)) == 60000
        finally:
            done.set()

    run_all(change, query)


def test_an_array_that_cannot_be_freed_while_it_is_read():
    f = besom.Filter(capacity=1000)
    data = bytearray(8 * 500000)

    def query():
        for _ in range(5):
            f.contains_many(memoryview(data).cast("Q"))

    def grow():
        for _ in range(50):
            try:
                data.append(0)
                data.pop()
            except BufferError:
                pass

    run_all(query, grow)


def test_waiting_ends_with_keyboard_interrupt():
    f = besom.Filter("bloom", 30_000_000)
    inside = threading.Event()
    stop = threading.Event()

    def hold():
        while not stop.is_set():
            inside.set()
            f.add_many(KEYS)

    KEYS = np.arange(1_000_000, dtype=np.uint64)
    threads = [threading.Thread(target=hold) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait()
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            while True:
                f.add("x")
    finally:
        stop.set()
        timer.join()
        for thread in threads:
            thread.join()


def test_guards():
    with besom.Guard(store="memory", capacity=500, fpr=0.1) as guard:
        guard.update({f"fixed {i}": str(i) for i in range(300)})
        done = threading.Event()

        def read():
            for i in itertools.count():
                if done.is_set():
                    return
                assert guard[f"fixed {i % 300}"] == str(i % 300).encode()
                assert f"absent {i % 500}" not in guard

        def write():
            try:
                for i in range(1500):
                    guard[f"more {i}"] = "x" * (i % 50)
                    if i % 3 == 0:
                        del guard[f"more {i}"]
            finally:
                done.set()

        def batches():
            for i in itertools.count():
                with guard.batch():
                    guard["pair"] = str(i)
                    guard["other"] = str(i)
                if done.is_set():
                    return

        def scan():
            while not done.is_set():
                assert len(guard.items()) >= 300
                guard.stats()

        run_all(read, read, write, batches, scan)
        assert guard["pair"] == guard["other"]
        assert len(guard) == 300 + 1000 + 2


def test_closing_a_guard_that_others_use(tmp_path):
    for round in range(10):
        guard = besom.Guard(tmp_path / f"db{round}", capacity=1000)
        guard["a"] = "1"
        started = threading.Barrier(4)

        def use(write):
            started.wait()
            try:
                while True:
                    if write:
                        guard["b"] = "2"
                    else:
                        assert guard["a"] == b"1"
            except ValueError as error:
                assert "closed" in str(error)

        def batch():
            started.wait()
            try:
                while True:
                    with guard.batch():
                        guard["c"] = "3"
            except ValueError as error:
                assert "closed" in str(error)

        def close():
            started.wait()
            guard.close()

        run_all(lambda: use(False), lambda: use(True), batch, close)


def test_a_batch_is_ended_by_its_thread_only():
    def end():
        for call in (guard._commit, guard._abort):
            with pytest.raises(besom.InvalidError, match="this thread has no batch"):
                call()

    with besom.Guard(store="memory") as guard:
        guard._begin()
        guard["a"] = "1"
        run_all(end)
        assert guard.in_batch
        guard["b"] = "2"
        guard._commit()
        assert not guard.in_batch
        run_all(lambda: guard.update({"c": "3"}))
        assert sorted(guard) == [b"a", b"b", b"c"]


def test_a_wrapped_mapping():
    table = {str(i): i for i in range(300)}
    guard = besom.Guard.wrap(table, fpr=0.3)
    done = threading.Event()

    def read():
        for i in itertools.count():
            if done.is_set():
                return
            assert guard[str(i % 300)] == i % 300
            guard.get(f"new {i % 400}")

    def write():
        try:
            for i in range(1000):
                key = f"new {i % 400}"
                guard[key] = i
                assert guard[key] == i
                if i % 2:
                    del guard[key]
        finally:
            done.set()

    run_all(read, read, write)
    assert all(key in guard for key in table)


def test_filters_in_finalizers():
    f = besom.Filter(capacity=100000)

    class Trouble:
        def __del__(self):
            f.add("x")
            f.contains_many(["x"] * 300)

        def __index__(self):
            self.cycle = self
            return 1

    def work():
        for _ in range(50):
            f.add_many([Trouble() for _ in range(5)])
            f.contains_many([Trouble()] * 300)
            gc.collect()

    gc.freeze()  # what other tests have imported would be looked through every time
    try:
        run_all(work, work)
    finally:
        gc.unfreeze()
    assert "x" in f
